//! Rows of choosing: turns, Maglev as `model` makes it, sticky clients, rules, wildcards, and that flows stay.

use l4::abi::{self, Choose, Method, Outcome, Rule};

use model::load_balancing::maglev::{MaglevMember, build_table};

use super::packet::{ACK, FIN, SYN, TCP, TestPacket, UDP, tcp, udp};
use super::usual::{VIP4, VIP6};
use super::world::{DROP, DatapathTestbed, TX, ip, link, mapped};

pub fn world() -> Option<DatapathTestbed> {
    let world = DatapathTestbed::new()?;
    for (index, address) in [(0, "203.0.113.10"), (1, "2001:db8:2::10")] {
        world.service(index, Method::Mac);
        world.listen(address, 80, TCP, index);
        world.listen(address, 80, UDP, index);
    }
    for server in 0..8 {
        world.server(server, &format!("10.0.0.{}", server + 1), 0);
    }
    world.pool(0, &[0, 1, 2]);
    world.pool(1, &[3, 4, 5]);
    Some(world)
}

/// The server to which a packet is forwarded.
pub fn chosen(world: &DatapathTestbed, packet: &TestPacket) -> u32 {
    let out = world.expect("choice", &packet.bytes(), Outcome::Forwarded, TX);
    (0..64).find(|server| out[..6] == link(*server)).unwrap()
}

pub fn from(client: &str) -> TestPacket {
    tcp(client, if client.starts_with('[') { VIP6 } else { VIP4 }, SYN)
}

#[test]
fn turns_follow_the_schedule() {
    let Some(world) = world() else { return };
    world.pool(0, &[0, 1, 0, 2]);
    let turn = |n: u16| chosen(&world, &TestPacket { sport: n, ..from("192.0.2.7:1") });
    let got: Vec<u32> = (1..=8).map(turn).collect();
    assert_eq!(got, [0, 1, 0, 2, 0, 1, 0, 2]);
    world.server_flags(0, abi::SERVER_SERVES);
    let got: Vec<u32> = (11..=14).map(turn).collect();
    assert!(!got.contains(&0), "{got:?}");
    assert_eq!(turn(1), 0, "a drained server keeps its flows");
    for server in 0..3 {
        world.server_flags(server, 0);
    }
    let new = TestPacket { sport: 99, ..from("192.0.2.7:1") };
    world.expect("nobody", &new.bytes(), Outcome::NoServer, DROP);
}

#[test]
fn a_flow_stays_whatever_changes() {
    let Some(mut world) = world() else { return };
    let flows: Vec<TestPacket> =
        (1..=30).map(|n| TestPacket { sport: n, ..from("192.0.2.7:1") }).collect();
    let first: Vec<u32> = flows.iter().map(|flow| chosen(&world, flow)).collect();
    world.pool(0, &[2, 2, 2, 1]);
    for (flow, server) in flows.iter().zip(&first) {
        let ack = TestPacket { flags: ACK, ..flow.clone() };
        assert_eq!(chosen(&world, &ack), *server);
        assert_eq!(chosen(&world, flow), *server, "a SYN moves no living flow");
    }
    let gone = flows.iter().zip(&first).find(|(_, server)| **server == 0).unwrap().0;
    world.server_flags(0, 0);
    let ack = TestPacket { flags: ACK, ..gone.clone() };
    assert_ne!(chosen(&world, &ack), 0, "a server that is gone serves no flow");
    let fin = TestPacket { flags: FIN | ACK, ..flows[1].clone() };
    chosen(&world, &fin);
    world.pass_ticks(41);
    world.pool(0, &[2]);
    assert_eq!(chosen(&world, &flows[1]), 2, "a closed one chooses anew");
}

// Rows: Z02
#[test]
fn maglev_is_the_one_of_the_model() {
    let Some(world) = world() else { return };
    let member = |n: u16| MaglevMember { name: format!("server-{n}"), weight: n + 1 };
    let members: Vec<MaglevMember> = (0..3).map(member).collect();
    for (index, mask4, mask6) in [(0, 32, 128), (0, 24, 64), (1, 32, 128), (1, 24, 64)] {
        let table = build_table(&members, 251);
        let mut pool = world.pool(index, &table);
        pool.choose = Choose::Client as u32;
        pool.mask4 = mask4;
        pool.mask6 = mask6;
        world.plane.pools.set(&index, &pool).unwrap();
        for n in 1..40u16 {
            let client = if index == 0 {
                format!("192.0.{}.{n}:{n}", n % 3)
            } else {
                format!("[2001:db8:{}::{n}]:{n}", n % 3)
            };
            let packet = TestPacket { sport: 1000 + u16::from(mask4) * 50 + n, ..from(&client) };
            let bits = if index == 0 { mask4 } else { mask6 };
            let at = model::hash::hash_client(masked(packet.src, bits)) % 251;
            assert_eq!(chosen(&world, &packet), table[at as usize], "{client}/{bits}");
        }
    }
}

#[test]
fn published_vectors_hold_in_the_datapath_too() {
    let Some(world) = world() else { return };
    let vectors = include_str!("../../../model/tests/vectors/maglev.json");
    let vectors: serde_json::Value = serde_json::from_str(vectors).unwrap();
    let mut rows = 0;
    for table in vectors["tables"].as_array().unwrap() {
        let entries: Vec<u32> = serde_json::from_value(table["first"].clone()).unwrap();
        // Tables that the vectors hold whole.
        if entries.len() as u64 != table["size"].as_u64().unwrap() {
            continue;
        }
        for client in vectors["clients"].as_array().unwrap() {
            let address: std::net::IpAddr = client["address"].as_str().unwrap().parse().unwrap();
            if matches!(address, std::net::IpAddr::V6(v6) if v6.to_ipv4_mapped().is_some()) {
                continue;
            }
            let index = u32::from(address.is_ipv6());
            let mut pool = world.pool(index, &entries);
            pool.choose = Choose::Client as u32;
            world.plane.pools.set(&index, &pool).unwrap();
            let hash = u64::from_str_radix(client["hash"].as_str().unwrap(), 16).unwrap();
            let end = std::net::SocketAddr::new(address, 5_000 + rows).to_string();
            let server = entries[(hash % entries.len() as u64) as usize];
            assert_eq!(chosen(&world, &from(&end)), server, "{address} in {entries:?}");
            rows += 1;
        }
    }
    assert!(rows >= 8, "{rows} rows");
}

fn masked(address: std::net::IpAddr, bits: u8) -> std::net::IpAddr {
    match address {
        std::net::IpAddr::V4(v4) => (v4 & std::net::Ipv4Addr::from_bits(!0 << (32 - bits))).into(),
        std::net::IpAddr::V6(v6) => {
            (v6 & std::net::Ipv6Addr::from_bits(!0 << (128 - u32::from(bits)))).into()
        }
    }
}

// Rows: I25, Z02
#[test]
fn clients_stick_for_a_time_that_is_renewed() {
    let Some(mut world) = world() else { return };
    for index in [0, 1] {
        let servers = if index == 0 { [0, 1, 2] } else { [3, 4, 5] };
        let mut pool = world.pool(index, &servers);
        pool.sticky = 10;
        pool.sticky_mask4 = 24;
        pool.sticky_mask6 = 64;
        pool.sticky_scope = index + 1;
        world.plane.pools.set(&index, &pool).unwrap();
        for server in servers {
            world.change_server(server, |server| server.service = index);
        }
    }
    for (a, b, other) in [
        ("192.0.2.7:1", "192.0.2.99:5", "192.0.3.7:1"),
        ("[2001:db8:1::1]:1", "[2001:db8:1::2]:1", "[2001:db8:1:1::1]:1"),
    ] {
        let first = chosen(&world, &from(a));
        assert_eq!(chosen(&world, &from(b)), first, "{b}: the same network");
        assert_ne!(chosen(&world, &from(other)), first, "{other}: its turn");
        world.pass_ticks(9);
        assert_eq!(chosen(&world, &TestPacket { sport: 6, ..from(b) }), first);
        world.pass_ticks(9);
        assert_eq!(chosen(&world, &TestPacket { sport: 7, ..from(b) }), first, "renewed");
        world.server_flags(first, abi::SERVER_SERVES | abi::SERVER_KEEPS);
        assert_eq!(
            chosen(&world, &TestPacket { sport: 10, ..from(b) }),
            first,
            "it keeps its clients"
        );
        for new in 0..3 {
            let stranger = match a.starts_with('[') {
                true => format!("[2001:db8:9:{new}::1]:1"),
                false => format!("198.51.{new}.7:1"),
            };
            assert_ne!(chosen(&world, &from(&stranger)), first, "{stranger} is new");
        }
        world.server_flags(first, abi::SERVER_SERVES);
        let moved = chosen(&world, &TestPacket { sport: 8, ..from(b) });
        assert_ne!(moved, first, "its server takes nothing");
        assert_eq!(chosen(&world, &TestPacket { sport: 9, ..from(b) }), moved);
    }
}

/// A rule that everything fits.
fn rule(pool: u32) -> Rule {
    Rule {
        client_to: u16::MAX,
        port_to: u16::MAX,
        flags: abi::RULE_ON as u8,
        pool,
        ..Rule::default()
    }
}

// Rows: I20, I22
#[test]
fn the_first_rule_that_fits_decides() {
    let Some(mut world) = world() else { return };
    for pool in 2..6 {
        world.pool(pool, &[pool + 1]);
    }
    world.pool(6, &[]);
    let mut prefix = rule(2);
    prefix.client = mapped(ip("198.51.100.0"));
    prefix.client_mask = [0xff; 16];
    prefix.client_mask[15] = 0;
    let ports = Rule { client_from: 100, client_to: 200, ..rule(3) };
    let tos = Rule { tos: 0xb8, tos_mask: 0xfc, ..rule(4) };
    let rate = Rule { client_from: 300, client_to: 400, cost: 1 << 30, burst: 0, ..rule(5) };
    let off = Rule { flags: 0, ..rule(5) };
    let refuse = Rule { client_from: 500, client_to: 500, ..rule(abi::NONE) };
    let rules = [prefix, ports, rule(6), tos, rate, off, refuse];
    for (at, rule) in rules.iter().enumerate() {
        world.plane.rules.set(&(at as u32 + 40), rule).unwrap();
    }
    let mut service = world.plane.services.get(&0).unwrap().unwrap();
    service.rule_first = 40;
    service.rule_count = rules.len() as u32;
    world.plane.services.set(&0, &service).unwrap();
    assert_eq!(chosen(&world, &from("198.51.100.9:1")), 3, "client prefix");
    assert_eq!(chosen(&world, &from("192.0.2.1:150")), 4, "client port");
    let marked = TestPacket { tos: 0xb8, ..from("192.0.2.1:1") };
    assert_eq!(chosen(&world, &marked), 5, "TOS; the rule without servers did not count");
    assert_eq!(chosen(&world, &from("192.0.2.1:300")), 6, "within the rate");
    assert!(chosen(&world, &from("192.0.2.1:301")) < 3, "beyond it the service's own pool");
    world.pass_ns(1 << 30);
    assert_eq!(chosen(&world, &from("192.0.2.1:302")), 6, "a second later");
    let refused = from("192.0.2.1:500");
    world.expect("refused", &refused.bytes(), Outcome::RuleDropped, DROP);
}

#[test]
fn the_most_specific_service_wins() {
    let Some(world) = world() else { return };
    for service in 2..7 {
        world.service(service, Method::Mac);
        world.pool(service, &[service]);
        world.server(service, "10.0.0.9", 0);
    }
    world.flag(abi::CONFIG_ANY_PORT | abi::CONFIG_ANY_ADDRESS);
    let ranges = [(8000, 8010, 3), (8005, 9000, 4)];
    world.listen_ranges("203.0.113.10", 0, TCP, 2, &ranges);
    world.listen("0.0.0.0", 443, TCP, 5);
    world.listen("0.0.0.0", 0, UDP, 6);
    world.listen("::", 443, TCP, 5);
    let to = |address: &str| tcp("192.0.2.7:1", address, SYN);
    assert!(chosen(&world, &to(VIP4)) < 3, "address and port");
    let rows = [
        ("any port", to("203.0.113.10:81"), 2),
        ("a range", to("203.0.113.10:8005"), 3),
        ("the second range", to("203.0.113.10:8011"), 4),
        ("the address before the port", to("203.0.113.10:443"), 2),
        ("any address", to("198.51.100.77:443"), 5),
        ("any address, IPv6", tcp("[2001:db8::1]:1", "[2001:db8::2]:443", SYN), 5),
        ("anything", udp("192.0.2.7:1", "198.51.100.77:53"), 6),
    ];
    for (text, packet, server) in rows {
        assert_eq!(chosen(&world, &packet), server, "{text}");
    }
    let stray = to("198.51.100.77:80").bytes();
    world.expect("nothing", &stray, Outcome::NotOurs, super::world::PASS);
}

/// A connection that began elsewhere, or was removed here, gets the same server on every machine.
#[test]
fn what_began_elsewhere_is_chosen_by_its_ends() {
    let (Some(mut one), Some(mut other)) = (world(), world()) else { return };
    let mut had = std::collections::BTreeSet::new();
    for n in 1..=40u16 {
        let ack = TestPacket { flags: ACK, sport: n, ..from("192.0.2.7:1") };
        // Advances the round robin of the other plane.
        chosen(&other, &TestPacket { sport: 1_000 + n, ..from("192.0.2.7:1") });
        let server = chosen(&one, &ack);
        assert_eq!(chosen(&other, &ack), server, "port {n}");
        had.insert(server);
    }
    assert_eq!(had.len(), 3, "spread over all servers");
    let ack = TestPacket { flags: ACK, sport: 7, ..from("192.0.2.7:1") };
    let before = chosen(&one, &ack);
    one.pass_ticks(1_001);
    other.pass_ticks(1_001);
    assert_eq!(chosen(&one, &ack), before, "after it was forgotten");
}

// Rows: I31
/// A wildcard service such as `0.0.0.0:*`: packets to the host itself are excluded, except for ports named explicitly.
#[test]
fn a_service_of_every_address_leaves_the_hosts_own_alone() {
    let Some(world) = world() else { return };
    world.pool(0, &[0]);
    for (own, elsewhere) in [("192.0.2.1", "192.0.2.99"), ("2001:db8::1", "2001:db8::99")] {
        let v4 = own.contains('.');
        let service = u32::from(!v4);
        let any = if v4 { "0.0.0.0" } else { "::" };
        world.listen_ranges(any, 0, TCP, service, &[(1, 1_000, service)]);
        world.listen(any, 8080, TCP, service);
        world.flag(abi::CONFIG_ANY_PORT | abi::CONFIG_ANY_ADDRESS);
        let key = abi::Address { addr: mapped(ip(own)) };
        world.plane.addresses.set(&key, &abi::ADDRESS_OWN).unwrap();
        let client = if v4 { "192.0.2.7:1" } else { "[2001:db8:1::7]:1" };
        let syn = |address: &str, port: u16| {
            let to = std::net::SocketAddr::new(ip(address), port).to_string();
            tcp(client, &to, SYN)
        };
        for port in [22, 1_001, 40_000] {
            world.expect("elsewhere", &syn(elsewhere, port).bytes(), Outcome::Forwarded, TX);
            world.expect("our own", &syn(own, port).bytes(), Outcome::NotOurs, super::world::PASS);
        }
        world.expect("a port that is named", &syn(own, 8080).bytes(), Outcome::Forwarded, TX);
        let mut broadcast = syn(elsewhere, 67).bytes();
        broadcast[..6].copy_from_slice(&[255; 6]);
        world.expect("broadcast", &broadcast, Outcome::NotOurs, super::world::PASS);
        let first =
            TestPacket { fragment: Some((0, true)), id: 9, keep_whole: false, ..syn(own, 22) };
        let later =
            TestPacket { fragment: Some((72, false)), id: 9, keep_whole: false, ..syn(own, 22) };
        world.expect("first fragment", &first.bytes(), Outcome::NotOurs, super::world::PASS);
        world.expect("later one", &later.bytes(), Outcome::NotOurs, super::world::PASS);
    }
}
