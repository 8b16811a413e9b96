//! How soon the other member is told of connections, and what that costs, at 20,000 connections a
//! second: measured and printed, not judged. Only with `STEELYARD_LONG=1`.
//!
//! Clients are packets alone: each connection is a SYN, an ACK and a FIN of an address that nobody has, so that the rate
//! costs this machine little besides what is measured. They go by `mac`, to servers that do not answer them.

use std::net::{IpAddr, SocketAddr, SocketAddrV4};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rustix::net::{AddressFamily, SendFlags, SocketType, ipproto, sendto, socket};
use tests::e2e::balancer::is_long;
use tests::skip::skip;

use super::replicated::{MAC, begin, replication, until_follows, wire};
use super::world::{First, Second, V4, Who, World};

/// Between two steps of the clients.
const STEP: Duration = Duration::from_millis(1);
/// Connections of a step, steps from a SYN to its ACK, and from there to its FIN.
const EACH: u32 = 20;
const ACK: u32 = 5;
const FIN: u32 = 100;
/// Bytes of Ethernet, IPv4 and UDP before what `bytes` counts.
const HEADERS: u64 = 42;

#[test]
fn connections_are_told_of_at_a_rate() {
    if !is_long() {
        return;
    }
    if !rustix::process::geteuid().is_root() {
        return skip("namespaces need root");
    }
    let steps = 10_000;
    let mut pair = wire("");
    let world = &mut pair.world;
    begin(world, First, "active");
    begin(world, Second, "standby");
    until_follows(world);
    let before = Measured::of(world);
    let begun = Instant::now();
    let late = clients(world, steps);
    let took = begun.elapsed();
    let after = Measured::of(world);
    let connections = u64::from(steps * EACH);
    let of = |name: &str| after.counts[name] - before.counts[name];
    let (prompt, slow) = (of("prompt"), of("slow"));
    let cpu = [0, 1].map(|at| after.nanos[at].saturating_sub(before.nanos[at]));
    let share = |nanos: u64| nanos as f64 / took.as_nanos() as f64 * 100.0;
    println!(
        "proof: {:.0} connections/s for {:.1} s ({late} of {steps} steps late), {prompt} of {} records told within 50 ms \
         ({:.2} %), {} told again, {} rounds held back",
        connections as f64 / took.as_secs_f64(),
        took.as_secs_f64(),
        prompt + slow,
        prompt as f64 / (prompt + slow).max(1) as f64 * 100.0,
        of("resynchronised"),
        of("held-back"),
    );
    println!(
        "proof: {:.1} bytes a connection on the wire, headers included; of a core {:.1} % for telling, {:.1} % for entering",
        (of("bytes") + HEADERS * of("packets")) as f64 / connections as f64,
        share(cpu[0]),
        share(cpu[1]),
    );
    assert!(of("sent") >= connections, "every connection is told of");
}

/// What the first member counted of telling, and the processor time of both members' threads for replication.
struct Measured {
    counts: std::collections::BTreeMap<String, u64>,
    nanos: [u64; 2],
}

impl Measured {
    fn of(world: &World) -> Measured {
        let counts = replication(world, First).unwrap().counts;
        Measured { counts, nanos: [First, Second].map(|who| nanos(world, who)) }
    }
}

fn nanos(world: &World, who: Who) -> u64 {
    let pid = world.whole_status(who).unwrap().pid;
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
    let of = |task: std::fs::DirEntry| {
        let read = |name: &str| std::fs::read_to_string(task.path().join(name)).unwrap_or_default();
        let ours = read("comm").trim() == "replication";
        let spent = read("schedstat").split_whitespace().next().and_then(|text| text.parse().ok());
        spent.filter(|_| ours).unwrap_or(0u64)
    };
    tasks.map(of).sum()
}

/// So many steps of clients; how many began late.
fn clients(world: &World, steps: u32) -> u32 {
    let IpAddr::V4(shared) = V4.shared() else { panic!("it is of version 4") };
    let raw = world
        .client
        .within(|| socket(AddressFamily::INET, SocketType::RAW, Some(ipproto::RAW)).unwrap());
    let raw = raw.unwrap();
    let to = SocketAddr::V4(SocketAddrV4::new(shared, 0));
    let send = |number: u32, flags: u8| {
        let packet = packet(number, shared.octets(), flags);
        sendto(&raw, &packet, SendFlags::empty(), &to).unwrap();
    };
    let (_open, closed) = channel::<()>();
    let (begun, mut late) = (Instant::now(), 0);
    for step in 0..steps {
        let due = begun + STEP * step;
        let left = due.saturating_duration_since(Instant::now());
        late += u32::from(left.is_zero());
        if !left.is_zero() {
            assert_eq!(closed.recv_timeout(left), Err(RecvTimeoutError::Timeout));
        }
        for one in 0..EACH {
            send(step * EACH + one, SYN);
            for (age, flags) in [(ACK, ACKNOWLEDGE), (ACK + FIN, FINISH | ACKNOWLEDGE)] {
                if let Some(old) = step.checked_sub(age) {
                    send(old * EACH + one, flags);
                }
            }
        }
    }
    late
}

const FINISH: u8 = 1;
const SYN: u8 = 2;
const ACKNOWLEDGE: u8 = 16;

/// A packet of the client with this number, of 198.18.0.0/15. The kernel fills in IP's checksum; TCP's is read by nobody.
fn packet(number: u32, to: [u8; 4], flags: u8) -> [u8; 40] {
    let mut bytes = [0; 40];
    let port = 1_024 + (number % 60_000) as u16;
    let host = number / 60_000;
    bytes[0] = 0x45;
    bytes[3] = 40;
    (bytes[8], bytes[9]) = (64, 6);
    bytes[12..16].copy_from_slice(&[198, 18, (host >> 8) as u8, host as u8]);
    bytes[16..20].copy_from_slice(&to);
    bytes[20..22].copy_from_slice(&port.to_be_bytes());
    bytes[22..24].copy_from_slice(&MAC.to_be_bytes());
    (bytes[32], bytes[33]) = (0x50, flags);
    bytes[34..36].copy_from_slice(&4_096_u16.to_be_bytes());
    bytes
}
