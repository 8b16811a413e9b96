//! Rows of limits for each client: its connections, recounted by the sweep, and bans after an exceeded limit.

use l4::abi::{self, Meter, Method, Outcome, Service};
use l4::sweeper::TableSweeper;

use super::packet::{ACK, RST, TestPacket, udp};
use super::usual::{ENDS, both, syn};
use super::world::{DROP, DatapathTestbed, TX};

const SECOND: u64 = 1_000_000_000;
/// Other clients of both families.
const OTHERS: [&str; 2] = ["192.0.2.8:1", "[2001:db8:1::8]:1"];

/// The usual plane with the same limits for both services.
fn world(method: Method, change: impl Fn(&mut Service)) -> Option<DatapathTestbed> {
    let world = both(method)?;
    [0, 1].into_iter().for_each(|index| world.change_service(index, &change));
    Some(world)
}

fn tick(world: &DatapathTestbed) -> u32 {
    (world.now >> abi::TICK_SHIFT) as u32
}

#[test]
fn connections_of_a_client_come_and_go() {
    for method in [Method::Mac, Method::Tunnel, Method::Nat] {
        let Some(mut world) = world(method, |service| service.source_connections = 2) else {
            return;
        };
        let sweeper = TableSweeper::new(&world.plane).unwrap();
        for ((client, vip), other) in ENDS.into_iter().zip(OTHERS) {
            let text = format!("{} {client}", method.name());
            let sent =
                |world: &DatapathTestbed, packet: &TestPacket| world.forwarded(&text, packet);
            let refused = |world: &DatapathTestbed, port| {
                let packet = syn(client, vip, port).bytes();
                world.expect(&text, &packet, Outcome::SourceConnectionCap, DROP);
            };
            for port in [1, 2] {
                sent(&world, &syn(client, vip, port));
                sent(&world, &TestPacket { flags: ACK, ..syn(client, vip, port) });
            }
            refused(&world, 3);
            sent(&world, &syn(client, vip, 2));
            sent(&world, &syn(other, vip, 1));
            sweeper.count_connections(tick(&world));
            refused(&world, 3);
            // One connection is reset, and its closing time ends.
            sent(&world, &TestPacket { flags: RST, ..syn(client, vip, 1) });
            sweeper.count_connections(tick(&world));
            refused(&world, 3);
            for _ in 0..6 {
                world.pass_ticks(17);
                sweeper.count_connections(tick(&world));
            }
            sent(&world, &syn(client, vip, 3));
            refused(&world, 4);
            sweeper.count_connections(tick(&world));
            refused(&world, 4);
        }
    }
}

#[test]
fn a_client_is_counted_by_service_and_protocols_count_together() {
    let Some(world) = world(Method::Mac, |service| service.source_connections = 2) else { return };
    world.service(2, Method::Mac);
    world.change_service(2, |service| service.source_connections = 2);
    world.listen("203.0.113.11", 80, 6, 2);
    world.server(2, "10.0.0.2", 0);
    world.change_server(2, |server| server.service = 2);
    world.pool(2, &[2]);
    let (client, vip) = ENDS[0];
    world.forwarded("TCP", &syn(client, vip, 1));
    world.forwarded("UDP", &udp(client, vip));
    let more = syn(client, vip, 2).bytes();
    world.expect("a third", &more, Outcome::SourceConnectionCap, DROP);
    world.forwarded("elsewhere", &syn(client, "203.0.113.11:80", 1));
}

#[test]
fn addresses_of_one_network_of_ipv6_count_together_and_those_of_ipv4_do_not() {
    let limits = |service: &mut Service| {
        service.source_connections = 2;
        service.source_mask6 = 64;
    };
    let Some(world) = world(Method::Mac, limits) else { return };
    for ((client, vip), other) in ENDS.into_iter().zip(OTHERS) {
        world.forwarded(client, &syn(client, vip, 1));
        world.forwarded(client, &syn(client, vip, 2));
        let third = syn(other, vip, 1);
        if other.starts_with('[') {
            world.expect(other, &third.bytes(), Outcome::SourceConnectionCap, DROP);
        } else {
            world.forwarded(other, &third);
        }
    }
    let elsewhere = "[2001:db8:2::8]:1";
    world.forwarded(elsewhere, &syn(elsewhere, ENDS[1].1, 1));
}

#[test]
fn what_gave_way_to_another_counts_no_more() {
    let Some(world) = world(Method::Mac, |service| service.source_connections = 1) else { return };
    let sweeper = TableSweeper::new(&world.plane).unwrap();
    let (client, vip) = ENDS[0];
    world.forwarded("one", &syn(client, vip, 1));
    // The flow table is emptied under it.
    for at in 0..world.plane.flows.capacity() {
        world.plane.flows.set(&at, &abi::Bucket::default()).unwrap();
    }
    sweeper.count_connections(tick(&world));
    world.forwarded("another", &syn(client, vip, 2));
    sweeper.count_connections(tick(&world));
    let more = syn(client, vip, 3).bytes();
    world.expect("one is there", &more, Outcome::SourceConnectionCap, DROP);
}

#[test]
fn caps_rest_while_nobody_sweeps() {
    let limits = |service: &mut Service| {
        service.source_connections = 1;
        service.connections = 2;
    };
    let Some(world) = world(Method::Mac, limits) else { return };
    let (client, vip) = ENDS[0];
    world.forwarded("one", &syn(client, vip, 1));
    let capped = syn(client, vip, 2).bytes();
    world.expect("its own", &capped, Outcome::SourceConnectionCap, DROP);
    world.forwarded("another client", &syn(OTHERS[0], vip, 1));
    let third = syn("192.0.2.9:1", vip, 1).bytes();
    world.expect("all", &third, Outcome::ConnectionCap, DROP);
    let mut config = world.plane.config.get(&0).unwrap().unwrap();
    config.swept = tick(&world) - abi::SWEPT_TICKS;
    world.plane.config.set(&0, &config).unwrap();
    world.expect("nobody counts", &capped, Outcome::Forwarded, TX);
    world.expect("nobody counts", &third, Outcome::Forwarded, TX);
}

// Rows: Z09
#[test]
fn who_goes_above_a_limit_is_banned_for_a_time() {
    let rate = |meter: Meter| {
        move |service: &mut Service| {
            service.flags = abi::SERVICE_SOURCES | abi::SERVICE_BANS;
            service.ban = 40;
            service.source_cost[meter as usize] = SECOND;
            service.source_burst[meter as usize] = 0;
        }
    };
    let cap = |service: &mut Service| {
        service.flags = abi::SERVICE_BANS;
        service.ban = 40;
        service.source_connections = 1;
    };
    type Change = Box<dyn Fn(&mut Service)>;
    let rows: [(&str, Change, u8, Outcome); 4] = [
        ("SYN", Box::new(rate(Meter::MeterSyn)), 2, Outcome::SourceSynRate),
        ("RST", Box::new(rate(Meter::MeterRst)), RST, Outcome::SourceRstRate),
        ("bytes", Box::new(rate(Meter::MeterBytes)), 2, Outcome::SourceBandwidthCap),
        ("connections", Box::new(cap), 2, Outcome::SourceConnectionCap),
    ];
    for (text, change, flags, outcome) in rows {
        let Some(mut world) = world(Method::Mac, change) else { return };
        for ((client, vip), other) in ENDS.into_iter().zip(OTHERS) {
            let text = format!("{text} {client}");
            let large = if outcome == Outcome::SourceBandwidthCap { 1_400 } else { 5 };
            let packet = |client, port| TestPacket {
                flags,
                payload: vec![0; large],
                ..syn(client, vip, port)
            };
            world.forwarded(&text, &packet(client, 1));
            world.expect(&text, &packet(client, 2).bytes(), outcome, DROP);
            for banned in [packet(client, 3), TestPacket { flags: ACK, ..packet(client, 1) }] {
                world.expect(&text, &banned.bytes(), Outcome::Banned, DROP);
            }
            world.forwarded("another client", &packet(other, 1));
            world.pass_ticks(39);
            world.expect(&text, &udp(client, vip).bytes(), Outcome::Banned, DROP);
            world.pass_ticks(1);
            let known = TestPacket { flags: ACK, payload: Vec::new(), ..packet(client, 1) };
            world.forwarded("its time is over", &known);
        }
    }
}
