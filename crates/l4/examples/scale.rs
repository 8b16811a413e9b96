//! Durations at scale: 1,000 services of 100 servers each are loaded, changed by one server, taken over by the next
//! process, and swept. Prints JSON; needs root; sends nothing.
//!
//! `cargo run --profile prove -p l4 --example scale`. Exit code 1: a limit of `bench/packets.md` is missed.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for the terminal")]

#[path = "../tests/plan/pictures.rs"]
#[allow(
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    reason = "the tests' own way to make pictures"
)]
mod pictures;

use std::collections::BTreeMap;
use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bpf::PinDirectory;
use bpf::pin_directory::mount_at;
use files::TemporaryDir;
use l4::next_hops::NextHopTable;
use l4::plan::{MapPlanner, ReclaimedServers};
use l4::sweeper::TableSweeper;
use l4::{PacketDatapath, TableSizes, apply};
use model::config::CheckedConfig;
use model::monotonic_time::MonotonicTime;

use self::pictures::{PlannerFixture, pool, service};

const SERVICES: usize = 1_000;
const SERVERS: usize = 100;
/// Changes of one server.
const CHANGES: usize = 40;
/// The limits for a change of one server, and for everything.
const CHANGE: Duration = Duration::from_millis(10);
const LOAD: Duration = Duration::from_secs(5);

fn main() -> ExitCode {
    let limits_met =
        [("mac", true), ("nat", false)].map(|(method, own)| match measure(method, own) {
            Ok(limits_met) => limits_met,
            Err(error) => {
                eprintln!("scale: {error}");
                false
            }
        });
    if limits_met.contains(&false) { ExitCode::from(1) } else { ExitCode::SUCCESS }
}

/// All services. `less`: one service has lost a server. `own`: each service has its own servers, otherwise all services
/// share the same servers.
fn config(method: &str, own: bool, less: bool) -> Result<CheckedConfig, Box<dyn Error>> {
    let mut text = String::from("[packets]\nreturn = [\"10.0.0.254\"]\n");
    for at in 0..SERVICES {
        let name = format!("s{at}");
        let count = if less && at == SERVICES / 2 { SERVERS - 1 } else { SERVERS };
        let servers: Vec<String> = (0..count)
            .map(|server| {
                let place = if own { at } else { 0 };
                format!("10.{}.{}.{}:80", 1 + place / 250, place % 250, 1 + server)
            })
            .collect();
        let servers: Vec<&str> = servers.iter().map(String::as_str).collect();
        let listen = format!("203.{}.{}.1:80", at / 250, at % 250);
        text += &service(&name, method, &listen, "");
        text += &pool(&name, &servers, "");
    }
    model::config::load(&text, "scale").map_err(|found| format!("{found:?}").into())
}

fn measure(method: &str, own: bool) -> Result<bool, Box<dyn Error>> {
    let place = ScaleBpfFs::new()?;
    let home = PinDirectory::open(&place.0.path().join("home"))?;
    let whole = config(method, own, false)?;
    let less = config(method, own, true)?;
    let sizes = TableSizes::from_config(&whole.config);
    let plane = PacketDatapath::open(&home, &sizes, false)?;
    let mut bench = PlannerFixture::with(MapPlanner::new(&apply::capacity(&plane)));
    let sources = |at: u32| (std::net::IpAddr::from(at.to_be_bytes()), [10, 0, 0, 4].into());
    // As many facts as there are servers, as the daemon has them.
    bench.facts.source_addresses =
        Arc::new((0..(SERVICES * SERVERS) as u32).map(sources).collect());
    let mut hops = NextHopTable::default();
    let load = change(&mut bench, &plane, &mut hops, &whole)?;
    let mut changes = Vec::new();
    for round in 0..CHANGES {
        let next = if round % 2 == 0 { &less } else { &whole };
        changes.push(change(&mut bench, &plane, &mut hops, next)?);
    }
    changes.sort_unstable();
    let adopt = adopt(&home, &sizes, &whole)?;
    let sweep = sweep(&mut bench, &plane)?;
    let read = read(&bench, &plane)?;
    let worst = changes[changes.len() - 1];
    let figures = [
        ("load_s", load.as_secs_f64()),
        ("change_median_ms", changes[changes.len() / 2].as_secs_f64() * 1e3),
        ("change_worst_ms", worst.as_secs_f64() * 1e3),
        ("take_over_s", adopt.as_secs_f64()),
        ("sweep_ms", sweep.as_secs_f64() * 1e3),
        ("read_ms", read.as_secs_f64() * 1e3),
        ("memory_MiB", sizes.memory_bytes() as f64 / f64::from(1 << 20)),
    ];
    let figures: Vec<String> =
        figures.iter().map(|(name, value)| format!("\"{name}\": {value:.2}")).collect();
    println!("{{\"method\": \"{method}\", {}}}", figures.join(", "));
    Ok(load <= LOAD && changes[changes.len() / 2] <= CHANGE)
}

/// Brings the maps and the next hops to a configuration, as the daemon does.
fn change(
    bench: &mut PlannerFixture,
    plane: &PacketDatapath,
    hops: &mut NextHopTable,
    to: &CheckedConfig,
) -> Result<Duration, Box<dyn Error>> {
    let snapshot = bench.picture(to);
    let start = Instant::now();
    let change = bench.planner.plan_change(&snapshot, &to.config.packets, &bench.facts);
    apply::apply(plane, &change.writes)?;
    if let Some(ways) = bench.planner.take_next_hops() {
        hops.set_servers(&ways, &BTreeMap::new());
    }
    let took = start.elapsed();
    // Ignored: the first tick's requests are for the new server, and the time of the change is measured without them.
    let _ = hops.tick(MonotonicTime::default());
    match change.obstacles.iter().next() {
        Some((name, why)) => Err(format!("{name}: {why}").into()),
        None => Ok(took),
    }
}

/// A second process finds everything in the maps.
fn adopt(
    home: &PinDirectory,
    sizes: &TableSizes,
    whole: &CheckedConfig,
) -> Result<Duration, Box<dyn Error>> {
    let plane = PacketDatapath::open(home, sizes, false)?;
    let mut bench = PlannerFixture::with(MapPlanner::new(&apply::capacity(&plane)));
    let snapshot = bench.picture(whole);
    let start = Instant::now();
    let found = apply::read_maps(&plane)?;
    bench.planner.recover(found);
    let change = bench.planner.plan_change(&snapshot, &whole.config.packets, &bench.facts);
    apply::apply(&plane, &change.writes)?;
    Ok(start.elapsed())
}

/// The work of each second: counting, gauges, and removed servers.
fn sweep(bench: &mut PlannerFixture, plane: &PacketDatapath) -> Result<Duration, Box<dyn Error>> {
    let sweeper = TableSweeper::new(plane)?;
    let services: Vec<u32> =
        (0..SERVICES).filter_map(|at| bench.planner.service_index(&format!("s{at}"))).collect();
    let start = Instant::now();
    let census = sweeper.count_connections(1);
    let owners = bench.planner.server_services();
    let arrivals = l4::sweeper::write_gauges(plane, &census, &owners, &services)?;
    let ReclaimedServers { change, released } = bench.planner.reclaim_drained(&census, &arrivals);
    sweeper.forget_sticky_clients(&released);
    apply::apply(plane, &change.writes)?;
    Ok(start.elapsed())
}

/// Reads all counters, as each second does.
fn read(bench: &PlannerFixture, plane: &PacketDatapath) -> Result<Duration, Box<dyn Error>> {
    let owners = bench.planner.server_services();
    let servers: Vec<u32> = owners.keys().copied().collect();
    let services: Vec<u32> = owners.values().copied().collect();
    let start = Instant::now();
    l4::counts::read_counters(plane, &services, &servers)?;
    Ok(start.elapsed())
}

/// A private BPF file system.
struct ScaleBpfFs(TemporaryDir);

impl ScaleBpfFs {
    fn new() -> Result<ScaleBpfFs, Box<dyn Error>> {
        let place = TemporaryDir::new("scale")?;
        mount_at(place.path())?;
        Ok(ScaleBpfFs(place))
    }
}

impl Drop for ScaleBpfFs {
    fn drop(&mut self) {
        let _ = rustix::mount::unmount(self.0.path(), rustix::mount::UnmountFlags::DETACH);
    }
}
