//! The capacity of the tables: every port of a share, the sustained rate that closing times allow, and full tables.

use l4::TableSizes;
use l4::abi::{self, Method, Outcome};
use l4::sweeper::TableSweeper;

use super::packet::{ACK, FIN, RST, SYN, TCP, TestPacket, read_ip, tcp};
use super::world::{DROP, DatapathTestbed, TX};

const VIP4: &str = "203.0.113.10:80";

/// A nat service whose server has `backs` return addresses with every port.
fn world(backs: &[&str]) -> Option<DatapathTestbed> {
    let world = DatapathTestbed::sized(&TableSizes {
        flows: 64,
        records: backs.len() as u32 * 2 * abi::SHARE_PORTS,
        sticky: 64,
        fragments: 64,
        sources: 64,
        ..TableSizes::default()
    })?;
    world.service(0, Method::Nat);
    world.listen("203.0.113.10", 80, TCP, 0);
    world.server(0, "10.0.0.1", 8080);
    world.share(0, backs, 0, abi::SHARE_PORTS);
    world.pool(0, &[0]);
    Some(world)
}

/// The `n`th client's SYN, with checksums left as they are: the datapath does not look.
fn syn(bytes: &mut [u8], n: u32) {
    bytes[28..30].copy_from_slice(&((n >> 12) as u16).to_be_bytes());
    bytes[34..36].copy_from_slice(&((n & 0xfff) as u16 + 1).to_be_bytes());
}

// Rows: I07
#[test]
fn every_port_of_a_share_is_given_out() {
    let Some(world) = world(&["10.0.0.254"]) else { return };
    let mut packet = tcp("192.0.2.7:1", VIP4, SYN).bytes();
    let program = world.plane.program().unwrap();
    let mut given = 0;
    let mut seen = vec![false; 65536];
    while given < abi::SHARE_PORTS + 10 {
        syn(&mut packet, given);
        let trial = program.test_run(&packet, 0, 1).unwrap();
        if trial.return_code != TX {
            break;
        }
        let port = usize::from(u16::from_be_bytes([trial.packet[34], trial.packet[35]]));
        assert!(!seen[port], "port {port} given twice");
        seen[port] = true;
        given += 1;
    }
    assert!(given >= abi::SHARE_PORTS * 99 / 100, "{given} ports before the first refusal");
    assert_eq!(given, abi::SHARE_PORTS);
    assert_eq!(world.count(Outcome::NoPort), 1);
    assert!(!seen[1024] && seen[1025] && seen[65534] && !seen[65535]);
}

#[test]
fn ports_in_use_are_counted_by_share_until_their_closing_time_is_over() {
    let Some(mut world) = world(&["10.0.0.254", "10.0.0.253"]) else { return };
    let sweeper = TableSweeper::new(&world.plane).unwrap();
    let used = |world: &DatapathTestbed| {
        let connections = sweeper.count_connections((world.now >> abi::TICK_SHIFT) as u32);
        let mut used: Vec<u32> = connections.shares.into_values().collect();
        used.sort_unstable();
        used
    };
    assert!(used(&world).is_empty());
    let mut open = tcp("192.0.2.7:1", VIP4, SYN).bytes();
    let mut reset = tcp("192.0.2.7:1", VIP4, RST).bytes();
    let program = world.plane.program().unwrap();
    for n in 0..101 {
        syn(&mut open, n);
        assert_eq!(program.test_run(&open, 0, 1).unwrap().return_code, TX);
    }
    assert_eq!(used(&world), [50, 51], "in turns");
    for n in 0..101 {
        syn(&mut reset, n);
        assert_eq!(program.test_run(&reset, 0, 1).unwrap().return_code, TX);
    }
    assert_eq!(used(&world), [50, 51], "they rest");
    world.pass_ticks(1 << 10);
    assert!(used(&world).is_empty());
}

// Rows: I02
#[test]
fn closing_times_bound_the_rate_of_connections() {
    // fin-timeout 15 s, two return addresses, one server: 64,510 × 2 / 15 = 8,601.33 a second.
    let Some(mut world) = world(&["10.0.0.254", "10.0.0.253"]) else { return };
    let mut service = world.plane.services.get(&0).unwrap().unwrap();
    service.closing = ((15 * 1_000_000_000_u64) >> abi::TICK_SHIFT) as u32;
    world.plane.services.set(&0, &service).unwrap();
    let mut open = tcp("192.0.2.7:1", VIP4, SYN).bytes();
    let mut close = tcp("192.0.2.7:1", VIP4, RST).bytes();
    let steps = 18 * 16;
    let rate = 8601.33 * 0.95;
    let mut opened = 0u32;
    let mut refused = 0u32;
    for step in 1..=steps {
        world.pass_ns(1_000_000_000 / 16);
        let due = (rate * f64::from(step) / 16.0) as u32;
        let program = world.plane.program().unwrap();
        while opened + refused < due {
            syn(&mut open, opened + refused);
            syn(&mut close, opened + refused);
            if program.test_run(&open, 0, 1).unwrap().return_code == TX {
                assert_eq!(program.test_run(&close, 0, 1).unwrap().return_code, TX);
                opened += 1;
            } else {
                refused += 1;
            }
        }
    }
    assert_eq!(refused, 0, "of {opened} at 95 % of the bound, over 18 s");
}

// Rows: I07
/// A fortieth of the ports, and of the rate that they allow: both sides close, clients first.
#[test]
fn twice_the_servers_carry_twice_the_rate() {
    const PORTS: u32 = abi::SHARE_PORTS / 40;
    for servers in [1, 2] {
        let Some(mut world) = world(&["10.0.0.254"]) else { return };
        for server in 0..servers {
            world.server(server, ["10.0.0.1", "10.0.0.2"][server as usize], 8080);
            world.share(server, &["10.0.0.254", "10.0.0.253"], server * PORTS * 4, PORTS);
        }
        world.pool(0, &[0, 1][..servers as usize]);
        world.change_service(0, |service| {
            service.closing = ((15 * 1_000_000_000_u64) >> abi::TICK_SHIFT) as u32;
        });
        let bound = f64::from(servers * 2 * PORTS) / 15.0;
        assert_eq!(goes_on(&mut world, bound * 0.95), 0, "{servers} servers, 95 % of {bound:.1}");
        assert!(goes_on(&mut world, bound * 1.05) > 0, "{servers} servers, 105 % of {bound:.1}");
    }
}

/// Opens and closes connections at a rate for 18 s. Returns how many found no free port.
fn goes_on(world: &mut DatapathTestbed, rate: f64) -> u32 {
    let packet = |flags| tcp("192.0.2.7:1", VIP4, flags).bytes();
    let mut open = packet(SYN);
    let mut close = packet(FIN | ACK);
    let mut answer = packet(FIN | ACK);
    let mut done = 0;
    let mut refused = 0;
    for step in 1..=18 * 16 {
        world.pass_ns(1_000_000_000 / 16);
        let program = world.plane.program().unwrap();
        while f64::from(done) < rate * f64::from(step) / 16.0 {
            syn(&mut open, done);
            syn(&mut close, done);
            done += 1;
            let got = program.test_run(&open, 0, 1).unwrap();
            if got.return_code != TX {
                refused += 1;
                continue;
            }
            assert_eq!(program.test_run(&close, 0, 1).unwrap().return_code, TX);
            // The addresses and ports that the server received.
            answer[26..30].copy_from_slice(&got.packet[30..34]);
            answer[30..34].copy_from_slice(&got.packet[26..30]);
            answer[34..36].copy_from_slice(&got.packet[36..38]);
            answer[36..38].copy_from_slice(&got.packet[34..36]);
            assert_eq!(program.test_run(&answer, 0, 1).unwrap().return_code, TX);
        }
    }
    // Connections that are open now are closed long before the next rate.
    world.pass_ticks(200);
    refused
}

#[test]
fn as_many_connections_fit_as_there_are_records() {
    let Some(world) = world(&["10.0.0.254"]) else { return };
    // Half the buckets: twice as crowded as `Sizes` makes them.
    let mut config = world.plane.config.get(&0).unwrap().unwrap();
    config.forward_mask /= 2;
    world.plane.config.set(&0, &config).unwrap();
    let mut packet = tcp("192.0.2.7:1", VIP4, SYN).bytes();
    let program = world.plane.program().unwrap();
    for n in 0..abi::SHARE_PORTS {
        syn(&mut packet, n);
        program.test_run(&packet, 0, 1).unwrap();
    }
    // About one run in sixty fills both buckets of some key; with the sizes of `MapCapacity`, one in a hundred
    // thousand.
    let full = world.count(Outcome::TableFull);
    assert!(full <= 4, "{full}");
    assert_eq!(world.count(Outcome::Forwarded) + full, u64::from(abi::SHARE_PORTS));
}

#[test]
fn a_full_table_is_named() {
    let Some(world) = world(&["10.0.0.254"]) else { return };
    let mut config = world.plane.config.get(&0).unwrap().unwrap();
    config.forward_mask = 0;
    world.plane.config.set(&0, &config).unwrap();
    for n in 1..=4 {
        let packet = TestPacket { sport: n, ..tcp("192.0.2.7:1", VIP4, SYN) };
        world.expect("fits", &packet.bytes(), Outcome::Forwarded, TX);
    }
    let packet = TestPacket { sport: 5, ..tcp("192.0.2.7:1", VIP4, SYN) };
    world.expect("full", &packet.bytes(), Outcome::TableFull, DROP);
}

#[test]
fn direct_flows_give_way_to_new_ones() {
    let Some(world) = world(&["10.0.0.254"]) else { return };
    world.service(0, Method::Mac);
    for n in 0..400 {
        let packet = TestPacket { sport: n + 1, ..tcp("192.0.2.7:1", VIP4, SYN) };
        assert_eq!(world.send(&packet).0, TX);
    }
    let rows = world.plane.plane_counts.each_cpu(&0).unwrap();
    assert!(rows.iter().map(|row| row.evicted).sum::<u64>() >= 400 - 128, "counted");
}

#[test]
fn out_and_back_is_the_identity() {
    use proptest::prelude::*;
    use proptest::test_runner::{Config, TestRunner};
    let Some(world) = world(&["10.0.0.254"]) else { return };
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok());
    let mut runner = TestRunner::new(Config::with_cases(cases.unwrap_or(400)));
    let parts = (
        any::<[u8; 4]>(),
        1u16..,
        any::<u32>(),
        proptest::collection::vec(any::<u8>(), 0..200),
        2u8..,
        any::<u8>(),
        0usize..10,
    );
    runner
        .run(&parts, |(client, sport, seq, payload, ttl, tos, words)| {
            let client = [client[0] % 200 + 1, client[1], client[2], client[3]];
            let base = TestPacket {
                src: std::net::IpAddr::from(client),
                sport,
                seq,
                ttl,
                tos,
                payload,
                options: vec![1; words * 4],
                ..tcp("192.0.2.7:1", VIP4, SYN)
            };
            let (verdict, out) = world.send(&base);
            prop_assert_eq!(verdict, TX);
            let sent = read_ip(&out[14..]);
            let original = read_ip(&base.ip());
            prop_assert_eq!(&sent.transport[4..16], &original.transport[4..16]);
            prop_assert_eq!(&sent.transport[18..], &original.transport[18..]);
            let mirror = TestPacket {
                src: sent.dst,
                dst: sent.src,
                sport: sent.dport,
                dport: sent.sport,
                flags: SYN | ACK,
                ..base.clone()
            };
            let (verdict, out) = world.send(&mirror);
            prop_assert_eq!(verdict, TX);
            let want = TestPacket {
                src: base.dst,
                dst: base.src,
                sport: base.dport,
                dport: base.sport,
                ttl: base.ttl - 1,
                flags: SYN | ACK,
                ..base.clone()
            };
            prop_assert_eq!(&out[14..], &want.ip()[..], "but for the hop, what the server said");
            world.send(&TestPacket { flags: RST | ACK, ..base });
            Ok(())
        })
        .unwrap();
}
