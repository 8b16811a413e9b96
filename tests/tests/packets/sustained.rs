//! Source ports of `nat` are reused after the closing time, and no connection fails meanwhile.
//!
//! The long variant measures the sustained rate of connections when clients close first.

use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use lab::load::{ConnectionReuse, HttpPlan, LoadModel, LoadPlan, LoadProtocol, LoadRun};
use lab::net::SiteLayout;
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketType, bind, socket};
use tests::e2e::balancer::{figure, is_long};
use tests::e2e::packet_balancer::{IpVersion, PacketBalancer, ready};
use tests::e2e::packet_config::PacketConfig;
use tests::e2e::steady_traffic::stop_load;
use tests::e2e::wait;

/// The ports of a return address towards one server and port.
const PORTS: f64 = 64_510.0;
/// The closing time of the measurement, in seconds.
const FIN: u32 = 15;
/// The number of concurrent clients per server where only connections are measured. A client whose SYN is dropped
/// because no port is free waits a second for the retransmission.
const CLIENTS: usize = 512;
/// The number of client addresses. With fewer, a client port would often recur within the closing time, which by RFC
/// 6191 is the same flow and takes no new port.
const SOURCES: u8 = 200;

/// Connections without pauses, closed by the client. The kernel retransmits a dropped SYN.
fn relentless(plane: &PacketBalancer, connections: usize) -> LoadRun {
    let target = IpVersion::V4.service();
    let get = LoadProtocol::Http(HttpPlan::get("shop.example", "/"));
    let plan = LoadPlan {
        persist: ConnectionReuse::PerRequest,
        pace: LoadModel::Closed { connections, think: Duration::ZERO },
        timeout: wait::DEADLINE,
        grace: wait::DEADLINE,
        ..LoadPlan::new(target, get, connections)
    };
    plane.site.client.run_inside(|| LoadRun::start(plan)).unwrap().unwrap_or_else(|e| panic!("{e}"))
}

fn refused(plane: &PacketBalancer) -> u64 {
    let outcomes = plane.packets().outcomes;
    outcomes.iter().find(|one| one.name == "no-port").map_or(0, |one| one.count.total)
}

#[test]
fn ports_come_around_and_no_connection_fails() {
    if !ready() {
        return;
    }
    let words = PacketConfig { returns: 2, ..PacketConfig::new("nat", &[0]) };
    let words = words.packets("flows = 4096\n").service("fin-timeout = \"2s\"\n");
    let plane =
        PacketBalancer::open(&SiteLayout { local_servers: 1, ..SiteLayout::default() }, words);
    // More connections than ports: of 4,096 records, the two shares of a service and protocol have 1,024 at most.
    let load = relentless(&plane, 32);
    wait::until("more connections than there are ports", || load.report().answered >= 2_000);
    let report = stop_load(load);
    assert_eq!(report.failed, 0, "{:?}\n{}", report.failed_by_cause, plane.daemon_output());
    wait::until("it is counted", || refused(&plane) > 0);
}

/// With all available ports, and one or two servers: the throughput reaches the ports' limit or the machine's.
#[test]
fn the_rate_that_the_ports_allow_goes_on() {
    if !is_long() || !ready() {
        return;
    }
    for servers in [1, 2] {
        let numbers: Vec<usize> = (0..servers).collect();
        let words = PacketConfig { returns: 2, ..PacketConfig::new("nat", &numbers) };
        let words = words.packets("flows = 1048576\n");
        let words = words.service(&format!("fin-timeout = \"{FIN}s\"\n"));
        let layout = SiteLayout { local_servers: servers as u8, ..SiteLayout::default() };
        let plane = PacketBalancer::open(&layout, words);
        let stop = AtomicBool::new(false);
        let connects = ConnectCounts::default();
        thread::scope(|scope| {
            scope.spawn(|| connect(&plane, CLIENTS * servers, &stop, &connects));
            // A panic must not leave the clients running.
            let measured = scope.spawn(|| measure(&plane, &connects, servers)).join();
            stop.store(true, Ordering::Relaxed);
            measured.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        });
        assert_eq!(connects.failed.into_inner(), 0, "{}", plane.daemon_output());
    }
}

#[derive(Default)]
struct ConnectCounts {
    made: AtomicU64,
    failed: AtomicU64,
}

/// Connections without a request, which the client closes at once, so that nothing else costs time.
fn connect(plane: &PacketBalancer, clients: usize, stop: &AtomicBool, connects: &ConnectCounts) {
    let sources: Vec<Ipv4Addr> = (0..SOURCES).map(|n| Ipv4Addr::new(203, 0, 113, 20 + n)).collect();
    let lines = sources.iter().map(|source| format!("addr add {source}/24 dev eth0\n"));
    plane.site.client.ip(&lines.collect::<String>()).unwrap();
    let one = |source: Ipv4Addr| {
        while !stop.load(Ordering::Relaxed) {
            match connected(source) {
                Ok(_) => connects.made.fetch_add(1, Ordering::Relaxed),
                Err(_) => connects.failed.fetch_add(1, Ordering::Relaxed),
            };
        }
    };
    let all = || {
        thread::scope(|scope| {
            for source in sources.iter().cycle().take(clients) {
                scope.spawn(|| one(*source));
            }
        });
    };
    plane.site.client.run_inside(all).unwrap();
}

fn connected(source: Ipv4Addr) -> rustix::io::Result<OwnedFd> {
    let fd = socket(AddressFamily::INET, SocketType::STREAM, None)?;
    set_socket_timeout(&fd, Timeout::Send, Some(wait::DEADLINE))?;
    // The port is chosen at connect time, when the destination is known.
    lab::sys::choose_port_late(&fd)
        .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::INVAL))?;
    bind(&fd, &SocketAddr::from((source, 0)))?;
    rustix::net::connect(&fd, &IpVersion::V4.service())?;
    Ok(fd)
}

/// Measures once every port has been used. Refused ports show that the ports are the limit, not the machine.
fn measure(plane: &PacketBalancer, connects: &ConnectCounts, servers: usize) {
    passes(Duration::from_secs(25));
    let made = || connects.made.load(Ordering::Relaxed);
    let begun = Instant::now();
    let before = made();
    let refused_before = refused(plane);
    passes(Duration::from_secs(45));
    let rate = (made() - before) as f64 / begun.elapsed().as_secs_f64();
    let refused = refused(plane) - refused_before;
    let most = 2.0 * servers as f64 * PORTS / f64::from(FIN);
    let share = 100.0 * rate / most;
    figure(format!(
        "nat, two return addresses, {servers} servers, closing time {FIN} s, clients close first: {rate:.0} connections a \
         second go on, {share:.1} % of {most:.0}; packets refused for want of a port meanwhile: {refused}"
    ));
    assert!(refused == 0 || share >= 95.0, "the ports allow more: {share:.1} %");
}

/// Waits while the measurement runs.
fn passes(time: Duration) {
    let begun = Instant::now();
    while let Some(left) = time.checked_sub(begun.elapsed()) {
        std::thread::park_timeout(left);
    }
}
