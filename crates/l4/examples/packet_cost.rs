//! The datapath's cost per packet in nanoseconds, by the kernel's test run. Measures hits among 1, 100,000 and a
//! million flows for each method, SYNs, hits at a shared address, and hits with replication. Prints JSON. It needs
//! root, and sends nothing.
//!
//! `cargo run --release -p l4 --example packet_cost [-- ROUNDS]`. With many flows each call runs one packet; the cost
//! of the call itself (a packet that matches no service) is subtracted. Caches are as cold as that many flows make
//! them.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for the terminal")]

use std::error::Error;
use std::time::Duration;

use bpf::PinDirectory;
use bpf::pin_directory::mount_at;
use files::TemporaryDir;
use l4::abi::{self, Method, NextHop, Pool, Server, Service, Share, Share4, Vip, Vip4};
use l4::{PacketDatapath, TableSizes};

/// Servers behind each service.
const SERVERS: u32 = 16;
/// Packets timed for each row.
const SAMPLES: u32 = 200_000;
/// SYNs timed for each row. All rows together need fewer ports than exist.
const SYNS: u32 = 80_000;

fn main() -> Result<(), Box<dyn Error>> {
    let rounds: u32 = std::env::args().nth(1).map_or(Ok(3), |text| text.parse())?;
    let place = PacketCostBpfFs::new()?;
    let home = PinDirectory::open(&place.0.path().join("home"))?;
    let sizes = TableSizes { flows: 1 << 21, records: 1 << 20, ..TableSizes::default() };
    let plane = PacketDatapath::open(&home, &sizes, false)?;
    fill(&plane)?;
    let mut rows = Vec::new();
    for round in 0..rounds {
        let from = (1 << 24) + 3 * round * SYNS;
        for method in [Method::Mac, Method::Tunnel, Method::Nat] {
            for flows in [1u32, 65_536, 100_000, 1_000_000] {
                if method == Method::Nat && flows > 1 << 19 {
                    continue;
                }
                rows.push((format!("{}-{flows}", method.name()), hit(&plane, method, flows)?));
            }
            rows.push((format!("{}-syn", method.name()), syn(&plane, method, from)?));
        }
        for method in [Method::Mac, Method::Nat] {
            let name = method.name();
            share(&plane, method, abi::SERVICE_SHARED)?;
            rows.push((format!("{name}-1-shared"), hit(&plane, method, 1)?));
            let replicated_flags = abi::SERVICE_SHARED | abi::SERVICE_TELLS_FLOWS;
            share(&plane, method, replicated_flags)?;
            rows.push((format!("{name}-1-told"), hit(&plane, method, 1)?));
            rows.push((format!("{name}-syn-told"), syn(&plane, method, from + SYNS)?));
            share(&plane, method, abi::SERVICE_SHARED)?;
            rows.push((format!("{name}-syn-shared"), syn(&plane, method, from + 2 * SYNS)?));
            share(&plane, method, 0)?;
        }
    }
    print(&rows);
    Ok(())
}

/// Medians by row, as JSON.
fn print(rows: &[(String, f64)]) {
    let mut names: Vec<&str> = rows.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let line = |name: &&str| {
        let mut of: Vec<f64> =
            rows.iter().filter(|(one, _)| one == name).map(|(_, ns)| *ns).collect();
        of.sort_by(f64::total_cmp);
        format!("  \"{name}\": {:.1}", of[of.len() / 2])
    };
    let lines: Vec<String> = names.iter().map(line).collect();
    println!("{{\n{}\n}}", lines.join(",\n"));
}

/// One service for each method at 203.0.113.METHOD, port 80.
fn fill(plane: &PacketDatapath) -> Result<(), Box<dyn Error>> {
    for method in [Method::Mac, Method::Tunnel, Method::Nat] {
        let number = method as u32;
        let service = Service {
            method: number,
            pool: number,
            embryonic: 4000,
            half_closed: 4000,
            closing: 4000,
            idle: 4000,
            datagram: 4000,
            ..Service::default()
        };
        plane.services.set(&number, &service)?;
        let first = number * SERVERS;
        for index in first..first + SERVERS {
            plane.schedule.set(&index, &index)?;
            plane.next_hops.set(
                &index,
                &NextHop {
                    to: [2; 6],
                    from: [4; 6],
                    ifindex: 1,
                    mtu: 1500,
                    state: abi::NEXT_HOP_OK,
                },
            )?;
            serve(plane, index, number)?;
        }
        plane.pools.set(&number, &Pool { first, length: SERVERS, ..Pool::default() })?;
        let key = Vip4 { addr: [203, 0, 113, number as u8], port: 80, proto: 6, pad: 0 };
        plane.vips4.set(&key, &Vip { service: number, ..Vip::default() })?;
    }
    let mut config = plane.config.get(&0)?.unwrap_or_default();
    config.flags = abi::CONFIG_NAT;
    Ok(plane.config.set(&0, &config)?)
}

/// The service of a method has these flags; its address is held.
fn share(plane: &PacketDatapath, method: Method, flags: u32) -> Result<(), Box<dyn Error>> {
    let number = method as u32;
    let service = plane.services.get(&number)?.unwrap_or_default();
    plane.services.set(&number, &Service { flags, ..service })?;
    let addr = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 203, 0, 113, number as u8];
    Ok(plane.holds.set(&abi::Address { addr }, &u64::MAX)?)
}

/// A server with one share.
fn serve(plane: &PacketDatapath, index: u32, service: u32) -> Result<(), Box<dyn Error>> {
    let mut addr = [0; 16];
    addr[10..].copy_from_slice(&[0xff, 0xff, 10, 0, 0, index as u8 + 1]);
    let mut outer = addr;
    outer[15] = 250;
    let at = index % SERVERS;
    let share = if service == Method::Nat as u32 { at } else { abi::NONE };
    plane.servers.set(
        &index,
        &Server {
            addr,
            outer,
            next_hop: index,
            share_first: share,
            share_count: u32::from(share != abi::NONE),
            flags: (abi::SERVER_TAKES | abi::SERVER_SERVES) as u8,
            service,
            ..Server::default()
        },
    )?;
    if share != abi::NONE {
        let mut back = addr;
        back[15] = 254;
        let ports = abi::SHARE_PORTS;
        plane.shares.set(&at, &Share { back, first: at * ports, ports, flags: 0, proto: 6 })?;
        plane.share_list.set(&at, &at)?;
        let server = [10, 0, 0, index as u8 + 1];
        let key = Share4 { server, back: [10, 0, 0, 254], port: 0, proto: 6, pad: 0 };
        plane.shares4.set(&key, &at)?;
    }
    Ok(())
}

/// A TCP packet of flow `n` to the method's service.
fn packet(method: u32, n: u32, flags: u8) -> Vec<u8> {
    let mut out = vec![4, 4, 4, 4, 4, 4, 2, 2, 2, 2, 2, 2, 8, 0, 0x45, 0, 0, 40, 0, 0, 0x40, 0];
    out.extend([64, 6, 0, 0, 172, (n >> 28) as u8 + 16, (n >> 20) as u8, (n >> 12) as u8]);
    out.extend([203, 0, 113, method as u8]);
    out.extend(((n & 0xfff) as u16 + 1024).to_be_bytes());
    out.extend([0, 80, 0, 0, 0, 1, 0, 0, 0, 1, 0x50, flags, 1, 0, 0, 0, 0, 0]);
    out.extend([0; 10]);
    out
}

const SYN: u8 = 2;
const ACK: u8 = 16;

/// Mean ns of runs of one packet each, which the kernel times itself.
fn timed(
    plane: &PacketDatapath,
    samples: u32,
    mut next: impl FnMut(u32) -> Vec<u8>,
) -> Result<f64, Box<dyn Error>> {
    let program = plane.program()?;
    let mut sum = Duration::ZERO;
    for n in 0..samples {
        sum += program.test_run(&next(n), 0, 1)?.time;
    }
    Ok(sum.as_nanos() as f64 / f64::from(samples))
}

/// A hit among this many flows, in an order without pattern.
fn hit(plane: &PacketDatapath, method: Method, flows: u32) -> Result<f64, Box<dyn Error>> {
    let program = plane.program()?;
    for n in 0..flows {
        program.test_run(&packet(method as u32, n, SYN), 0, 1)?;
    }
    if flows == 1 && method == Method::Mac {
        let ack = packet(method as u32, 0, ACK);
        return Ok(program.test_run(&ack, 0, SAMPLES * 10)?.time.as_nanos() as f64);
    }
    let order = |n: u32| ((u64::from(n) * 2_654_435_761) % u64::from(flows)) as u32;
    let all = timed(plane, SAMPLES, |n| packet(method as u32, order(n), ACK))?;
    Ok(all - nothing(plane)?)
}

/// A SYN of an unknown flow; flows are numbered from `from`.
fn syn(plane: &PacketDatapath, method: Method, from: u32) -> Result<f64, Box<dyn Error>> {
    let all = timed(plane, SYNS, |n| packet(method as u32, n + from, SYN))?;
    Ok(all - nothing(plane)?)
}

/// The cost of a run itself: a packet that is not IP.
fn nothing(plane: &PacketDatapath) -> Result<f64, Box<dyn Error>> {
    let mut none = packet(0, 0, 0);
    none[12] = 9;
    timed(plane, SAMPLES, |_| none.clone())
}

/// A private BPF file system.
struct PacketCostBpfFs(TemporaryDir);

impl PacketCostBpfFs {
    fn new() -> Result<PacketCostBpfFs, Box<dyn Error>> {
        let place = TemporaryDir::new("cost")?;
        mount_at(place.path())?;
        Ok(PacketCostBpfFs(place))
    }
}

impl Drop for PacketCostBpfFs {
    fn drop(&mut self) {
        let _ = rustix::mount::unmount(self.0.path(), rustix::mount::UnmountFlags::DETACH);
    }
}
