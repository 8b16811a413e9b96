//! At least one row for each outcome: an exhaustive match, so that a new outcome needs a row.

use l4::abi::{self, GuardKey, GuardValue, Method, Outcome, Rule};

use super::errors::icmp;
use super::packet::{ACK, RST, SYN, TCP, TestPacket, UDP, URG, tcp, udp};
use super::usual::{ENDS, both, syn};
use super::world::{DROP, DatapathTestbed, PASS, TX, mapped};

/// Planes that reach several outcomes: loading one is slow.
struct OutcomePlanes {
    translating: DatapathTestbed,
    guarding: DatapathTestbed,
}

/// Sends a packet that reaches the outcome, in the IP family of `index`. `None` if the test may not load programs.
fn reach(planes: &OutcomePlanes, outcome: Outcome, index: u32) -> Option<()> {
    let at = index as usize;
    let (client, vip) = ENDS[at];
    // Each outcome has its own client port.
    let client = &client.replace(":4000", &format!(":{}", 4_000 + outcome as u32));
    match outcome {
        Outcome::Forwarded
        | Outcome::Returned
        | Outcome::Collocated
        | Outcome::ErrorForwarded
        | Outcome::ErrorReturned
        | Outcome::ErrorNotOurs => {
            through(&planes.translating, outcome, index, client, vip);
            Some(())
        }
        Outcome::NeighbourUnknown
        | Outcome::DriverRefuses
        | Outcome::NoPort
        | Outcome::TtlExpired
        | Outcome::TimeExceeded
        | Outcome::TooBig
        | Outcome::Oversize
        | Outcome::PrematureReuse
        | Outcome::TableFull
        | Outcome::ResetSent
        | Outcome::NoHeadroom => at_a_server(outcome, index, client, vip),
        Outcome::Denied
        | Outcome::Banned
        | Outcome::SynRate
        | Outcome::RstRate
        | Outcome::SourceSynRate
        | Outcome::SourceRstRate
        | Outcome::ConnectionCap
        | Outcome::SourceConnectionCap
        | Outcome::BandwidthCap
        | Outcome::SourceBandwidthCap
        | Outcome::HalfOpenLimit => {
            guarded(&planes.guarding, outcome, index, client, vip);
            Some(())
        }
        Outcome::NoServer
        | Outcome::RuleDropped
        | Outcome::NoFlow
        | Outcome::Proxied
        | Outcome::OptionRefused
        | Outcome::OptionMalformed
        | Outcome::ReservedBitsRefused
        | Outcome::UrgentRefused
        | Outcome::SynDataRefused => at_a_service(outcome, index, client, vip),
        Outcome::MssExceeded => super::segments::reach(at),
        Outcome::CookieSent | Outcome::CookieAnswered => super::cookies::reach(outcome, at),
        // Only IPv4 has packets that others may cut.
        Outcome::Fragmented if index == 0 => super::oversized::reach(),
        // The kernel refuses to shrink a packet only when it has fewer bytes than were just read from it.
        Outcome::Fragmented | Outcome::ResizeFailed => Some(()),
        Outcome::GateShut => super::gate::reach(at),
        Outcome::FragmentUnknown
        | Outcome::NotOurs
        | Outcome::NotIp
        | Outcome::TooShort
        | Outcome::BadHeader
        | Outcome::TooManyExtensions
        | Outcome::BadFragment
        | Outcome::NoConfiguration
        | Outcome::AnswerWithoutFlow => {
            nobodys(&planes.translating, outcome, index, client, vip);
            Some(())
        }
    }
}

/// Checks the result of a dropped packet, or of one for this host.
fn ends(world: &DatapathTestbed, outcome: Outcome, packet: &[u8], verdict: u32) {
    world.expect(outcome.name(), packet, outcome, verdict);
}

fn through(world: &DatapathTestbed, outcome: Outcome, index: u32, client: &str, vip: &str) {
    let packet = udp(client, vip);
    if outcome == Outcome::Collocated {
        world.server_flags(index, abi::SERVER_TAKES | abi::SERVER_SERVES | abi::SERVER_LOCAL);
        ends(world, outcome, &packet.bytes(), PASS);
        world.server_flags(index, abi::SERVER_TAKES | abi::SERVER_SERVES);
        return;
    }
    let router = ["198.51.100.1", "2001:db8:9::1"][index as usize];
    let kind = [3, 1][index as usize];
    if outcome == Outcome::ErrorNotOurs {
        let error = icmp(router, &packet.dst.to_string(), kind, 1, &udp(vip, client).ip());
        ends(world, outcome, &error.bytes(), PASS);
        return;
    }
    let out = world.forwarded("query", &packet);
    let seen = super::packet::read_ip(&out[14..]);
    let end = |address, port| std::net::SocketAddr::new(address, port).to_string();
    match outcome {
        Outcome::Returned => {
            let answer = udp(&end(seen.dst, seen.dport), &end(seen.src, seen.sport));
            ends(world, outcome, &answer.bytes(), TX);
        }
        Outcome::ErrorForwarded => {
            let error = icmp(router, &packet.dst.to_string(), kind, 1, &udp(vip, client).ip());
            ends(world, outcome, &error.bytes(), TX);
        }
        Outcome::ErrorReturned => {
            let error = icmp(router, &seen.src.to_string(), kind, 1, &out[14..]);
            ends(world, outcome, &error.bytes(), TX);
        }
        _ => {}
    }
}

fn at_a_server(outcome: Outcome, index: u32, client: &str, vip: &str) -> Option<()> {
    let method = if outcome == Outcome::NoHeadroom { Method::Tunnel } else { Method::Nat };
    let world = both(method)?;
    let packet = syn(client, vip, 1);
    match outcome {
        Outcome::NeighbourUnknown => {
            world.next_hop(index, 1, 0, abi::NEXT_HOP_UNKNOWN);
            ends(&world, outcome, &packet.bytes(), DROP);
        }
        Outcome::DriverRefuses => {
            world.refuses(1);
            ends(&world, outcome, &packet.bytes(), DROP);
            // Our ICMP error would leave there too.
            ends(&world, outcome, &TestPacket { ttl: 1, ..packet }.bytes(), DROP);
        }
        Outcome::NoPort => {
            world.share(index, &[super::usual::BACKS[index as usize]], 3_000, 1);
            world.forwarded("the only port", &packet);
            ends(&world, outcome, &syn(client, vip, 2).bytes(), DROP);
        }
        Outcome::TimeExceeded => {
            ends(&world, outcome, &TestPacket { ttl: 1, ..packet }.bytes(), TX);
        }
        Outcome::TtlExpired => {
            let old = TestPacket { ttl: 1, ..packet }.bytes();
            for _ in 0..abi::REPLIES_LIMIT {
                world.expect("told", &old, Outcome::TimeExceeded, TX);
            }
            ends(&world, outcome, &old, DROP);
        }
        Outcome::TooBig | Outcome::Oversize => too_large(&world, outcome, index, client, vip),
        Outcome::PrematureReuse => {
            world.forwarded("SYN", &packet);
            world.forwarded("ACK", &TestPacket { flags: ACK, seq: 1_999, ..packet.clone() });
            world.forwarded("RST", &TestPacket { flags: RST, seq: 2_000, ..packet.clone() });
            ends(&world, outcome, &TestPacket { seq: 500, ..packet }.bytes(), DROP);
        }
        Outcome::TableFull => {
            let mut config = world.plane.config.get(&0).unwrap().unwrap();
            config.forward_mask = 0;
            world.plane.config.set(&0, &config).unwrap();
            (1..=4).for_each(|port| drop(world.forwarded("fits", &syn(client, vip, port))));
            ends(&world, outcome, &syn(client, vip, 5).bytes(), DROP);
        }
        Outcome::ResetSent => {
            world.forwarded("SYN", &packet);
            world.server_flags(index, abi::SERVER_RESETS);
            ends(&world, outcome, &TestPacket { flags: ACK, ..packet }.bytes(), TX);
        }
        Outcome::NoHeadroom => {
            // The encapsulated packet matches the service again: each run encapsulates once more.
            let server = super::usual::SERVERS[index as usize];
            world.change_server(index, |one| {
                one.wrap = abi::Wrap::Gue as u8;
                one.wrap_port = 6080;
            });
            world.listen(server, 6080, UDP, index);
            let before = world.count(outcome);
            world.plane.program().unwrap().test_run(&udp(client, vip).bytes(), 0, 12).unwrap();
            assert!(world.count(outcome) > before);
        }
        _ => {}
    }
    Some(())
}

fn too_large(world: &DatapathTestbed, outcome: Outcome, index: u32, client: &str, vip: &str) {
    let native =
        abi::Interface { flags: abi::INTERFACE_NATIVE, mtu: 1500, ..abi::Interface::default() };
    let large = TestPacket { payload: vec![7; 1400], keep_whole: false, ..udp(client, vip) };
    world.plane.interfaces.set(&1, &native).unwrap();
    world.next_hop(index, 1, 1_400, abi::NEXT_HOP_OK);
    if outcome == Outcome::TooBig {
        ends(world, outcome, &large.bytes(), TX);
    } else if index == 0 {
        let first = TestPacket { payload: vec![7; 64], fragment: Some((0, true)), ..large.clone() };
        world.expect("first fragment", &first.bytes(), Outcome::Forwarded, TX);
        let later = TestPacket { fragment: Some((72, false)), ..large };
        ends(world, outcome, &later.bytes(), DROP);
    } else {
        for _ in 0..abi::REPLIES_LIMIT {
            world.expect("told", &large.bytes(), Outcome::TooBig, TX);
        }
        ends(world, outcome, &large.bytes(), DROP);
    }
}

fn guarded(world: &DatapathTestbed, outcome: Outcome, index: u32, client: &str, vip: &str) {
    world.service(index, Method::Mac);
    world.plane.gauges.set(&index, &abi::Gauge::default()).unwrap();
    let meter = match outcome {
        Outcome::SynRate | Outcome::SourceSynRate => abi::Meter::MeterSyn,
        Outcome::RstRate | Outcome::SourceRstRate => abi::Meter::MeterRst,
        Outcome::HalfOpenLimit => abi::Meter::MeterHalfOpen,
        _ => abi::Meter::MeterBytes,
    } as usize;
    world.change_service(index, |service| match outcome {
        Outcome::Denied | Outcome::Banned => service.flags = abi::SERVICE_GUARDS,
        Outcome::ConnectionCap => service.connections = 1,
        Outcome::SourceConnectionCap => service.source_connections = 1,
        Outcome::SourceSynRate | Outcome::SourceRstRate | Outcome::SourceBandwidthCap => {
            service.flags = abi::SERVICE_SOURCES;
            service.source_cost[meter] = 1 << 32;
        }
        _ => {
            service.cost[meter] = 1 << 32;
            service.half_open_limit = u32::from(outcome == Outcome::HalfOpenLimit);
        }
    });
    let reset = matches!(outcome, Outcome::RstRate | Outcome::SourceRstRate);
    let first = 100 * outcome as u16;
    let flags = if reset { RST } else { SYN };
    let packet = |number| TestPacket { flags, ..syn(client, vip, first + number) };
    let listed = match outcome {
        Outcome::Denied => Some((abi::Guard::GuardDeny, 0)),
        Outcome::Banned => Some((abi::Guard::GuardBan, (world.now >> abi::TICK_SHIFT) as u32 + 9)),
        _ => None,
    };
    if let Some((action, until)) = listed {
        let key = GuardKey { prefix: 160, scope: index, addr: mapped(packet(1).src) };
        let value = GuardValue { action: action as u32, until };
        world.plane.guards.set(&key, &value).unwrap();
    } else {
        world.forwarded("within the limit", &packet(1));
        if outcome == Outcome::HalfOpenLimit {
            world.forwarded("slowed down", &packet(2));
        }
    }
    ends(world, outcome, &packet(3).bytes(), DROP);
}

fn at_a_service(outcome: Outcome, index: u32, client: &str, vip: &str) -> Option<()> {
    let method = match outcome {
        Outcome::NoFlow => Method::Nat,
        Outcome::Proxied => Method::Host,
        _ => Method::Mac,
    };
    let world = both(method)?;
    let packet = syn(client, vip, 1);
    match outcome {
        Outcome::NoServer => {
            world.pool(index, &[]);
            ends(&world, outcome, &packet.bytes(), DROP);
        }
        Outcome::RuleDropped => {
            let rule = Rule {
                client_to: u16::MAX,
                port_to: u16::MAX,
                flags: abi::RULE_ON as u8,
                pool: abi::NONE,
                ..Rule::default()
            };
            world.plane.rules.set(&3, &rule).unwrap();
            world.change_service(index, |one| (one.rule_first, one.rule_count) = (3, 1));
            ends(&world, outcome, &packet.bytes(), DROP);
        }
        Outcome::ReservedBitsRefused | Outcome::UrgentRefused | Outcome::SynDataRefused => {
            let fields = [
                (Outcome::ReservedBitsRefused, abi::TcpField::ReservedBits),
                (Outcome::UrgentRefused, abi::TcpField::Urgent),
                (Outcome::SynDataRefused, abi::TcpField::SynData),
            ];
            let (_, field) = fields.into_iter().find(|(of, _)| *of == outcome)?;
            let policy = super::normalize::policy(&[(field, abi::TcpAction::TcpDrop)]);
            world.change_service(index, |one| one.normalize = policy);
            let set = TestPacket { reserved: 0x0e, flags: SYN | URG, ..packet };
            ends(&world, outcome, &set.bytes(), DROP);
        }
        Outcome::NoFlow => ends(&world, outcome, &tcp(client, vip, ACK).bytes(), DROP),
        Outcome::OptionRefused | Outcome::OptionMalformed => {
            let sack = [(abi::TcpField::Sack, abi::TcpAction::TcpDrop)];
            world.change_service(index, |one| one.normalize = super::normalize::policy(&sack));
            let size = if outcome == Outcome::OptionRefused { 2 } else { 9 };
            let with = TestPacket { tcp_options: vec![1, 1, 4, size], ..packet };
            ends(&world, outcome, &with.bytes(), DROP);
        }
        Outcome::Proxied => ends(&world, outcome, &packet.bytes(), PASS),
        _ => {}
    }
    Some(())
}

fn nobodys(world: &DatapathTestbed, outcome: Outcome, index: u32, client: &str, vip: &str) {
    let packet = udp(client, vip);
    let rest = TestPacket { fragment: Some((72, false)), payload: vec![2; 40], ..packet.clone() };
    let mut bytes = packet.bytes();
    match outcome {
        Outcome::FragmentUnknown => ends(world, outcome, &rest.bytes(), DROP),
        Outcome::NotOurs => {
            let other = udp(client, &vip.replace(":80", ":81"));
            ends(world, outcome, &other.bytes(), PASS);
        }
        Outcome::NotIp => {
            bytes[12..14].copy_from_slice(&[0x08, 0x06]);
            ends(world, outcome, &bytes, PASS);
        }
        Outcome::TooShort => ends(world, outcome, &bytes[..40], DROP),
        Outcome::BadHeader => {
            bytes[14] ^= 0xf0;
            ends(world, outcome, &bytes, DROP);
        }
        Outcome::TooManyExtensions => {
            let (client, vip) = ENDS[1];
            let many = TestPacket { extensions: vec![(60, vec![0; 8]); 9], ..udp(client, vip) };
            ends(world, outcome, &many.bytes(), PASS);
        }
        Outcome::BadFragment => {
            let (client, vip) = ENDS[0];
            let over = TestPacket { fragment: Some((8, false)), proto: TCP, ..udp(client, vip) };
            ends(world, outcome, &over.bytes(), DROP);
        }
        Outcome::NoConfiguration => {
            let address = packet.dst.to_string();
            world.listen(&address, 80, UDP, u32::MAX - 1);
            ends(world, outcome, &bytes, DROP);
            world.listen(&address, 80, UDP, index);
        }
        Outcome::AnswerWithoutFlow => {
            let end = |ip: &str| std::net::SocketAddr::new(super::world::ip(ip), 80).to_string();
            let from = super::usual::SERVERS;
            let to = super::usual::BACKS;
            let at = index as usize;
            let stray = udp(&end(from[at]), &end(to[at]).replace(":80", ":1030"));
            ends(world, outcome, &stray.bytes(), DROP);
        }
        _ => {}
    }
}

// Rows: I39, I40
#[test]
fn every_outcome_is_reached_over_ipv4() {
    reach_all(0);
}

#[test]
fn every_outcome_is_reached_over_ipv6() {
    reach_all(1);
}

/// Reaches every outcome with packets of one family, which has the index of its addresses.
fn reach_all(index: u32) {
    let (Some(translating), Some(guarding)) = (both(Method::Nat), both(Method::Mac)) else {
        return;
    };
    let planes = OutcomePlanes { translating, guarding };
    for outcome in Outcome::ALL {
        if reach(&planes, outcome, index).is_none() {
            return;
        }
    }
}
