//! Rows of SYN cookies: the reply to a SYN during a flood, and which ACK opens a connection. `shifted` tests the
//! packets after that.

use l4::abi::{self, Interface, Method, Outcome};

use super::packet::{ACK, FIN, RST, ReceivedPacket, SYN, THEIRS, TestPacket, read_ip, tcp};
use super::usual::{ENDS, both};
use super::world::{DROP, DatapathTestbed, TX};

/// Half-open connections from which on cookies are given.
const LIMIT: u32 = 2;
/// The client's first number, and the server's.
pub const ISN: u32 = 1000;
pub const SERVERS: u32 = 0xffff_fff0;

/// `nat` of both families in a flood.
pub fn flooded() -> Option<DatapathTestbed> {
    let world = both(Method::Nat)?;
    for index in [0, 1] {
        world.change_service(index, |service| {
            service.flags |= abi::SERVICE_COOKIES;
            service.half_open_limit = LIMIT;
        });
        let gauge = abi::Gauge { half_open: LIMIT, ..abi::Gauge::default() };
        world.plane.gauges.set(&index, &gauge).unwrap();
    }
    let native = Interface { flags: abi::INTERFACE_NATIVE, mtu: 1500, ..Interface::default() };
    world.plane.interfaces.set(&1, &native).unwrap();
    Some(world)
}

fn number(seen: &ReceivedPacket, at: usize) -> u32 {
    u32::from_be_bytes(seen.transport[at..at + 4].try_into().unwrap())
}

pub fn seq(seen: &ReceivedPacket) -> u32 {
    number(seen, 4)
}

pub fn ack(seen: &ReceivedPacket) -> u32 {
    number(seen, 8)
}

pub fn flags(seen: &ReceivedPacket) -> u8 {
    seen.transport[13]
}

pub fn window(seen: &ReceivedPacket) -> u16 {
    u16::from_be_bytes([seen.transport[14], seen.transport[15]])
}

/// The MSS option, which is the only one.
pub fn mss(seen: &ReceivedPacket) -> u16 {
    assert_eq!((seen.transport[12] >> 4, seen.transport.len()), (6, 24), "one option, no data");
    assert_eq!(seen.transport[20..22], [2, 4]);
    u16::from_be_bytes([seen.transport[22], seen.transport[23]])
}

pub fn bare(client: &str, vip: &str, flags: u8) -> TestPacket {
    TestPacket { seq: ISN, ack: 0, payload: Vec::new(), ..tcp(client, vip, flags) }
}

/// A SYN gets a cookie, which is given back.
pub fn cookie(world: &DatapathTestbed, syn: &TestPacket) -> u32 {
    let frame = world.expect("SYN", &syn.bytes(), Outcome::CookieSent, TX);
    seq(&read_ip(&frame[14..]))
}

/// The ACK that brings a cookie back.
pub fn bringing(syn: &TestPacket, cookie: u32) -> TestPacket {
    TestPacket {
        flags: ACK,
        seq: syn.seq.wrapping_add(1),
        ack: cookie.wrapping_add(1),
        tcp_options: Vec::new(),
        ..syn.clone()
    }
}

pub fn to_server(world: &DatapathTestbed, text: &str, packet: &TestPacket) -> ReceivedPacket {
    read_ip(&world.forwarded(text, packet)[14..])
}

pub fn to_client(world: &DatapathTestbed, text: &str, packet: &TestPacket) -> ReceivedPacket {
    read_ip(&world.expect(text, &packet.bytes(), Outcome::Returned, TX)[14..])
}

/// The server's answer to a packet.
pub fn answer(seen: &ReceivedPacket, flags: u8, seq: u32) -> TestPacket {
    let end = |address, port| std::net::SocketAddr::new(address, port).to_string();
    let from = end(seen.dst, seen.dport);
    let to = end(seen.src, seen.sport);
    let ack = self::seq(seen).wrapping_add(1);
    TestPacket { seq, ack, payload: Vec::new(), ..tcp(&from, &to, flags) }
}

/// A connection that began with a cookie: the cookie, its ACK, and the SYN that the server got.
pub fn opened(
    world: &DatapathTestbed,
    (client, vip): (&str, &str),
) -> (u32, TestPacket, ReceivedPacket) {
    let syn = bare(client, vip, SYN);
    let cookie = cookie(world, &syn);
    let first = bringing(&syn, cookie);
    let seen = to_server(world, "the cookie comes back", &first);
    to_client(world, "the server answers", &answer(&seen, SYN | ACK, SERVERS));
    (cookie, first, seen)
}

/// Leads a packet of a family to an outcome of cookies.
pub fn reach(outcome: Outcome, family: usize) -> Option<()> {
    let world = flooded()?;
    if outcome == Outcome::CookieSent {
        cookie(&world, &bare(ENDS[family].0, ENDS[family].1, SYN));
        return Some(());
    }
    let (_, _, seen) = opened(&world, ENDS[family]);
    world.expect("again", &answer(&seen, SYN | ACK, SERVERS).bytes(), outcome, TX);
    Some(())
}

#[test]
fn a_flood_is_answered_without_a_record() {
    let Some(world) = flooded() else { return };
    for (at, (client, vip)) in ENDS.into_iter().enumerate() {
        let syn = TestPacket { payload: b"early".to_vec(), ..bare(client, vip, SYN) };
        for options in [vec![], vec![2, 4, 5, 180, 4, 2, 1, 1], vec![1, 3, 3, 7]] {
            let syn = TestPacket { tcp_options: options, ..syn.clone() };
            let frame = world.expect(vip, &syn.bytes(), Outcome::CookieSent, TX);
            assert_eq!((&frame[..6], &frame[6..12]), (&THEIRS[..], &syn.to[..]), "{vip}");
            let seen = read_ip(&frame[14..]);
            let ends = (seen.src, seen.sport, seen.dst, seen.dport);
            assert_eq!(ends, (syn.dst, syn.dport, syn.src, syn.sport), "{vip}");
            assert_eq!((flags(&seen), ack(&seen), seen.ttl), (SYN | ACK, ISN + 1, 64), "{vip}");
            assert_eq!(window(&seen), 0, "{vip}: the client waits with its data");
            assert_eq!(mss(&seen), [1460, 1440][at], "{vip}: what the link takes");
            let gauge = world.plane.gauges.get(&(at as u32)).unwrap().unwrap();
            assert_eq!((gauge.new_flows, gauge.new_half_open), (0, 0), "{vip}: no record");
        }
        world.change_service(at as u32, |service| service.mss = 1200);
        let frame = world.expect(vip, &syn.bytes(), Outcome::CookieSent, TX);
        assert_eq!(mss(&read_ip(&frame[14..])), 1200, "{vip}: what the service says");
    }
}

/// Tags, options of IP and extension headers: the first stay, the others are not sent back.
#[test]
fn a_cookie_goes_back_through_the_same_network() {
    let Some(world) = flooded() else { return };
    for (sport, tags) in [(1, vec![(0x8100, 5)]), (2, vec![(0x88a8, 5), (0x8100, 6)])] {
        for (client, vip) in ENDS {
            let options = vec![1; if client == ENDS[0].0 { 12 } else { 0 }];
            let extensions = vec![(60, vec![0; 8])];
            let syn = TestPacket { sport, ..bare(client, vip, SYN) };
            let syn = TestPacket { tags: tags.clone(), options, extensions, ..syn };
            let frame = world.expect(vip, &syn.bytes(), Outcome::CookieSent, TX);
            let l3 = 14 + tags.len() * 4;
            assert_eq!(frame[12..l3], syn.bytes()[12..l3], "{vip}: tags");
            let answer = read_ip(&frame[l3..]);
            assert_eq!((flags(&answer), answer.transport.len()), (SYN | ACK, 24), "{vip}");
            let first = TestPacket { tags: tags.clone(), ..bringing(&syn, seq(&answer)) };
            let out = world.forwarded(vip, &first);
            let head = out.len() - 24;
            assert_eq!((out[head + 13], out[12..l3].to_vec()), (SYN, syn.bytes()[12..l3].to_vec()));
        }
    }
}

#[test]
fn below_the_threshold_no_client_gets_a_cookie() {
    let Some(mut world) = flooded() else { return };
    for (at, (client, vip)) in (0..).zip(ENDS) {
        let few = abi::Gauge { half_open: LIMIT - 1, ..abi::Gauge::default() };
        world.plane.gauges.set(&at, &few).unwrap();
        world.forwarded(vip, &bare(client, vip, SYN));
        let second = TestPacket { sport: 5, ..bare(client, vip, SYN) };
        world.expect(vip, &second.bytes(), Outcome::CookieSent, TX);
        world.forwarded("one that is known asks again", &bare(client, vip, SYN));
    }
    // No sweep runs: the half-open connections may have ended long ago.
    world.now += u64::from(abi::SWEPT_TICKS) << abi::TICK_SHIFT;
    let mut config = world.plane.config.get(&0).unwrap().unwrap();
    config.clock_ns = world.now;
    world.plane.config.set(&0, &config).unwrap();
    for (client, vip) in ENDS {
        world.forwarded(vip, &TestPacket { sport: 6, ..bare(client, vip, SYN) });
    }
}

#[test]
fn only_a_cookie_that_was_given_opens() {
    let Some(mut world) = flooded() else { return };
    for (client, vip) in ENDS {
        let syn = bare(client, vip, SYN);
        let early = bringing(&syn, 77).bytes();
        world.expect("none was given yet", &early, Outcome::NoFlow, DROP);
        let cookie = cookie(&world, &syn);
        let good = bringing(&syn, cookie);
        let rows = [
            ("forged", TestPacket { ack: good.ack ^ 0x100, ..good.clone() }),
            (
                "another segment size",
                TestPacket { ack: (cookie ^ 1).wrapping_add(1), ..good.clone() },
            ),
            ("another port", TestPacket { sport: 9, ..good.clone() }),
            ("another number", TestPacket { seq: good.seq + 5, ..good.clone() }),
            ("a FIN", TestPacket { flags: FIN | ACK, ..good.clone() }),
            ("a reset", TestPacket { flags: RST | ACK, ..good.clone() }),
            ("a SYN too", TestPacket { flags: SYN | ACK, ..good.clone() }),
        ];
        for (text, packet) in rows {
            world.expect(text, &packet.bytes(), Outcome::NoFlow, DROP);
        }
        world.pass_ticks(256);
        let seen = to_server(&world, "an epoch later", &good);
        assert_eq!(flags(&seen), SYN);
        let other = TestPacket { sport: 11, ..syn };
        let old = self::cookie(&world, &other);
        world.pass_ticks(512);
        let late = bringing(&other, old).bytes();
        world.expect("two epochs later", &late, Outcome::NoFlow, DROP);
    }
}

#[test]
fn a_cookie_encodes_the_segment_size() {
    let Some(world) = flooded() else { return };
    let rows = [
        (Some(48), 536),
        (Some(536), 536),
        (Some(1219), 536),
        (Some(1220), 1220),
        (Some(1359), 1300),
        (Some(1360), 1360),
        (Some(1400), 1400),
        (Some(1440), 1440),
        (Some(1460), 1460),
        (Some(8959), 1460),
        (Some(8960), 8960),
        (Some(65535), 8960),
    ];
    for (at, (client, vip)) in ENDS.into_iter().enumerate() {
        let rows = rows.into_iter().chain([(None, [536, 1220][at])]);
        for (port, (said, meant)) in (100..).zip(rows) {
            let option = said.map(|mss: u16| [2, 4, (mss >> 8) as u8, mss as u8].to_vec());
            let tcp_options = option.unwrap_or_default();
            let syn = TestPacket { sport: port, tcp_options, ..bare(client, vip, SYN) };
            let cookie = cookie(&world, &syn);
            let seen = to_server(&world, "the cookie comes back", &bringing(&syn, cookie));
            assert_eq!(mss(&seen), meant, "{vip} {said:?}");
        }
    }
}

#[test]
fn rates_count_a_connection_once() {
    let Some(world) = flooded() else { return };
    for (at, (client, vip)) in (0..).zip(ENDS) {
        // Two a second, two at once.
        world.change_service(at, |service| {
            service.cost[abi::Meter::MeterSyn as usize] = 500_000_000;
            service.burst[abi::Meter::MeterSyn as usize] = 500_000_000;
        });
        let syn = bare(client, vip, SYN);
        let first = cookie(&world, &syn);
        to_server(&world, "it was counted when it got its cookie", &bringing(&syn, first));
        let other = TestPacket { sport: 8, ..syn.clone() };
        cookie(&world, &other);
        let third = TestPacket { sport: 9, ..syn };
        world.expect("too many", &third.bytes(), Outcome::SynRate, DROP);
    }
}
