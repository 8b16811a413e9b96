//! Servers that are ready, and each way in which they are not.

use std::net::IpAddr;

use super::*;

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn address(text: &str, prefix: u8) -> InterfaceIp {
    InterfaceIp { ip: ip(text), prefix, duplicate_suspected: false }
}

fn route(to: &str, prefix: u8, link: &str) -> RouteEntry {
    RouteEntry {
        to: ip(to),
        prefix,
        via: None,
        link: link.to_owned(),
        local: false,
        table: "main".to_owned(),
        advmss: None,
    }
}

/// A server that is ready for direct server return in both IP versions.
fn ready() -> PreflightSnapshot {
    let lo = InterfaceState {
        up: true,
        loopback: true,
        mtu: 65_536,
        addresses: vec![
            address("127.0.0.1", 8),
            address("198.51.100.10", 32),
            address("2001:db8:e::10", 128),
        ],
        ..InterfaceState::default()
    };
    let eth0 = InterfaceState {
        up: true,
        arp: true,
        mtu: 1500,
        addresses: vec![address("10.10.0.11", 24)],
        ..InterfaceState::default()
    };
    let via = |to, router| RouteEntry { via: Some(ip(router)), ..route(to, 0, "eth0") };
    PreflightSnapshot {
        interfaces: [("lo".to_owned(), lo), ("eth0".to_owned(), eth0)].into(),
        routes: vec![
            via("0.0.0.0", "10.10.0.1"),
            via("::", "2001:db8:a::1"),
            route("10.10.0.0", 24, "eth0"),
        ],
        all_settings: Ipv4Settings { arp_ignore: 1, arp_announce: 2, rp_filter: 0 },
        decapsulators: vec![],
    }
}

fn both() -> PreflightRequirements {
    PreflightRequirements {
        services: vec![ip("198.51.100.10"), ip("2001:db8:e::10")],
        tunnel: None,
        path_mtu: None,
    }
}

/// Wrong findings, and the commands that fix them.
fn wrong(
    snapshot: &PreflightSnapshot,
    wanted: &PreflightRequirements,
) -> Vec<(PreflightCheck, String)> {
    let findings =
        check_server(snapshot, wanted).into_iter().filter(|f| f.verdict == PreflightResult::Wrong);
    findings.map(|finding| (finding.check, finding.commands.join("; "))).collect()
}

#[test]
fn a_server_that_is_ready_has_nothing_wrong() {
    assert_eq!(wrong(&ready(), &both()), []);
    let checks = check_server(&ready(), &both()).len();
    assert_eq!(checks, 2 * 3 + 2 + 1, "each service's address and routes, silence, sources");
}

#[test]
fn the_address_must_be_where_nobody_asks_for_it() {
    let mut absent = ready();
    absent.interfaces.get_mut("lo").unwrap().addresses.truncate(1);
    let commands = [
        (PreflightCheck::ServiceAddress, "ip addr add 198.51.100.10/32 dev lo".to_owned()),
        (PreflightCheck::ServiceAddress, "ip addr add 2001:db8:e::10/128 dev lo nodad".to_owned()),
    ];
    assert_eq!(wrong(&absent, &both()), commands);

    let mut on_ethernet = absent.clone();
    let eth0 = on_ethernet.interfaces.get_mut("eth0").unwrap();
    eth0.addresses.extend([address("198.51.100.10", 24), address("2001:db8:e::10", 64)]);
    let moved = wrong(&on_ethernet, &both());
    let first = "ip addr del 198.51.100.10/24 dev eth0; ip addr add 198.51.100.10/32 dev lo";
    assert_eq!(moved[0], (PreflightCheck::ServiceAddress, first.to_owned()));
    assert_eq!(moved.len(), 2, "{moved:?}");

    let mut down = ready();
    down.interfaces.get_mut("lo").unwrap().up = false;
    assert_eq!(wrong(&down, &both())[0].1, "ip link set lo up");
    let mut doubted = ready();
    doubted.interfaces.get_mut("lo").unwrap().addresses[2].duplicate_suspected = true;
    let findings = wrong(&doubted, &both());
    assert!(findings.len() == 1 && findings[0].1.contains("nodad"), "{findings:?}");
}

// Rows: I47
#[test]
fn a_wide_alias_brings_routes_that_must_go_with_it() {
    let mut wide = ready();
    wide.interfaces.get_mut("lo").unwrap().addresses[1].prefix = 24;
    let local =
        RouteEntry { local: true, table: "local".to_owned(), ..route("198.51.100.0", 24, "lo") };
    wide.routes.push(local);
    let command = "ip addr del 198.51.100.10/24 dev lo; ip addr add 198.51.100.10/32 dev lo";
    assert_eq!(wrong(&wide, &both()), [(PreflightCheck::ExtraRoute, command.to_owned())]);

    let mut by_hand = ready();
    by_hand.routes.push(route("198.51.0.0", 16, "lo"));
    let command = "ip route del 198.51.0.0/16 dev lo table main";
    assert_eq!(wrong(&by_hand, &both()), [(PreflightCheck::ExtraRoute, command.to_owned())]);
    // A route by a real link is used only if the address is not assigned to the server.
    let mut ordinary = ready();
    ordinary.routes.push(route("198.51.100.0", 24, "eth0"));
    assert_eq!(wrong(&ordinary, &both()), []);
}

#[test]
fn clients_must_be_reachable() {
    let mut lost = ready();
    lost.routes.remove(1);
    assert_eq!(
        wrong(&lost, &both()),
        [(PreflightCheck::ReturnRoute, "ip route add ::/0 via ROUTER".to_owned())]
    );
}

#[test]
fn the_larger_of_both_settings_acts() {
    let wrong_checks = |all: Ipv4Settings, own: Ipv4Settings| {
        let mut snapshot = ready();
        snapshot.all_settings = all;
        snapshot.interfaces.get_mut("eth0").unwrap().settings = own;
        wrong(&snapshot, &both()).into_iter().map(|(check, _)| check).collect::<Vec<_>>()
    };
    let none = Ipv4Settings::default();
    let settings =
        |arp_ignore, arp_announce| Ipv4Settings { arp_ignore, arp_announce, rp_filter: 0 };
    assert_eq!(wrong_checks(none, none), [PreflightCheck::ArpIgnore, PreflightCheck::ArpAnnounce]);
    assert_eq!(wrong_checks(none, settings(1, 2)), []);
    assert_eq!(wrong_checks(settings(8, 2), none), []);
    assert_eq!(
        wrong_checks(settings(3, 1), none),
        [PreflightCheck::ArpIgnore, PreflightCheck::ArpAnnounce]
    );
    let only_v6 = PreflightRequirements { services: vec![ip("2001:db8:e::10")], ..both() };
    let mut talkative = ready();
    talkative.all_settings = none;
    assert_eq!(wrong(&talkative, &only_v6), [], "version 6 has no ARP");
}

#[test]
fn strict_sources_are_wrong_only_off_the_way_back() {
    let mut strict = ready();
    strict.all_settings.rp_filter = 1;
    assert_eq!(wrong(&strict, &both()), []);
    let second = InterfaceState {
        addresses: vec![address("10.40.0.2", 24)],
        ..strict.interfaces["eth0"].clone()
    };
    strict.interfaces.insert("eth1".to_owned(), second);
    let command = "sysctl -w net.ipv4.conf.eth1.rp_filter=2";
    assert_eq!(wrong(&strict, &both()), [(PreflightCheck::ReversePath, command.to_owned())]);
}

#[test]
fn a_tunnel_needs_unpacking_and_room() {
    let wanted = PreflightRequirements { tunnel: Some(Encapsulation::Gue), ..both() };
    let mut bare = ready();
    let expected = [
        (PreflightCheck::Decapsulation, "steelyard decap load --interface eth0 --from NETWORK"),
        (PreflightCheck::SegmentSize, "ip route change default via 10.10.0.1 dev eth0 advmss 1412"),
        (
            PreflightCheck::SegmentSize,
            "ip route change ::/0 via 2001:db8:a::1 dev eth0 advmss 1392",
        ),
    ];
    assert_eq!(wrong(&bare, &wanted), expected.map(|(check, command)| (check, command.to_owned())));
    bare.decapsulators.push(Decapsulator { link: None, takes: vec![Encapsulation::Gue] });
    bare.routes[0].advmss = Some(1412);
    bare.routes[1].advmss = Some(1392);
    assert_eq!(wrong(&bare, &wanted), []);
    let roomy = PreflightRequirements { path_mtu: Some(9000), ..wanted };
    bare.routes[0].advmss = None;
    assert_eq!(wrong(&bare, &roomy), [], "the path has more room than the link");
    let other = PreflightRequirements { tunnel: Some(Encapsulation::Ipip), ..both() };
    assert_eq!(wrong(&bare, &other)[0].0, PreflightCheck::Decapsulation);
}
