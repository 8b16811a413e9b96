//! A path of packets through namespaces: a source, an optional balancer, and a sink that counts packets and drops them.
//!
//! ```text
//! source eth0 ── front balancer eth0 ── eth0 sink       203.0.113.0/24 and 10.10.0.0/24
//! ```
//! Without a balancer, source and sink are the ends of one cable. This module forwards nothing itself.

use std::error::Error;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use lab::net::{ChecksumMode, NetworkNamespace, SysctlSetting, VethEnd, create_veth};
use libbpf_rs::{
    MapCore, MapFlags, Object, ObjectBuilder, ProgramInput, TC_INGRESS, TcHookBuilder, Xdp,
    XdpFlags,
};
use rustix::thread::{CpuSet, sched_setaffinity};

/// Bytes of a packet.
const LENGTH: usize = 64;
const LIVE: u32 = 1 << 1;
/// Packets of one test run; all of them arrive before the next.
const CHUNK: u32 = 1 << 16;
/// Time limit for sent packets to arrive.
const SETTLE: Duration = Duration::from_millis(20);

static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/flood.bpf.o"));

/// The hook that drops packets at the sink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrainPoint {
    /// In the driver, for packets that XDP transmits.
    Driver,
    /// At the first hook of the network stack, for packets that the stack forwards.
    Stack,
}

pub struct PacketPath {
    source: NetworkNamespace,
    /// The forwarding host; `None`: source and sink are directly connected.
    pub balancer: Option<NetworkNamespace>,
    sink: NetworkNamespace,
    object: Object,
}

/// The result of a run.
#[derive(Clone, Copy, Debug)]
pub struct PathRun {
    /// Processor nanoseconds per arrived packet.
    pub each_ns: f64,
    /// Share of the packets that arrived.
    pub arrived: f64,
}

impl PacketPath {
    pub fn new(balanced: bool, drain: DrainPoint) -> Result<PacketPath, Box<dyn Error>> {
        let source = NetworkNamespace::new("source")?;
        let sink = NetworkNamespace::new("sink")?;
        let end = |namespace, link| VethEnd { namespace, link };
        let laid = |a, b| create_veth(a, b, 1500, ChecksumMode::Computed);
        let balancer = if balanced { Some(NetworkNamespace::new("balancer")?) } else { None };
        match &balancer {
            None => laid(end(&source, "eth0"), end(&sink, "eth0"))?,
            Some(balancer) => {
                laid(end(&source, "eth0"), end(balancer, "front"))?;
                laid(end(&sink, "eth0"), end(balancer, "eth0"))?;
                balancer
                    .write_sysctls(&[SysctlSetting { path: "net/ipv4/ip_forward", value: "1" }])?;
                balancer
                    .ip("addr add 203.0.113.1/24 dev front\naddr add 10.10.0.2/24 dev eth0\n\
                     addr add 10.10.0.3/24 dev eth0\naddr add 198.51.100.10/32 dev lo\n")?;
            }
        }
        source.ip("addr add 203.0.113.2/24 dev eth0\n")?;
        sink.ip("addr add 10.10.0.11/24 dev eth0\n")?;
        let object = ObjectBuilder::default().open_memory(OBJECT)?.load()?;
        let path = PacketPath { source, balancer, sink, object };
        path.fill_plan()?;
        path.attach_drain(drain)?;
        Ok(path)
    }

    /// Sends `packets` packets of `flows` flows on one processor, and waits for them.
    pub fn run(&self, flows: u32, packets: u32, cpu: usize) -> Result<PathRun, Box<dyn Error>> {
        let mut plan = self.read("floods", 16 + LENGTH)?;
        plan[..4].copy_from_slice(&flows.to_ne_bytes());
        self.write("floods", &plan)?;
        let before = self.arrived()?;
        let spent =
            self.source.run_inside(|| self.send(packets, cpu).map_err(|e| e.to_string()))??;
        let arrived = (self.arrived()? - before) as f64;
        Ok(PathRun {
            each_ns: spent.as_nanos() as f64 / arrived,
            arrived: arrived / f64::from(packets),
        })
    }

    /// Runs on a thread inside the source's namespace.
    fn send(&self, packets: u32, cpu: usize) -> Result<Duration, Box<dyn Error>> {
        let mut cpus = CpuSet::new();
        cpus.set(cpu);
        sched_setaffinity(None, &cpus)?;
        let program = self.object.progs_mut().find(|one| one.name() == "flood");
        let program = program.ok_or("no program flood")?;
        let mut spent = Duration::ZERO;
        let data = [0; LENGTH];
        for first in (0..packets).step_by(CHUNK as usize) {
            let begun = Instant::now();
            program.test_run(ProgramInput {
                data_in: Some(&data),
                flags: LIVE,
                repeat: CHUNK.min(packets - first),
                ..ProgramInput::default()
            })?;
            spent += begun.elapsed();
        }
        // Waits for the last packets; the time is not counted.
        std::thread::park_timeout(SETTLE);
        Ok(spent)
    }

    fn fill_plan(&self) -> Result<(), Box<dyn Error>> {
        let near = match &self.balancer {
            Some(balancer) => link(balancer, "front")?,
            None => link(&self.sink, "eth0")?,
        };
        let own = link(&self.source, "eth0")?;
        let mut packet = [0; LENGTH];
        packet[..6].copy_from_slice(&near.1);
        packet[6..12].copy_from_slice(&own.1);
        packet[12..14].copy_from_slice(&[8, 0]);
        packet[14..34].copy_from_slice(&ip_header());
        packet[36..38].copy_from_slice(&80u16.to_be_bytes());
        packet[38..40].copy_from_slice(&((LENGTH - 34) as u16).to_be_bytes());
        let plan = [&1u32.to_ne_bytes()[..], &own.0.to_ne_bytes(), &0u64.to_ne_bytes(), &packet];
        self.write("floods", &plan.concat())
    }

    fn attach_drain(&self, drain: DrainPoint) -> Result<(), Box<dyn Error>> {
        let (index, _) = link(&self.sink, "eth0")?;
        let index = i32::try_from(index)?;
        let name = if drain == DrainPoint::Driver { "drain" } else { "drain_tc" };
        let program = self.object.progs_mut().find(|one| one.name() == name);
        let program = program.ok_or(format!("no program {name}"))?;
        let fd = program.as_fd();
        let attach = || match drain {
            DrainPoint::Driver => Xdp::new(fd).attach(index, XdpFlags::DRV_MODE),
            DrainPoint::Stack => {
                let mut hook =
                    TcHookBuilder::new(fd).ifindex(index).handle(1).priority(1).hook(TC_INGRESS);
                hook.create().and_then(|mut hook| hook.attach()).map(drop)
            }
        };
        Ok(self.sink.run_inside(|| attach().map_err(|error| error.to_string()))??)
    }

    fn arrived(&self) -> Result<u64, Box<dyn Error>> {
        let bytes = self.read("arrived", 8)?;
        Ok(u64::from_ne_bytes(bytes[..8].try_into()?))
    }

    fn read(&self, map: &str, bytes: usize) -> Result<Vec<u8>, Box<dyn Error>> {
        let found = self.object.maps().find(|one| one.name() == map);
        let found = found.ok_or(format!("no map {map}"))?;
        let value = found.lookup(&0u32.to_ne_bytes(), MapFlags::ANY)?;
        Ok(value.filter(|value| value.len() >= bytes).ok_or(format!("{map} is empty"))?)
    }

    fn write(&self, map: &str, value: &[u8]) -> Result<(), Box<dyn Error>> {
        let found = self.object.maps().find(|one| one.name() == map);
        let found = found.ok_or(format!("no map {map}"))?;
        Ok(found.update(&0u32.to_ne_bytes(), value, MapFlags::ANY)?)
    }
}

/// The IPv4 header of a datagram from the source to the service, with its checksum (RFC 791).
fn ip_header() -> [u8; 20] {
    let mut ip = [0; 20];
    ip[0] = 0x45;
    ip[2..4].copy_from_slice(&((LENGTH - 14) as u16).to_be_bytes());
    ip[8] = 64;
    ip[9] = 17;
    ip[12..16].copy_from_slice(&[203, 0, 113, 2]);
    ip[16..20].copy_from_slice(&[198, 51, 100, 10]);
    let words = ip.chunks(2).map(|two| u32::from(two[0]) << 8 | u32::from(two[1]));
    let sum: u32 = words.sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    ip[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
    ip
}

/// Index and link address of an interface.
fn link(namespace: &NetworkNamespace, name: &str) -> Result<(u32, [u8; 6]), Box<dyn Error>> {
    let description = namespace.ip(&format!("link show {name}\n"))?;
    let bad = || format!("`ip link show {name}` says: {description}");
    let index =
        description.split(':').next().and_then(|word| word.trim().parse().ok()).ok_or_else(bad)?;
    let after = description.split("link/ether ").nth(1).ok_or_else(bad)?;
    let bytes: Vec<u8> = after
        .chars()
        .take(17)
        .collect::<String>()
        .split(':')
        .filter_map(|byte| u8::from_str_radix(byte, 16).ok())
        .collect();
    Ok((index, bytes.try_into().map_err(|_| bad())?))
}
