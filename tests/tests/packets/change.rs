//! The network and the pool change while clients are served.
//!
//! Connections that can survive a change must not fail. Other connections must end soon.

use lab::load::{ConnectionReuse, LoadReport};
use lab::net::SiteLayout;
use model::snapshot::ServerState;
use tests::e2e::packet_balancer::{BOTH, IpVersion, PacketBalancer, ready};
use tests::e2e::packet_config::PacketConfig;
use tests::e2e::steady_traffic::stop_load;
use tests::e2e::wait;

fn opened(forward: &'static str) -> PacketBalancer {
    let layout = SiteLayout { local_servers: 2, ..SiteLayout::default() };
    let mut plane =
        PacketBalancer::open_without_daemon(&layout, PacketConfig::new(forward, &[0, 1]));
    plane.serve();
    plane.load_decapsulators();
    plane.start();
    plane.wait_until_all_up();
    plane
}

fn unharmed(report: &LoadReport, plane: &PacketBalancer) {
    assert!(report.answered > 0, "{report:?}");
    assert_eq!(report.failed, 0, "{:?}\n{}", report.failed_by_cause, plane.daemon_output());
}

/// Waits until each load has received `by` more responses.
fn goes_on(loads: &[&lab::load::LoadRun], by: u64) {
    let aims: Vec<u64> = loads.iter().map(|load| load.report().answered + by).collect();
    wait::until("requests answered", || {
        loads.iter().zip(&aims).all(|(load, aim)| load.report().answered >= *aim)
    });
}

fn a_dead_server_is_left_and_taken_back(plane: &mut PacketBalancer) {
    plane.end(0);
    wait::until("server0 is left", || {
        let pools = plane.status().pools;
        pools.iter().all(|pool| {
            pool.servers
                .iter()
                .any(|server| server.name == "server0" && server.state == ServerState::Down)
        })
    });
    for version in BOTH {
        wait::until("server1 alone answers", || {
            plane.curl_any(version, 8) == [("server1".to_owned(), 8)].into()
        });
    }
    plane.revive(0);
    plane.wait_until_all_up();
    BOTH.into_iter().for_each(|version| plane.wait_for_both_servers(version));
}

fn flows_of_a_removed_server_drain(plane: &mut PacketBalancer) {
    let kept = plane.load(IpVersion::V4, ConnectionReuse::KeepAlive, 8);
    goes_on(&[&kept], 20);
    plane.change(|words| words.servers = vec![1]);
    wait::until("server1 alone answers new connections", || {
        plane.curl(IpVersion::V4, 8) == [("server1".to_owned(), 8)].into()
    });
    goes_on(&[&kept], 200);
    unharmed(&stop_load(kept), plane);
    // After the server's return, new connections are balanced as before.
    plane.change(|words| words.servers = vec![0, 1]);
    plane.wait_until_all_up();
    plane.wait_for_both_servers(IpVersion::V4);
}

/// A server gets another link address, and its connections continue.
fn a_changed_link_address_is_followed(plane: &mut PacketBalancer) {
    let loads = [
        plane.load(IpVersion::V4, ConnectionReuse::KeepAlive, 4),
        plane.load(IpVersion::V6, ConnectionReuse::KeepAlive, 4),
        plane.load(IpVersion::V4, ConnectionReuse::PerRequest, 2),
    ];
    let all: Vec<&lab::load::LoadRun> = loads.iter().collect();
    goes_on(&all, 20);
    plane.site.servers[0].ip("link set eth0 address 02:00:5e:00:53:01\n").unwrap();
    goes_on(&all, 200);
    BOTH.into_iter().for_each(|version| plane.wait_for_both_servers(version));
    loads.into_iter().for_each(|load| unharmed(&stop_load(load), plane));
}

/// The links of the balancer and of a server go down and return.
fn a_link_may_go_down_and_come_back(plane: &mut PacketBalancer) {
    for port in ["balancer", "server1"] {
        let kept = plane.load(IpVersion::V4, ConnectionReuse::KeepAlive, 4);
        goes_on(&[&kept], 20);
        plane.site.set_carrier(port, false).unwrap();
        wait::until("the plane knows", || {
            let hops = plane.status().packets.map(|packets| packets.neighbours).unwrap_or_default();
            hops.iter().any(|hop| hop.state != "ok")
        });
        plane.site.set_carrier(port, true).unwrap();
        plane.wait_until_all_up();
        goes_on(&[&kept], 100);
        BOTH.into_iter().for_each(|version| plane.wait_for_both_servers(version));
        unharmed(&stop_load(kept), plane);
    }
}

fn all(forward: &'static str) {
    let mut plane = opened(forward);
    a_dead_server_is_left_and_taken_back(&mut plane);
    flows_of_a_removed_server_drain(&mut plane);
    a_changed_link_address_is_followed(&mut plane);
    a_link_may_go_down_and_come_back(&mut plane);
}

#[test]
fn servers_and_links_of_mac_come_and_go() {
    if ready() {
        all("mac");
    }
}

#[test]
fn servers_and_links_of_nat_come_and_go() {
    if ready() {
        all("nat");
    }
}

#[test]
fn servers_and_links_of_tunnel_come_and_go() {
    if ready() {
        all("tunnel");
    }
}
