//! Changing `forward` moves a service between the methods while clients are served. Every new connection reaches a
//! server.
//!
//! Open connections survive between `mac` and `tunnel`. With other methods they end, and the end is reported.

use std::time::Duration;

use lab::load::{
    ConnectionReuse, HttpPlan, LoadModel, LoadPlan, LoadProtocol, LoadReport, LoadRun,
};
use lab::net::SiteLayout;
use tests::e2e::balancer::figure;
use tests::e2e::packet_balancer::{IpVersion, PacketBalancer, ready};
use tests::e2e::packet_config::PacketConfig;
use tests::e2e::steady_traffic::stop_load;
use tests::e2e::wait;

/// Concurrent connections.
const CONNECTIONS: usize = 4;

/// The previous and the next method of each change.
const WAYS: [(&str, &str); 6] = [
    ("mac", "nat"),
    ("nat", "tunnel"),
    ("tunnel", "http"),
    ("http", "tcp"),
    ("tcp", "mac"),
    ("mac", "tcp"),
];

/// Clients with a short timeout for unanswered connections.
fn impatient(plane: &PacketBalancer, persist: ConnectionReuse) -> LoadRun {
    let target = IpVersion::V4.service();
    let get = LoadProtocol::Http(HttpPlan::get("shop.example", "/"));
    let plan = LoadPlan {
        persist,
        pace: LoadModel::Closed { connections: CONNECTIONS, think: Duration::from_millis(2) },
        timeout: Duration::from_secs(6),
        grace: wait::DEADLINE,
        ..LoadPlan::new(target, get, CONNECTIONS)
    };
    let load = plane.site.client.run_inside(|| LoadRun::start(plan)).unwrap();
    load.unwrap_or_else(|error| panic!("no load: {error}"))
}

fn goes_on(load: &LoadRun) {
    let aim = load.report().answered + 50;
    wait::until("requests answered", || load.report().answered >= aim);
}

/// Connections that were not established. A connection that is reset right after it was established counts as
/// `connect-failed`.
fn not_connected(report: &LoadReport) -> u64 {
    let causes = report.failed_by_cause.iter();
    let met = causes.filter(|(cause, _)| ["connect-refused", "connect-timeout"].contains(cause));
    met.map(|(_, count)| count).sum()
}

#[test]
fn a_service_moves_between_the_methods_and_every_new_connection_finds_a_server() {
    if !ready() {
        return;
    }
    let mut plane = PacketBalancer::open_without_daemon(
        &SiteLayout { local_servers: 2, ..SiteLayout::default() },
        PacketConfig::new("mac", &[0, 1]),
    );
    plane.serve();
    plane.load_decapsulators();
    plane.start();
    plane.wait_until_all_up();
    for (from, to) in WAYS {
        let kept = impatient(&plane, ConnectionReuse::KeepAlive);
        let fresh = impatient(&plane, ConnectionReuse::PerRequest);
        goes_on(&kept);
        goes_on(&fresh);
        plane.apply(|words| words.forward = to);
        plane.wait_until_all_up();
        goes_on(&fresh);
        // New clients are not affected by the previous method.
        let after = impatient(&plane, ConnectionReuse::PerRequest);
        goes_on(&after);
        let after = stop_load(after);
        assert_eq!(
            after.failed,
            0,
            "{from} to {to}: {:?}\n{}",
            after.failed_by_cause,
            plane.daemon_output()
        );
        let kept = stop_load(kept);
        let fresh = stop_load(fresh);
        let told =
            format!("{from} to {to}: {:?}\n{}", fresh.failed_by_cause, plane.daemon_output());
        assert_eq!(not_connected(&fresh), 0, "{told}");
        assert!(fresh.failed <= CONNECTIONS as u64, "{told}");
        figure(format!(
            "{from} to {to} under load: {} new connections, 0 not established, {} cut with their answer under way; \
             of {CONNECTIONS} kept ones {:?}",
            fresh.requests, fresh.failed, kept.failed_by_cause
        ));
    }
}

#[test]
fn connections_live_on_from_mac_to_tunnel_and_back() {
    if !ready() {
        return;
    }
    let mut plane = PacketBalancer::open_without_daemon(
        &SiteLayout { local_servers: 2, ..SiteLayout::default() },
        PacketConfig::new("mac", &[0, 1]),
    );
    plane.serve();
    plane.load_decapsulators();
    plane.start();
    plane.wait_until_all_up();
    let loads = [
        impatient(&plane, ConnectionReuse::KeepAlive),
        impatient(&plane, ConnectionReuse::PerRequest),
    ];
    for forward in ["tunnel", "mac"] {
        loads.iter().for_each(goes_on);
        plane.apply(|words| words.forward = forward);
        plane.wait_until_all_up();
        loads.iter().for_each(goes_on);
    }
    for report in loads.map(stop_load) {
        assert_eq!(report.failed, 0, "{:?}\n{}", report.failed_by_cause, plane.daemon_output());
    }
}
