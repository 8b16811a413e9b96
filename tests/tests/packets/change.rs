//! The network and the pool change while clients are served.
//!
//! What survives must not fail at all; what cannot survive must be over soon.

use lab::load::{Persist, Report};
use lab::net::Layout;
use model::snapshot::ServerState;
use tests::e2e::plane::{BOTH, Plane, Version, ready};
use tests::e2e::steady::ended;
use tests::e2e::wait;
use tests::e2e::words::Words;

fn opened(forward: &'static str) -> Plane {
    let layout = Layout { near: 2, ..Layout::default() };
    let mut plane = Plane::silent(&layout, Words::new(forward, &[0, 1]));
    plane.serve();
    plane.unpack();
    plane.start();
    plane.all_up();
    plane
}

fn unharmed(report: &Report, plane: &Plane) {
    assert!(report.answered > 0, "{report:?}");
    assert_eq!(report.failed, 0, "{:?}\n{}", report.failed_by_cause, plane.told());
}

/// Waits until each kind of load has got so much further.
fn goes_on(loads: &[&lab::load::Load], by: u64) {
    let aims: Vec<u64> = loads.iter().map(|load| load.report().answered + by).collect();
    wait::until("requests answered", || {
        loads.iter().zip(&aims).all(|(load, aim)| load.report().answered >= *aim)
    });
}

fn a_dead_server_is_left_and_taken_back(plane: &mut Plane) {
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
    plane.all_up();
    BOTH.into_iter().for_each(|version| plane.both_answer(version));
}

fn flows_of_a_removed_server_drain(plane: &mut Plane) {
    let kept = plane.load(Version::V4, Persist::KeepAlive, 8);
    goes_on(&[&kept], 20);
    plane.change(|words| words.servers = vec![1]);
    wait::until("server1 alone answers new connections", || {
        plane.curl(Version::V4, 8) == [("server1".to_owned(), 8)].into()
    });
    goes_on(&[&kept], 200);
    unharmed(&ended(kept), plane);
    // The next connection after its return is as good as the first.
    plane.change(|words| words.servers = vec![0, 1]);
    plane.all_up();
    plane.both_answer(Version::V4);
}

/// A server gets another link address; connections follow.
fn a_changed_link_address_is_followed(plane: &mut Plane) {
    let loads = [
        plane.load(Version::V4, Persist::KeepAlive, 4),
        plane.load(Version::V6, Persist::KeepAlive, 4),
        plane.load(Version::V4, Persist::PerRequest, 2),
    ];
    let all: Vec<&lab::load::Load> = loads.iter().collect();
    goes_on(&all, 20);
    plane.site.servers[0].ip("link set eth0 address 02:00:5e:00:53:01\n").unwrap();
    goes_on(&all, 200);
    BOTH.into_iter().for_each(|version| plane.both_answer(version));
    loads.into_iter().for_each(|load| unharmed(&ended(load), plane));
}

/// The balancer's link and a server's go down and come back.
fn a_link_may_go_down_and_come_back(plane: &mut Plane) {
    for port in ["balancer", "server1"] {
        let kept = plane.load(Version::V4, Persist::KeepAlive, 4);
        goes_on(&[&kept], 20);
        plane.site.plug(port, false).unwrap();
        wait::until("the plane knows", || {
            let hops = plane.status().packets.map(|packets| packets.neighbours).unwrap_or_default();
            hops.iter().any(|hop| hop.state != "ok")
        });
        plane.site.plug(port, true).unwrap();
        plane.all_up();
        goes_on(&[&kept], 100);
        BOTH.into_iter().for_each(|version| plane.both_answer(version));
        unharmed(&ended(kept), plane);
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
