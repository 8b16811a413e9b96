//! The plane of most rows: one service a family, for TCP and UDP, each with one server and one return address.

use l4::abi::{Method, Outcome, Server, Service};

use super::packet::{SYN, TCP, TestPacket, UDP, tcp};
use super::world::{DatapathTestbed, ip, mapped};

pub const CLIENT4: &str = "192.0.2.7:4000";
pub const VIP4: &str = "203.0.113.10:80";
pub const CLIENT6: &str = "[2001:db8:1::7]:4000";
pub const VIP6: &str = "[2001:db8:2::10]:80";

/// Client and service of a family, by the index of the service.
pub const ENDS: [(&str, &str); 2] = [(CLIENT4, VIP4), (CLIENT6, VIP6)];
/// Servers, return addresses and outer sources, by the index of the service.
pub const SERVERS: [&str; 2] = ["10.0.0.1", "fd00::1"];
pub const BACKS: [&str; 2] = ["10.0.0.254", "fd00::fe"];
pub const OUTERS: [&str; 2] = ["10.0.0.250", "fd00::fa"];
/// Ports of a share.
pub const PORTS: u32 = 200;

/// Services 0 (IPv4) and 1 (IPv6) of a method, with the servers of the same index, which preserve the port.
pub fn both(method: Method) -> Option<DatapathTestbed> {
    let world = DatapathTestbed::new()?;
    fill(&world, method);
    Some(world)
}

/// Writes what `both` has.
pub fn fill(world: &DatapathTestbed, method: Method) {
    for (index, vip) in [(0, "203.0.113.10"), (1, "2001:db8:2::10")] {
        world.service(index, method);
        world.listen(vip, 80, TCP, index);
        world.listen(vip, 80, UDP, index);
        let at = index as usize;
        world.server(index, SERVERS[at], 0);
        world.change_server(index, |server| {
            server.service = index;
            server.outer = mapped(ip(OUTERS[at]));
        });
        if method == Method::Nat {
            world.share(index, &[BACKS[at]], index * 1024, PORTS);
        }
        world.pool(index, &[index]);
    }
}

impl DatapathTestbed {
    pub fn change_service(&self, index: u32, change: impl FnOnce(&mut Service)) {
        let mut service = self.plane.services.get(&index).unwrap().unwrap();
        change(&mut service);
        self.plane.services.set(&index, &service).unwrap();
    }

    pub fn change_server(&self, index: u32, change: impl FnOnce(&mut Server)) {
        let mut server = self.plane.servers.get(&index).unwrap().unwrap();
        change(&mut server);
        self.plane.servers.set(&index, &server).unwrap();
    }

    /// Sends a packet that must be forwarded and returns the output.
    pub fn forwarded(&self, text: &str, packet: &TestPacket) -> Vec<u8> {
        self.expect(text, &packet.bytes(), Outcome::Forwarded, super::world::TX)
    }
}

/// The SYN of a client from a port.
pub fn syn(client: &str, vip: &str, sport: u16) -> TestPacket {
    TestPacket { sport, ..tcp(client, vip, SYN) }
}
