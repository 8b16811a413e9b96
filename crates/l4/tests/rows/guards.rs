//! Rows of guards: lists, bans, rates and caps, each with its own outcome.

use l4::abi::{self, GuardKey, GuardValue, Meter, Method, Outcome, Service};
use l4::events::EventReader;

use super::packet::{ACK, RST, SYN, TCP, TestPacket, UDP, tcp, udp};
use super::usual::{CLIENT4, VIP4};
use super::world::{DROP, DatapathTestbed, PASS, TX, ip, mapped};

const SECOND: u64 = 1_000_000_000;

fn world(change: impl Fn(&mut Service)) -> Option<DatapathTestbed> {
    let world = DatapathTestbed::new()?;
    let mut service = world.service(0, Method::Mac);
    change(&mut service);
    world.plane.services.set(&0, &service).unwrap();
    world.listen("203.0.113.10", 80, TCP, 0);
    world.listen("203.0.113.10", 80, UDP, 0);
    world.server(0, "10.0.0.1", 0);
    world.pool(0, &[0]);
    Some(world)
}

fn guard(world: &DatapathTestbed, scope: u32, prefix: &str, action: abi::Guard, until: u32) {
    let (address, bits) = prefix.split_once('/').unwrap();
    let family = if ip(address).is_ipv4() { 96 } else { 0 };
    let bits: u32 = bits.parse().unwrap();
    let key = GuardKey { prefix: 32 + family + bits, scope, addr: mapped(ip(address)) };
    let value = GuardValue { action: action as u32, until };
    world.plane.guards.set(&key, &value).unwrap();
}

/// The `n`th new connection.
fn syn(n: u16) -> TestPacket {
    TestPacket { sport: n, ..tcp(CLIENT4, VIP4, SYN) }
}

// Rows: Z09
#[test]
fn lists_and_bans() {
    let Some(mut world) = world(|service| service.flags = abi::SERVICE_GUARDS) else { return };
    let tick = (world.now >> abi::TICK_SHIFT) as u32;
    world.flag(abi::CONFIG_GUARDS);
    guard(&world, abi::SCOPE_ALL, "192.0.2.0/24", abi::Guard::GuardDeny, 0);
    guard(&world, abi::SCOPE_ALL, "192.0.2.128/25", abi::Guard::GuardAllow, 0);
    guard(&world, 0, "192.0.2.9/32", abi::Guard::GuardAllow, 0);
    guard(&world, 0, "198.51.100.0/24", abi::Guard::GuardBan, tick + 10);
    let from = |text: &str| tcp(text, VIP4, SYN).bytes();
    let good = (Outcome::Forwarded, TX);
    let bad = (Outcome::Denied, DROP);
    let rows = [
        ("denied for all", "192.0.2.7:1", bad),
        ("a longer prefix allows", "192.0.2.200:1", good),
        ("the service says otherwise", "192.0.2.9:1", good),
        ("banned", "198.51.100.1:1", (Outcome::Banned, DROP)),
        ("nobody names it", "203.0.113.200:1", good),
    ];
    for (text, client, (outcome, verdict)) in rows {
        world.expect(text, &from(client), outcome, verdict);
    }
    world.pass_ticks(10);
    world.expect("the ban ended", &from("198.51.100.1:1"), Outcome::Forwarded, TX);
    let mut service = world.plane.services.get(&0).unwrap().unwrap();
    service.flags |= abi::SERVICE_ALLOW_ONLY;
    world.plane.services.set(&0, &service).unwrap();
    world.expect("only those named", &from("203.0.113.200:1"), Outcome::Denied, DROP);
    world.expect("such as this one", &from("192.0.2.9:1"), Outcome::Forwarded, TX);
}

// Rows: Z09
#[test]
fn rates_refill_with_time() {
    let rate = |service: &mut Service, meter: Meter, source: bool| {
        let (cost, burst) = if source {
            service.flags |= abi::SERVICE_SOURCES;
            (&mut service.source_cost, &mut service.source_burst)
        } else {
            (&mut service.cost, &mut service.burst)
        };
        // Two a second, three at once.
        cost[meter as usize] = SECOND / 2;
        burst[meter as usize] = SECOND;
    };
    let rows = [
        ("SYN", Meter::MeterSyn, false, SYN, Outcome::SynRate),
        ("SYN of a client", Meter::MeterSyn, true, SYN, Outcome::SourceSynRate),
        ("RST", Meter::MeterRst, false, RST, Outcome::RstRate),
        ("RST of a client", Meter::MeterRst, true, RST, Outcome::SourceRstRate),
    ];
    for (text, meter, source, flags, outcome) in rows {
        let Some(mut world) = world(|service| rate(service, meter, source)) else { return };
        let packet = |n| TestPacket { flags, ..syn(n) }.bytes();
        for n in 1..=3 {
            world.expect(text, &packet(n), Outcome::Forwarded, TX);
        }
        world.expect(text, &packet(4), outcome, DROP);
        world.pass_ns(SECOND / 2);
        world.expect(text, &packet(4), Outcome::Forwarded, TX);
        world.expect(text, &packet(5), outcome, DROP);
        if source {
            let other = TestPacket { flags, ..tcp("192.0.2.8:1", VIP4, SYN) };
            world.expect("another client", &other.bytes(), Outcome::Forwarded, TX);
        }
    }
}

// Rows: C08
#[test]
fn bandwidth_counts_bytes() {
    for (source, outcome) in [(false, Outcome::BandwidthCap), (true, Outcome::SourceBandwidthCap)] {
        let limit = |service: &mut Service| {
            // 1 KiB a second, one second at once.
            let (cost, burst) = if source {
                service.flags |= abi::SERVICE_SOURCES;
                (&mut service.source_cost, &mut service.source_burst)
            } else {
                (&mut service.cost, &mut service.burst)
            };
            cost[Meter::MeterBytes as usize] = SECOND;
            burst[Meter::MeterBytes as usize] = SECOND;
        };
        let Some(mut world) = world(limit) else { return };
        let packet = TestPacket { payload: vec![0; 512 - 28], ..udp(CLIENT4, VIP4) }.bytes();
        for _ in 0..3 {
            world.expect("within", &packet, Outcome::Forwarded, TX);
        }
        world.expect("beyond", &packet, outcome, DROP);
        world.pass_ns(SECOND / 2);
        world.expect("half a second later", &packet, Outcome::Forwarded, TX);
    }
}

// Rows: C08
#[test]
fn caps_of_connections() {
    let Some(first) = world(|service| service.connections = 2) else { return };
    first.expect("one", &syn(1).bytes(), Outcome::Forwarded, TX);
    first.expect("two", &syn(2).bytes(), Outcome::Forwarded, TX);
    first.expect("three", &syn(3).bytes(), Outcome::ConnectionCap, DROP);
    let known = TestPacket { flags: ACK, ..syn(1) };
    first.expect("those that are go on", &known.bytes(), Outcome::Forwarded, TX);
    let swept = abi::Gauge { flows: 1, ..abi::Gauge::default() };
    first.plane.gauges.set(&0, &swept).unwrap();
    first.expect("one ended", &syn(3).bytes(), Outcome::Forwarded, TX);
    let cap = |service: &mut Service| {
        service.flags = abi::SERVICE_SOURCES;
        service.source_connections = 1;
    };
    let Some(second) = world(cap) else { return };
    second.expect("one", &syn(1).bytes(), Outcome::Forwarded, TX);
    second.expect("two", &syn(2).bytes(), Outcome::SourceConnectionCap, DROP);
    let other = tcp("192.0.2.8:1", VIP4, SYN);
    second.expect("another client", &other.bytes(), Outcome::Forwarded, TX);
}

// Rows: I30
#[test]
fn a_flood_of_half_open_connections() {
    let limit = |service: &mut Service| {
        service.half_open_limit = 3;
        service.half_open_alarm = 2;
        service.cost[Meter::MeterHalfOpen as usize] = SECOND;
    };
    let Some(world) = world(limit) else { return };
    let reader = EventReader::open(&world.plane).unwrap();
    for n in 1..=4 {
        world.expect("SYN", &syn(n).bytes(), Outcome::Forwarded, TX);
    }
    world.expect("too many", &syn(5).bytes(), Outcome::HalfOpenLimit, DROP);
    let gauge = world.plane.gauges.get(&0).unwrap().unwrap();
    assert_eq!((gauge.new_flows, gauge.new_half_open), (4, 4));
    assert_ne!(gauge.alarm_tick, 0, "the alarm was raised");
    let told = reader.take_events();
    // From half of the threshold on, which is one, and of the one that is refused.
    assert_eq!(told.iter().map(|one| one.ifindex).collect::<Vec<_>>(), [1, 2, 3, 4]);
    for one in &told {
        assert_eq!(
            (one.event, one.addr),
            (abi::Event::EventHalfOpen as u32, mapped(ip("192.0.2.7")))
        );
    }
    for n in 1..=3 {
        let ack = TestPacket { flags: ACK, ..syn(n) };
        world.expect("ACK", &ack.bytes(), Outcome::Forwarded, TX);
    }
    assert_eq!(world.plane.gauges.get(&0).unwrap().unwrap().new_half_open, 1);
    world.expect("room again", &syn(5).bytes(), Outcome::Forwarded, TX);
}

// Rows: I30
#[test]
fn samples_of_a_flood_are_bounded_and_none_counts_as_lost() {
    let Some(mut world) = world(|service| service.half_open_alarm = 2) else { return };
    let reader = EventReader::open(&world.plane).unwrap();
    for n in 1..=500 {
        world.expect("SYN", &syn(n).bytes(), Outcome::Forwarded, TX);
    }
    let told = reader.take_events().len();
    assert!((32..=64).contains(&told), "in one tick, or two: {told}");
    world.pass_ticks(1);
    world.expect("SYN", &syn(501).bytes(), Outcome::Forwarded, TX);
    assert_eq!(reader.take_events().len(), 1);
    let ack = TestPacket { flags: ACK, ..syn(502) };
    world.expect("no SYN", &ack.bytes(), Outcome::Forwarded, TX);
    assert!(reader.take_events().is_empty());
    let counts = world.plane.plane_counts.each_cpu(&0).unwrap();
    let lost: u64 = counts.iter().map(|count| count.events_lost).sum();
    assert_eq!(lost, 0);
}

#[test]
fn guards_hold_for_what_the_host_proxies() {
    let set = |service: &mut Service| {
        service.method = Method::Host as u32;
        service.flags = abi::SERVICE_GUARDS;
    };
    let Some(world) = world(set) else { return };
    guard(&world, 0, "192.0.2.0/24", abi::Guard::GuardDeny, 0);
    world.expect("denied", &syn(1).bytes(), Outcome::Denied, DROP);
    let other = tcp("198.51.100.1:1", VIP4, SYN).bytes();
    assert_eq!(world.expect("let in", &other, Outcome::Proxied, PASS), other);
}
