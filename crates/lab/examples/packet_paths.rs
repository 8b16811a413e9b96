//! Measures the cost of a packet through namespaces: without a balancer, with Steelyard's packet plane, with the
//! kernel's forwarding, and with nftables that translate both addresses.
//!
//! `packet_paths --steelyard PROGRAM [--rounds N] [--cpu N] [--scale PERCENT]` prints JSON for each round: processor
//! nanoseconds per arrived packet, and the share that arrived. Everything runs on one processor, so that elapsed time
//! is its time. Needs root, nft(8) and iproute2. `bench/packets-nftables` calculates the ratios.

#[path = "support/path.rs"]
mod path;

use std::collections::BTreeMap;
use std::error::Error;
use std::path::PathBuf;
use std::process::{Child, ExitCode, Stdio};
use std::time::{Duration, Instant};

use files::TemporaryDir;
use lab::net::{BpfFs, NetworkNamespace, find, run_command, sweep_orphans};
use serde_json::json;

use self::path::{DrainPoint, PacketPath, PathRun};

/// Flows, and packets of each measurement.
const LOADS: [(&str, u32, u32); 2] = [("1k", 1_000, 1_000_000), ("4k", 4_000, 1_000_000)];
/// Time limit for the balancer to become ready.
const READY: Duration = Duration::from_secs(20);

#[expect(clippy::print_stdout, reason = "the figures are what the program is for")]
fn main() -> ExitCode {
    match measure() {
        Ok(figures) => {
            println!("{}", json!(figures));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("packet_paths: {error}");
            ExitCode::from(2)
        }
    }
}

struct PathOptions {
    steelyard: PathBuf,
    rounds: u32,
    cpu: usize,
    scale: u32,
}

fn options() -> Result<PathOptions, Box<dyn Error>> {
    let mut options = PathOptions { steelyard: PathBuf::new(), rounds: 3, cpu: 0, scale: 100 };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--steelyard" => options.steelyard = value()?.into(),
            "--rounds" => options.rounds = value()?.parse()?,
            "--cpu" => options.cpu = value()?.parse()?,
            "--scale" => options.scale = value()?.parse()?,
            _ => return Err(format!("unknown argument {argument}").into()),
        }
    }
    if options.steelyard.as_os_str().is_empty() {
        return Err("--steelyard names no program".into());
    }
    Ok(options)
}

/// A path and the balancer that forwards on it.
struct ForwarderCase {
    name: &'static str,
    path: PacketPath,
    _daemon: Option<DaemonProcess>,
}

/// Nanoseconds and arrived share of all rounds, by name and flows.
type PathSamples = BTreeMap<String, Vec<(f64, f64)>>;

fn measure() -> Result<PathSamples, Box<dyn Error>> {
    let options = options()?;
    sweep_orphans();
    let rows = [
        ForwarderCase {
            name: "direct",
            path: PacketPath::new(false, DrainPoint::Driver)?,
            _daemon: None,
        },
        steelyard_case("mac", &options)?,
        steelyard_case("nat", &options)?,
        ForwarderCase { name: "kernel", path: kernel_forwarding()?, _daemon: None },
        ForwarderCase { name: "nftables", path: nftables_translation()?, _daemon: None },
    ];
    let mut figures = PathSamples::new();
    // Round 0 only creates the connections; its figures are not recorded.
    for round in 0..=options.rounds {
        for row in &rows {
            for (name, flows, packets) in LOADS {
                let packets = (packets / 100).saturating_mul(options.scale).max(10_000);
                let PathRun { each_ns, arrived } = row.path.run(flows, packets, options.cpu)?;
                if arrived < 0.5 {
                    return Err(format!("{}: {arrived} of the packets arrived", row.name).into());
                }
                if round > 0 {
                    let key = format!("{} {name}", row.name);
                    figures.entry(key).or_default().push((each_ns, arrived));
                }
            }
        }
    }
    Ok(figures)
}

fn steelyard_case(
    forward: &'static str,
    options: &PathOptions,
) -> Result<ForwarderCase, Box<dyn Error>> {
    let path = PacketPath::new(true, DrainPoint::Driver)?;
    let balancer = path.balancer.as_ref().ok_or("a way without a balancer")?;
    let daemon = DaemonProcess::start(balancer, forward, &options.steelyard)?;
    Ok(ForwarderCase { name: forward, path, _daemon: Some(daemon) })
}

/// The kernel forwards, as a router does.
fn kernel_forwarding() -> Result<PacketPath, Box<dyn Error>> {
    let path = PacketPath::new(true, DrainPoint::Stack)?;
    let balancer = path.balancer.as_ref().ok_or("a way without a balancer")?;
    enable_xdp_receive(balancer)?;
    // On this path the sink has the service's address.
    balancer.ip("addr del 198.51.100.10/32 dev lo\nroute add 198.51.100.10/32 via 10.10.0.11\n")?;
    Ok(path)
}

/// A veth end without a native XDP program receives XDP frames only if its GRO offload was enabled while it was up.
fn enable_xdp_receive(balancer: &NetworkNamespace) -> Result<(), Box<dyn Error>> {
    for state in ["off", "on"] {
        let mut ethtool = balancer.command(find("ethtool"));
        run_command(ethtool.args(["-K", "front", "gro", state]))?;
    }
    Ok(())
}

/// nftables translates the destination and the source address.
fn nftables_translation() -> Result<PacketPath, Box<dyn Error>> {
    let path = PacketPath::new(true, DrainPoint::Stack)?;
    let balancer = path.balancer.as_ref().ok_or("a way without a balancer")?;
    let rules = "table ip balance {\n\
         chain in { type nat hook prerouting priority dstnat;\n\
         ip daddr 198.51.100.10 udp dport 80 dnat to 10.10.0.11:80;\n}\n\
         chain out { type nat hook postrouting priority srcnat;\n\
         ip daddr 10.10.0.11 udp dport 80 snat to 10.10.0.3;\n}\n}\n";
    enable_xdp_receive(balancer)?;
    let mut nft = balancer.command(find("nft"));
    run_command(nft.arg(rules))?;
    Ok(path)
}

/// A balancer process that forwards packets; killed when dropped.
struct DaemonProcess {
    child: Child,
    _dir: TemporaryDir,
    _pins: BpfFs,
}

impl DaemonProcess {
    fn start(
        balancer: &NetworkNamespace,
        forward: &str,
        program: &std::path::Path,
    ) -> Result<DaemonProcess, Box<dyn Error>> {
        let pins = BpfFs::mount()?;
        let dir = TemporaryDir::new("paths")?;
        let log = dir.path().join("log");
        let file = dir.write("steelyard.toml", config(forward, dir.path(), pins.path()))?;
        // The parent-death signal kills the balancer however this process ends.
        let mut command = balancer.command(find("setpriv"));
        command.args(["--pdeathsig", "KILL"]).arg(program).args(["run", "-c"]).arg(file);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(dir.create("log")?);
        let child = command.spawn()?;
        let mut daemon = DaemonProcess { child, _dir: dir, _pins: pins };
        let begun = Instant::now();
        // The `ready` event is logged once packets are forwarded.
        while !std::fs::read_to_string(&log)?.contains("info ready:") {
            let read_log = || std::fs::read_to_string(&log).unwrap_or_default();
            if daemon.child.try_wait()?.is_some() || begun.elapsed() > READY {
                return Err(format!("the balancer is not ready: {}", read_log()).into());
            }
            std::thread::park_timeout(Duration::from_millis(20));
        }
        Ok(daemon)
    }
}

impl Drop for DaemonProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn config(forward: &str, dir: &std::path::Path, pins: &std::path::Path) -> String {
    format!(
        "[global]\naccess-log = \"off\"\nworkers = 1\n\
         control = {{ socket = \"{dir}/sock\", state = \"{dir}/state\" }}\n\
         [packets]\ninterfaces = [\"front\", \"eth0\"]\nmode = \"native\"\nflows = 65536\n\
         pin-path = \"{pins}/plane\"\nnat-source = [\"10.10.0.3\"]\n\
         [service.shop]\nlisten = \"198.51.100.10:80\"\nprotocol = \"udp\"\nforward = \"{forward}\"\n\
         pool = \"web\"\n[pool.web]\nservers = [\"10.10.0.11:80\"]\n",
        dir = dir.display(),
        pins = pins.display(),
    )
}
