//! The packet plane outlives its daemon: reloads, restarts, kills, stops and takeovers under load, without a lost
//! connection.
//!
//! `stop` removes the plane completely; `stop --detach` leaves it running.

use lab::load::{ConnectionReuse, LoadRun};
use lab::net::SiteLayout;
use tests::e2e::balancer::{figure, is_long};
use tests::e2e::packet_balancer::{IpVersion, PacketBalancer, ready};
use tests::e2e::packet_config::PacketConfig;
use tests::e2e::steady_traffic::stop_load;
use tests::e2e::wait;

fn goes_on(loads: &[LoadRun]) {
    let aims: Vec<u64> = loads.iter().map(|load| load.report().answered + 30).collect();
    wait::until("requests answered", || {
        loads.iter().zip(&aims).all(|(load, aim)| load.report().answered >= *aim)
    });
}

/// Clients do not notice reloads, restarts and takeovers of the daemon.
fn nobody_notices(forward: &'static str) {
    let layout = SiteLayout { local_servers: 2, ..SiteLayout::default() };
    let mut plane =
        PacketBalancer::open_without_daemon(&layout, PacketConfig::new(forward, &[0, 1]));
    plane.serve();
    plane.load_decapsulators();
    plane.start();
    plane.wait_until_all_up();
    let loads = [
        plane.load(IpVersion::V4, ConnectionReuse::KeepAlive, 8),
        plane.load(IpVersion::V4, ConnectionReuse::PerRequest, 2),
        plane.load(IpVersion::V6, ConnectionReuse::PerRequest, 2),
    ];
    goes_on(&loads);
    let rounds = if is_long() { 60 } else { 1 };
    for round in 0..rounds {
        for step in 0..3 {
            let time = 300 + 3 * round + step;
            plane.change(|words| words.service = format!("idle-timeout = \"{time}s\"\n"));
            goes_on(&loads);
        }
        plane.kill9();
        goes_on(&loads);
        plane.start();
        goes_on(&loads);
        plane.stop(&["--detach"]);
        assert!(runs_on_the_link(&plane), "the plane is left at work");
        goes_on(&loads);
        plane.start();
        plane.wait_until_all_up();
        goes_on(&loads);
        plane.take_over();
        goes_on(&loads);
        plane.wait_until_all_up();
        plane.change(|words| words.service = format!("idle-timeout = \"{}s\"\n", 290 - round));
        goes_on(&loads);
    }
    let answered: u64 = loads.iter().map(|load| load.report().answered).sum();
    for load in loads {
        let report = stop_load(load);
        assert_eq!(report.failed, 0, "{:?}\n{}", report.failed_by_cause, plane.daemon_output());
    }
    figure(format!(
        "{forward}: {} reloads, {rounds} kills, {rounds} detached stops and {rounds} take-overs under load, {answered} \
         requests, 0 failed",
        4 * rounds
    ));
    plane.stop(&[]);
    no_trace(&plane);
}

/// Checks that no pin and no program is left.
fn no_trace(plane: &PacketBalancer) {
    let left = |dir: &std::path::Path| match std::fs::read_dir(dir) {
        Ok(entries) => entries.flatten().map(|entry| entry.path()).collect::<Vec<_>>(),
        Err(_) => Vec::new(),
    };
    assert_eq!(left(&plane.pins().join("plane")), Vec::<std::path::PathBuf>::new());
    wait::until("no program on the link", || !runs_on_the_link(plane));
}

fn runs_on_the_link(plane: &PacketBalancer) -> bool {
    plane.site.balancer.ip("link show eth0\n").unwrap().contains("xdp")
}

#[test]
fn nobody_notices_what_happens_to_the_daemon_of_mac() {
    if ready() {
        nobody_notices("mac");
    }
}

#[test]
fn nobody_notices_what_happens_to_the_daemon_of_nat() {
    if ready() {
        nobody_notices("nat");
    }
}

#[test]
fn nobody_notices_what_happens_to_the_daemon_of_tunnel() {
    if ready() {
        nobody_notices("tunnel");
    }
}

/// The event `ready` is only sent once packets are forwarded.
#[test]
fn the_daemon_is_ready_when_packets_are_forwarded() {
    if !ready() {
        return;
    }
    let mut plane = PacketBalancer::open_without_daemon(
        &SiteLayout { local_servers: 1, ..SiteLayout::default() },
        PacketConfig::new("mac", &[0]),
    );
    plane.serve();
    plane.start();
    wait::until("ready is told", || plane.daemon_output().contains("info ready:"));
    let status = plane.status().packets.unwrap();
    assert!(status.problem.is_none(), "{status:?}");
    assert!(status.interfaces.iter().all(|one| one.mode.is_some()), "{status:?}");
    // The time-out is shorter than a SYN retransmission, so the first SYN must be answered.
    let connected = plane.site.client.run_inside(|| {
        let at = tests::e2e::packet_balancer::IpVersion::V4.service();
        std::net::TcpStream::connect_timeout(&at, std::time::Duration::from_millis(900)).is_ok()
    });
    assert!(connected.unwrap(), "{}", plane.daemon_output());
    let text = plane.run_verb(&["status"]);
    assert!(text.stdout.contains("PACKETS AT") && text.stdout.contains("native"), "{text:?}");
    wait::until("the report counts packets", || {
        let text = plane.run_verb(&["report"]).stdout;
        ["PACKETS", "forwarded", "unaccounted", "shop4"].iter().all(|word| text.contains(word))
    });
}
