//! Steelyard's datapath with one service and a hundred servers. The maps are written directly, and the pins are in a
//! private file system.
//!
//! The tables are as large as those of the compared program.

use std::error::Error;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use bpf::PinDirectory;
use l4::abi::{self, Address, NextHop, Pool, Server, Service, Share, Share4, Vip, Vip4};
use l4::flow_samples::FlowSampler;
use l4::{PacketDatapath, TableSizes};
use lab::net::BpfFs;

use super::vary::{ExpectedPacket, SERVICE};

/// Servers of `mac` and `tunnel`; `nat` has one, so that a share is filled.
const SERVERS: u32 = 100;
/// The return address of `nat`.
const BACK: [u8; 4] = [10, 10, 0, 250];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForwardMethod {
    Mac,
    /// IP in IP, as in Katran.
    Tunnel,
    Nat,
}

impl ForwardMethod {
    /// The configuration's value of `forward`.
    pub fn name(self) -> &'static str {
        match self {
            ForwardMethod::Mac => "mac",
            ForwardMethod::Tunnel => "tunnel",
            ForwardMethod::Nat => "nat",
        }
    }

    /// The change that a packet must show.
    pub fn sent(self) -> ExpectedPacket {
        match self {
            ForwardMethod::Mac => ExpectedPacket::Relinked,
            ForwardMethod::Tunnel => ExpectedPacket::Wrapped,
            ForwardMethod::Nat => ExpectedPacket::Translated,
        }
    }
}

pub struct SteelyardPlane {
    pub method: ForwardMethod,
    plane: PacketDatapath,
    program: OwnedFd,
    _pins: BpfFs,
}

impl SteelyardPlane {
    /// Opens the datapath and fills its maps.
    pub fn new(method: ForwardMethod) -> Result<SteelyardPlane, Box<dyn Error>> {
        let pins = BpfFs::mount()?;
        let home = PinDirectory::open(&pins.path().join("plane"))?;
        let sizes = TableSizes { flows: 4 << 20, records: 1 << 17, ..TableSizes::default() };
        let plane = PacketDatapath::open(&home, &sizes, false)?;
        let program = plane.program()?.as_fd().try_clone_to_owned()?;
        let ours = SteelyardPlane { method, plane, program, _pins: pins };
        ours.fill()?;
        Ok(ours)
    }

    pub fn program(&self) -> BorrowedFd<'_> {
        self.program.as_fd()
    }

    /// Samples one connection in `sample`; `None`: no sampling.
    pub fn watch(&self, sample: Option<u32>) -> Result<(), Box<dyn Error>> {
        let watcher = FlowSampler::new(&self.plane)?;
        l4::flow_samples::set_sampling(&self.plane, &watcher, sample)?;
        Ok(())
    }

    fn fill(&self) -> Result<(), Box<dyn Error>> {
        let plane = &self.plane;
        let number = if self.method == ForwardMethod::Nat { 1 } else { SERVERS };
        for server in 0..number {
            let ip = Ipv4Addr::new(10, 10, 0, 1 + server as u8);
            let to = [2, 0, 0, 1, 0, server as u8];
            let way = NextHop {
                to,
                from: [2, 0, 0, 0, 0, 1],
                ifindex: 1,
                mtu: 0,
                state: abi::NEXT_HOP_OK,
            };
            plane.next_hops.set(&server, &way)?;
            let mut entry = Server {
                addr: mapped(ip),
                outer: mapped(BACK.into()),
                next_hop: server,
                flags: (abi::SERVER_TAKES | abi::SERVER_SERVES) as u8,
                wrap: abi::Wrap::Ipip as u8,
                ..Server::default()
            };
            if self.method == ForwardMethod::Nat {
                entry.port = 8080;
                entry.share_count = 1;
                self.share(ip, entry.port)?;
            }
            plane.servers.set(&server, &entry)?;
            plane.schedule.set(&server, &server)?;
        }
        let pool = Pool { length: number, mask4: 32, mask6: 128, ..Pool::default() };
        plane.pools.set(&0, &pool)?;
        let method = match self.method {
            ForwardMethod::Mac => abi::Method::Mac,
            ForwardMethod::Tunnel => abi::Method::Tunnel,
            ForwardMethod::Nat => abi::Method::Nat,
        };
        let service = Service {
            method: method as u32,
            // Timeouts beyond the measurement, so that no flow expires.
            embryonic: 1 << 20,
            half_closed: 1 << 20,
            closing: 1 << 20,
            idle: 1 << 20,
            datagram: 1 << 20,
            ..Service::default()
        };
        plane.services.set(&0, &service)?;
        plane.addresses.set(&Address { addr: mapped(SERVICE.into()) }, &1)?;
        let key = Vip4 { addr: SERVICE, port: 80, proto: 6, pad: 0 };
        Ok(plane.vips4.set(&key, &Vip::default())?)
    }

    fn share(&self, server: Ipv4Addr, port: u16) -> Result<(), Box<dyn Error>> {
        let plane = &self.plane;
        let back = mapped(BACK.into());
        let share = Share { back, ports: abi::SHARE_PORTS, proto: 6, ..Share::default() };
        plane.shares.set(&0, &share)?;
        plane.share_list.set(&0, &0)?;
        let key = Share4 { server: server.octets(), back: BACK, port, proto: 6, pad: 0 };
        plane.shares4.set(&key, &0)?;
        plane.addresses.set(&Address { addr: back }, &2)?;
        let mut config = plane.config.get(&0)?.ok_or("the plane has no configuration")?;
        config.flags |= abi::CONFIG_NAT;
        Ok(plane.config.set(&0, &config)?)
    }
}

/// An IPv4-mapped IPv6 address.
fn mapped(ip: Ipv4Addr) -> [u8; 16] {
    ip.to_ipv6_mapped().octets()
}
