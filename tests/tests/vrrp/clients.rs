//! Clients that consist of raw packets from unused addresses, so that many connections cost little besides the measured
//! work. A connection is a SYN, an ACK and a FIN. Servers have no route for responses.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rustix::net::{AddressFamily, SendFlags, SocketType, ipproto, sendto, socket};

use super::replicated::BACK;
use super::topology::{ClientFamily, V4, V6, VrrpTopology};

const STEP: Duration = Duration::from_millis(1);
/// Connections per step, steps from a SYN to its ACK, and steps from the ACK to the FIN.
pub const EACH: u32 = 20;
const ACK: u32 = 5;
const FIN: u32 = 100;

const FINISH: u8 = 1;
const SYN: u8 = 2;
const ACKNOWLEDGE: u8 = 16;

/// Clients of one service.
pub struct RawClients {
    raw: OwnedFd,
    to: IpAddr,
    port: u16,
}

impl RawClients {
    /// Clients of the service at this port of the shared address.
    pub fn new(world: &VrrpTopology, version: ClientFamily, port: u16) -> RawClients {
        let family = if version == V4 { AddressFamily::INET } else { AddressFamily::INET6 };
        let raw = || socket(family, SocketType::RAW, Some(ipproto::RAW)).unwrap();
        RawClients { raw: world.client.run_inside(raw).unwrap(), to: version.shared(), port }
    }

    /// Sends `steps` steps of connections, and returns how many steps started late.
    pub fn run(&self, steps: u32) -> u32 {
        let (_open, closed) = channel::<()>();
        let begun = Instant::now();
        let mut late = 0;
        for step in 0..steps {
            let due = begun + STEP * step;
            let left = due.saturating_duration_since(Instant::now());
            late += u32::from(left.is_zero());
            if !left.is_zero() {
                assert_eq!(closed.recv_timeout(left), Err(RecvTimeoutError::Timeout));
            }
            for one in 0..EACH {
                self.send(step * EACH + one, SYN);
                for (age, flags) in [(ACK, ACKNOWLEDGE), (ACK + FIN, FINISH | ACKNOWLEDGE)] {
                    if let Some(old) = step.checked_sub(age) {
                        self.send(old * EACH + one, flags);
                    }
                }
            }
        }
        late
    }

    /// Opens connections with these numbers and leaves them open.
    pub fn open(&self, numbers: std::ops::Range<u32>) {
        for number in numbers {
            [SYN, ACKNOWLEDGE].into_iter().for_each(|flags| self.send(number, flags));
        }
    }

    fn send(&self, number: u32, flags: u8) {
        let packet = packet(number, (self.to, self.port), flags);
        let to = SocketAddr::new(self.to, 0);
        sendto(&self.raw, &packet, SendFlags::empty(), &to).unwrap();
    }
}

/// Blackholes the return addresses at the servers, so that they send no responses.
pub fn hush(servers: [&lab::net::NetworkNamespace; 2]) {
    for server in servers {
        let ways = [V4, V6].map(|version| version.host(BACK));
        let lines = ways.map(|ip| format!("route add blackhole {ip}\n")).concat();
        server.ip(&lines).unwrap();
    }
}

/// A packet of the client with this number, from the benchmark networks 198.18.0.0/15 and 2001:2::/48. The kernel fills
/// in the IPv4 checksum; no receiver checks the TCP checksum.
fn packet(number: u32, (to, port): (IpAddr, u16), flags: u8) -> Vec<u8> {
    let host = number / 60_000;
    let host = [(host >> 8) as u8, host as u8];
    let mut bytes = Vec::with_capacity(60);
    match to {
        IpAddr::V4(to) => {
            bytes.extend([0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6, 0, 0, 198, 18]);
            bytes.extend(host);
            bytes.extend(to.octets());
        }
        IpAddr::V6(to) => {
            bytes.extend([0x60, 0, 0, 0, 0, 20, 6, 64]);
            bytes.extend([0x20, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
            bytes.extend(host);
            bytes.extend(to.octets());
        }
    }
    bytes.extend((1_024 + (number % 60_000) as u16).to_be_bytes());
    bytes.extend(port.to_be_bytes());
    bytes.extend([0, 0, 0, 1, 0, 0, 0, 1, 0x50, flags]);
    bytes.extend(4_096_u16.to_be_bytes());
    bytes.extend([0; 4]);
    bytes
}
