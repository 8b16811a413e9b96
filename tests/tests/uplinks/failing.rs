//! Failures of uplinks, routers and daemons, and their effects.

use std::time::{Duration, Instant};

use lab::net::SysctlSetting;
use rustix::process::Signal;
use tests::e2e::balancer::is_long;
use tests::e2e::wait;

use super::server::{ServerConnection, V4, V6, lines, serve, shares};
use super::topology::{BOTH, DUAL, UplinkTopology, own, own6};

/// Three consecutive probes, one every 100 ms, the last of which times out after 100 ms.
const LEFT: Duration = Duration::from_millis(600);
const PATIENCE: Duration = Duration::from_secs(5);

#[test]
fn a_router_that_forwards_nothing_is_left_and_returned_to() {
    let inside = "[uplinks]\ninside = \"lan0\"\n";
    let Some(world) = UplinkTopology::open(&format!("{inside}{BOTH}")) else { return };
    let to = serve(&world.server, V4.into());
    let mut old = lines(&world.host, to, 20);
    world.forwards(0, false);
    let began = Instant::now();
    world.until("one", "down");
    let took = began.elapsed();
    println!("proof: a router that forwards nothing is left after {} ms", took.as_millis());
    if is_long() {
        assert!(took < LEFT, "{took:?}");
    }
    assert_eq!(world.one("one", "ipv4").reason, "198.51.100.1 does not answer");
    for host in [&world.host, &world.inside] {
        for _ in 0..20 {
            let line =
                ServerConnection::to(host, to, PATIENCE).expect("the other uplink leads there");
            assert_eq!(line.from, own(2));
        }
    }
    world.wait_for_output(
        "uplink-down: uplink one (IPv4): 198.51.100.1 does not answer; 1 of 2 are up",
    );
    world.forwards(0, true);
    world.until("one", "up");
    world.wait_for_output("uplink-up: uplink one (IPv4)");
    for host in [&world.host, &world.inside] {
        wait::until("both are used again", || shares(&lines(host, to, 20)).len() == 2);
    }
    // Earlier connections still use their uplink.
    for line in &mut old {
        line.speak();
    }
}

#[test]
fn a_family_fails_alone_and_when_nothing_answers_all_are_used() {
    let Some(world) = UplinkTopology::open(DUAL) else { return };
    let v4 = serve(&world.server, V4.into());
    let v6 = serve(&world.server, V6.into());
    world.routers[0]
        .write_sysctls(&[SysctlSetting { path: "net/ipv6/conf/all/forwarding", value: "0" }])
        .unwrap();
    wait::until("IPv6 is down", || world.one("one", "ipv6").state == "down");
    assert_eq!(world.one("one", "ipv4").state, "up");
    assert!(lines(&world.host, v6, 20).iter().all(|line| line.from == own6(2)));
    wait::until("IPv4 uses both", || shares(&lines(&world.host, v4, 20)).len() == 2);
    // The probe targets are gone but the path works, so connections to another address succeed.
    world.server.ip("addr del 198.51.100.1/32 dev lo\n").unwrap();
    let other = serve(&world.server, [198, 51, 100, 2].into());
    for name in ["one", "two"] {
        world.until(name, "down");
    }
    world.wait_for_output("all that can send are used as if they were");
    wait::until("all are used", || shares(&lines(&world.host, other, 20)).len() == 2);
}

#[test]
fn an_interface_that_vanishes_is_an_event_and_no_crash() {
    let Some(world) = UplinkTopology::open(BOTH) else { return };
    let to = serve(&world.server, V4.into());
    world.host.ip("link del eth1\n").unwrap();
    world.until("one", "down");
    assert_eq!(world.one("one", "ipv4").reason, "there is no interface eth1");
    world.wait_for_output("uplink-down: uplink one (IPv4): there is no interface eth1");
    assert!(lines(&world.host, to, 20).iter().all(|line| line.from == own(2)));
    let router = &world.routers[0];
    let cable = format!(
        "link add eth1 type veth peer name near netns {}\nlink set eth1 up\n",
        router.name()
    );
    world.host.ip(&format!("{cable}addr add 10.61.1.10/24 dev eth1\n")).unwrap();
    router.ip("link set near up\naddr add 10.61.1.1/24 dev near\n").unwrap();
    world.until("one", "up");
    wait::until("both are used again", || shares(&lines(&world.host, to, 20)).len() == 2);
}

#[test]
fn connections_are_shared_without_a_daemon_and_a_stop_leaves_no_trace() {
    let Some(mut world) = UplinkTopology::new() else { return };
    // A rule and a route of another program, in the daemon's range.
    world.host.ip("rule add from 10.9.9.9 lookup 7801 priority 30002\n").unwrap();
    world.host.ip("route add 10.9.8.0/24 dev lo table 7801\n").unwrap();
    let before = world.traces();
    let uplinks = format!("[uplinks]\ninside = \"lan0\"\n{BOTH}");
    world.start(&uplinks);
    let to = serve(&world.server, V4.into());
    for name in ["one", "two"] {
        world.until(name, "up");
    }
    let mut all = lines(&world.host, to, 20);
    all.extend(lines(&world.inside, to, 20));
    world.end(Signal::KILL);
    for host in [&world.host, &world.inside] {
        wait::until("both are used", || shares(&lines(host, to, 20)).len() == 2);
    }
    // An uplink that sorts first by name does not change the table numbers of the others.
    let table = |world: &UplinkTopology, name: &str| world.one(name, "ipv4").table;
    world.start(&uplinks);
    let tables = [table(&world, "one"), table(&world, "two")];
    world.end(Signal::TERM);
    let third = "[uplink.none]\ninterface = \"eth9\"\nvia = \"10.99.0.1\"\nPROBE4\n";
    world.start(&format!("{uplinks}{third}"));
    assert_eq!([table(&world, "one"), table(&world, "two")], tables);
    assert_eq!(world.one("none", "ipv4").reason, "there is no interface eth9");
    for line in &mut all {
        line.speak();
    }
    assert_ne!(world.traces(), before);
    world.stop();
    assert_eq!(world.traces(), before);
    // The same happens when the uplinks are removed from the configuration.
    world.start(&uplinks);
    world.until("one", "up");
    world.apply("");
    wait::until("nothing is left", || world.traces() == before);
}

#[test]
fn rules_and_routes_that_another_program_removes_are_set_again() {
    let Some(world) = UplinkTopology::open(BOTH) else { return };
    let to = serve(&world.server, V4.into());
    let traces = || {
        let all = world.traces();
        let mut lines: Vec<String> = all.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let whole = traces();
    let both = || shares(&lines(&world.host, to, 20)).len() == 2;
    for gone in ["rule del priority 30004\nrule del priority 30002\n", "route flush table 7801\n"] {
        let told = world.daemon_output().matches("kernel-restored: ").count();
        world.host.ip(gone).unwrap();
        wait::until("it is told", || {
            world.daemon_output().matches("kernel-restored: ").count() > told
        });
        wait::until("all is there again", || traces() == whole);
    }
    wait::until("both are used", both);
    world.wait_for_output("rules or routes of uplinks were gone");
}
