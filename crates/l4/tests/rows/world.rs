//! A plane to try packets on: its maps filled by hand, its clock stopped, its pins in a private place.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use bpf::PinDirectory;
use bpf::pin_directory::mount_at;
use files::TemporaryDir;
use l4::abi::{self, NextHop, Outcome, Pool, Server, Service, Vip, Vip4, Vip6};
use l4::map_sizes::ConfigCapacity;
use l4::{PacketDatapath, TableSizes};

use super::packet::TestPacket;
use super::plane_pool::PlaneLease;

pub const DROP: u32 = 1;
pub const PASS: u32 = 2;
pub const TX: u32 = 3;
pub const REDIRECT: u32 = 4;

/// Bytes of an address, IPv4 mapped.
pub fn mapped(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().octets(),
        IpAddr::V6(v6) => v6.octets(),
    }
}

pub fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// Link address of server `n`.
pub fn link(n: u32) -> [u8; 6] {
    [2, 0, 0, 1, 0, n as u8]
}

pub struct DatapathTestbed {
    pub plane: PlaneLease,
    /// `None` for a plane of the pool, which has no pins any more.
    bpf_fs: Option<DatapathBpfFs>,
    /// The stopped clock, ns.
    pub now: u64,
}

impl DatapathTestbed {
    /// A plane with small tables and no pins, which may have been another test's. `None` if the test may not load
    /// programs.
    pub fn new() -> Option<DatapathTestbed> {
        PlaneLease::take_free()
            .map(|plane| DatapathTestbed::started(plane, None))
            .or_else(Self::loaded)
    }

    /// A new plane, which other tests use afterwards.
    pub fn loaded() -> Option<DatapathTestbed> {
        let loaded = LoadedPlane::load(&small_tables())?;
        let plane = PlaneLease::for_pool(loaded.plane, &loaded.bpf_fs.maps());
        Some(DatapathTestbed::started(plane, None))
    }

    /// A plane with small tables and its pins, for this test alone.
    pub fn pinned() -> Option<DatapathTestbed> {
        DatapathTestbed::sized(&small_tables())
    }

    /// A plane with its pins, for this test alone.
    pub fn sized(sizes: &TableSizes) -> Option<DatapathTestbed> {
        let loaded = LoadedPlane::load(sizes)?;
        Some(DatapathTestbed::started(PlaneLease::alone(loaded.plane), Some(loaded.bpf_fs)))
    }

    fn started(plane: PlaneLease, bpf_fs: Option<DatapathBpfFs>) -> DatapathTestbed {
        let world = DatapathTestbed { plane, bpf_fs, now: 1 << 40 };
        world.set_clock();
        world
    }

    fn set_clock(&self) {
        let mut config = self.plane.config.get(&0).unwrap().unwrap();
        config.clock_ns = self.now;
        // As if the sweep had just been.
        config.swept = (self.now >> abi::TICK_SHIFT) as u32;
        self.plane.config.set(&0, &config).unwrap();
    }

    /// Advances the clock by some ticks.
    pub fn pass_ticks(&mut self, ticks: u64) {
        self.now += ticks << abi::TICK_SHIFT;
        self.set_clock();
    }

    pub fn pass_ns(&mut self, ns: u64) {
        self.now += ns;
        self.set_clock();
    }

    /// Sets bits of `config.flags`.
    pub fn flag(&self, flags: u32) {
        let mut config = self.plane.config.get(&0).unwrap().unwrap();
        config.flags |= flags;
        self.plane.config.set(&0, &config).unwrap();
    }

    /// The driver of an interface drops sent frames from now on.
    pub fn refuses(&self, ifindex: u32) {
        let value = abi::Interface {
            flags: abi::INTERFACE_REFUSES,
            mtu: 1500,
            ..abi::Interface::default()
        };
        self.plane.interfaces.set(&ifindex, &value).unwrap();
        let mut config = self.plane.config.get(&0).unwrap().unwrap();
        config.refusing = 1;
        self.plane.config.set(&0, &config).unwrap();
    }

    /// A service with usual timeouts, and a pool with the same index.
    pub fn service(&self, index: u32, method: abi::Method) -> Service {
        let service = Service {
            method: method as u32,
            pool: index,
            embryonic: 20,
            half_closed: 40,
            closing: 100,
            idle: 1000,
            datagram: 200,
            source_mask4: 32,
            source_mask6: 128,
            ..Service::default()
        };
        self.plane.services.set(&index, &service).unwrap();
        service
    }

    /// Puts a service at an address and port.
    pub fn listen(&self, address: &str, port: u16, proto: u8, service: u32) {
        self.listen_ranges(address, port, proto, service, &[]);
    }

    pub fn listen_ranges(
        &self,
        address: &str,
        port: u16,
        proto: u8,
        service: u32,
        ranges: &[(u16, u16, u32)],
    ) {
        let mut vip = Vip { service, ranges: ranges.len() as u32, ..Vip::default() };
        for (at, (from, to, owner)) in ranges.iter().enumerate() {
            vip.from[at] = *from;
            vip.to[at] = *to;
            vip.owner[at] = *owner;
        }
        match ip(address) {
            IpAddr::V4(v4) => {
                let key = Vip4 { addr: v4.octets(), port, proto, pad: 0 };
                self.plane.vips4.set(&key, &vip).unwrap();
            }
            IpAddr::V6(v6) => {
                let key = Vip6 { addr: v6.octets(), port, proto, pad: 0 };
                self.plane.vips6.set(&key, &vip).unwrap();
            }
        }
        self.plane.addresses.set(&abi::Address { addr: mapped(ip(address)) }, &1).unwrap();
    }

    /// A server with a next hop of the same index through interface 1.
    pub fn server(&self, index: u32, address: &str, port: u16) -> Server {
        let server = Server {
            addr: mapped(ip(address)),
            next_hop: index,
            port,
            flags: (abi::SERVER_TAKES | abi::SERVER_SERVES) as u8,
            ..Server::default()
        };
        self.plane.servers.set(&index, &server).unwrap();
        self.next_hop(index, 1, 0, abi::NEXT_HOP_OK);
        server
    }

    pub fn next_hop(&self, index: u32, ifindex: u32, mtu: u32, state: u32) {
        let from = super::packet::OURS;
        let way = NextHop { to: link(index), from, ifindex, mtu, state };
        self.plane.next_hops.set(&index, &way).unwrap();
    }

    /// Shares of a server for TCP and UDP, one a return address; `ports` records each from `first` on.
    pub fn share(&self, server: u32, backs: &[&str], first: u32, ports: u32) {
        let mut entry = self.plane.servers.get(&server).unwrap().unwrap();
        entry.share_first = server * 8;
        entry.share_count = 0;
        for back in backs {
            for proto in [6, 17] {
                let index = entry.share_first + entry.share_count;
                let first = first + entry.share_count * ports;
                self.one_share(index, &entry, back, first, ports, proto);
                entry.share_count += 1;
            }
        }
        self.plane.servers.set(&server, &entry).unwrap();
        self.flag(abi::CONFIG_NAT);
    }

    fn one_share(
        &self,
        index: u32,
        server: &Server,
        back: &str,
        first: u32,
        ports: u32,
        proto: u8,
    ) {
        let client = back == "client";
        let back = if client { [0; 16] } else { mapped(ip(back)) };
        let flags = if client { abi::SHARE_CLIENT } else { 0 };
        let share = abi::Share { back, first, ports, flags, proto: proto.into() };
        self.plane.shares.set(&index, &share).unwrap();
        self.plane.share_list.set(&index, &index).unwrap();
        let port = server.port;
        if server.addr[..10] == [0; 10] {
            let four = |bytes: [u8; 16]| [bytes[12], bytes[13], bytes[14], bytes[15]];
            let server = four(server.addr);
            let back = four(back);
            let key = abi::Share4 { server, back, port, proto, pad: 0 };
            self.plane.shares4.set(&key, &index).unwrap();
        } else {
            let key = abi::Share6 { server: server.addr, back, port, proto, pad: 0 };
            self.plane.shares6.set(&key, &index).unwrap();
        }
        if !client {
            self.plane.addresses.set(&abi::Address { addr: back }, &2).unwrap();
        } else {
            self.flag(abi::CONFIG_CLIENT_SOURCE);
        }
    }

    /// Sets flags of a server.
    pub fn server_flags(&self, index: u32, flags: u32) {
        let mut server = self.plane.servers.get(&index).unwrap().unwrap();
        server.flags = flags as u8;
        self.plane.servers.set(&index, &server).unwrap();
    }

    /// A pool whose schedule is these servers, at `index * 256`.
    pub fn pool(&self, index: u32, servers: &[u32]) -> Pool {
        let first = index * 256;
        for (at, server) in servers.iter().enumerate() {
            self.plane.schedule.set(&(first + at as u32), server).unwrap();
        }
        let pool =
            Pool { first, length: servers.len() as u32, mask4: 32, mask6: 128, ..Pool::default() };
        self.plane.pools.set(&index, &pool).unwrap();
        pool
    }

    /// Sends one packet through.
    pub fn send(&self, packet: &TestPacket) -> (u32, Vec<u8>) {
        self.send_bytes(&packet.bytes())
    }

    pub fn send_bytes(&self, packet: &[u8]) -> (u32, Vec<u8>) {
        let trial = self.plane.program().unwrap().test_run(packet, 0, 1).unwrap();
        (trial.return_code, trial.packet)
    }

    /// Packets by outcome, in the order of `Outcome::ALL`, over all CPUs, families and rows.
    pub fn counts(&self) -> Vec<u64> {
        let mut by_number = [0; 80];
        let plane = (abi::SERVER_OUTCOMES + abi::SERVICE_OUTCOMES) as usize;
        for index in 0..16 {
            for row in self.plane.server_counts.each_cpu(&index).unwrap() {
                add(&mut by_number[..16], &[&row.packets4, &row.packets6]);
            }
            for row in self.plane.service_counts.each_cpu(&index).unwrap() {
                add(&mut by_number[16..plane], &[&row.packets4, &row.packets6]);
            }
        }
        for row in self.plane.plane_counts.each_cpu(&0).unwrap() {
            add(&mut by_number[plane..], &[&row.packets4, &row.packets6, &row.others]);
        }
        Outcome::ALL.iter().map(|one| by_number[*one as usize]).collect()
    }

    pub fn count(&self, outcome: Outcome) -> u64 {
        let at = Outcome::ALL.iter().position(|one| *one == outcome).unwrap();
        self.counts()[at]
    }

    /// Outcomes whose counts differ from `before`.
    pub fn moved(&self, before: &[u64]) -> Vec<Outcome> {
        let now = self.counts();
        let moved = Outcome::ALL.iter().zip(now.iter().zip(before));
        moved.filter(|(_, (now, before))| now != before).map(|(one, _)| *one).collect()
    }

    /// Where the pins' file system is mounted.
    pub fn place(&self) -> &Path {
        self.bpf_fs.as_ref().expect("a plane of the pool has no pins").0.path()
    }

    pub fn received(&self) -> u64 {
        self.plane.plane_counts.each_cpu(&0).unwrap().iter().map(|row| row.received).sum()
    }

    /// Sends a packet that must end in `outcome` only. Returns the output.
    pub fn expect(&self, text: &str, packet: &[u8], outcome: Outcome, verdict: u32) -> Vec<u8> {
        let before = self.counts();
        let received = self.received();
        let (got, out) = self.send_bytes(packet);
        assert_eq!(self.moved(&before), [outcome], "{text}");
        assert_eq!(self.received(), received + 1, "{text}");
        assert_eq!(got, verdict, "{text}: verdict");
        out
    }
}

/// Adds each row of counters to the sums.
fn add(sums: &mut [u64], rows: &[&[u64]]) {
    for row in rows {
        sums.iter_mut().zip(*row).for_each(|(sum, count)| *sum += count);
    }
}

fn small_tables() -> TableSizes {
    TableSizes {
        flows: 1 << 10,
        records: 1 << 12,
        sticky: 64,
        fragments: 64,
        sources: 64,
        capacity: ConfigCapacity {
            services: 64,
            pools: 64,
            servers: 1 << 10,
            schedule: 1 << 14,
            shares: 1 << 12,
            rules: 256,
            keys: 1 << 10,
        },
    }
}

struct LoadedPlane {
    plane: PacketDatapath,
    bpf_fs: DatapathBpfFs,
}

impl LoadedPlane {
    fn load(sizes: &TableSizes) -> Option<LoadedPlane> {
        let place = TemporaryDir::new("rows").unwrap();
        if let Err(error) = mount_at(place.path()) {
            tests::skip::skip(&format!("loading packet programs needs root: {error}"));
            return None;
        }
        let bpf_fs = DatapathBpfFs(place);
        let home = match PinDirectory::open(&bpf_fs.0.path().join("home")) {
            Ok(home) => home,
            Err(error) => {
                tests::skip::skip(&error.to_string());
                return None;
            }
        };
        let plane =
            PacketDatapath::open(&home, sizes, false).unwrap_or_else(|error| panic!("{error:?}"));
        Some(LoadedPlane { plane, bpf_fs })
    }
}

/// A private BPF file system; gone with the test, whether it passes or panics.
struct DatapathBpfFs(TemporaryDir);

impl DatapathBpfFs {
    /// The directory of the pinned maps.
    fn maps(&self) -> PathBuf {
        self.0.path().join("home").join(l4::datapath::TENANT).join("maps")
    }
}

impl Drop for DatapathBpfFs {
    fn drop(&mut self) {
        let _ = rustix::mount::unmount(self.0.path(), rustix::mount::UnmountFlags::DETACH);
    }
}
