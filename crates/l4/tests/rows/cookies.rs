//! Rows of SYN cookies: what a flood's SYN gets, which ACK opens a connection, and numbers that are translated after.

use l4::abi::{self, Interface, Method, Outcome};

use super::errors::{icmp, quoted};
use super::packet::{ACK, FIN, Packet, RST, SYN, Seen, TCP, THEIRS, checksum, pseudo, read_ip, tcp};
use super::usual::{ENDS, both};
use super::world::{DROP, TX, World};

/// Half-open connections from which on cookies are given.
const LIMIT: u32 = 2;
/// The client's first number, and the server's.
const ISN: u32 = 1000;
const SERVERS: u32 = 0xffff_fff0;

/// `nat` of both families in a flood.
fn flooded() -> Option<World> {
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

fn number(seen: &Seen, at: usize) -> u32 {
    u32::from_be_bytes(seen.transport[at..at + 4].try_into().unwrap())
}

fn seq(seen: &Seen) -> u32 {
    number(seen, 4)
}

fn ack(seen: &Seen) -> u32 {
    number(seen, 8)
}

fn flags(seen: &Seen) -> u8 {
    seen.transport[13]
}

fn window(seen: &Seen) -> u16 {
    u16::from_be_bytes([seen.transport[14], seen.transport[15]])
}

/// The option of the largest segment, which is the only one.
fn mss(seen: &Seen) -> u16 {
    assert_eq!((seen.transport[12] >> 4, seen.transport.len()), (6, 24), "one option, no data");
    assert_eq!(seen.transport[20..22], [2, 4]);
    u16::from_be_bytes([seen.transport[22], seen.transport[23]])
}

fn bare(client: &str, vip: &str, flags: u8) -> Packet {
    Packet { seq: ISN, ack: 0, payload: Vec::new(), ..tcp(client, vip, flags) }
}

/// A SYN gets a cookie, which is given back.
fn cookie(world: &World, syn: &Packet) -> u32 {
    let frame = world.expect("SYN", &syn.bytes(), Outcome::CookieSent, TX);
    seq(&read_ip(&frame[14..]))
}

/// The ACK that brings a cookie back.
fn bringing(syn: &Packet, cookie: u32) -> Packet {
    Packet {
        flags: ACK,
        seq: syn.seq.wrapping_add(1),
        ack: cookie.wrapping_add(1),
        tcp_options: Vec::new(),
        ..syn.clone()
    }
}

fn to_server(world: &World, text: &str, packet: &Packet) -> Seen {
    read_ip(&world.forwarded(text, packet)[14..])
}

fn to_client(world: &World, text: &str, packet: &Packet) -> Seen {
    read_ip(&world.expect(text, &packet.bytes(), Outcome::Returned, TX)[14..])
}

/// What the server answers to what it got.
fn answer(seen: &Seen, flags: u8, seq: u32) -> Packet {
    let end = |address, port| std::net::SocketAddr::new(address, port).to_string();
    let (from, to) = (end(seen.dst, seen.dport), end(seen.src, seen.sport));
    let ack = self::seq(seen).wrapping_add(1);
    Packet { seq, ack, payload: Vec::new(), ..tcp(&from, &to, flags) }
}

/// A connection that began with a cookie: the cookie, its ACK, and the SYN that the server got.
fn opened(world: &World, (client, vip): (&str, &str)) -> (u32, Packet, Seen) {
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
        let syn = Packet { payload: b"early".to_vec(), ..bare(client, vip, SYN) };
        for options in [vec![], vec![2, 4, 5, 180, 4, 2, 1, 1], vec![1, 3, 3, 7]] {
            let syn = Packet { tcp_options: options, ..syn.clone() };
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

#[test]
fn below_the_threshold_nobody_gets_a_cookie() {
    let Some(mut world) = flooded() else { return };
    for (at, (client, vip)) in (0..).zip(ENDS) {
        let few = abi::Gauge { half_open: LIMIT - 1, ..abi::Gauge::default() };
        world.plane.gauges.set(&at, &few).unwrap();
        world.forwarded(vip, &bare(client, vip, SYN));
        let second = Packet { sport: 5, ..bare(client, vip, SYN) };
        world.expect(vip, &second.bytes(), Outcome::CookieSent, TX);
        world.forwarded("one that is known asks again", &bare(client, vip, SYN));
    }
    // Nobody sweeps: what was half-open may long be over.
    world.now += u64::from(abi::SWEPT_TICKS) << abi::TICK_SHIFT;
    let mut config = world.plane.config.get(&0).unwrap().unwrap();
    config.clock_ns = world.now;
    world.plane.config.set(&0, &config).unwrap();
    for (client, vip) in ENDS {
        world.forwarded(vip, &Packet { sport: 6, ..bare(client, vip, SYN) });
    }
}

#[test]
fn the_whole_story() {
    let Some(world) = flooded() else { return };
    for (client, vip) in ENDS {
        let syn = Packet { tcp_options: vec![2, 4, 5, 120], ..bare(client, vip, SYN) };
        let cookie = cookie(&world, &syn);
        let first = Packet { payload: b"too early".to_vec(), ..bringing(&syn, cookie) };
        let seen = to_server(&world, "the cookie comes back", &first);
        assert_eq!((flags(&seen), seq(&seen), ack(&seen)), (SYN, ISN, 0), "{vip}");
        assert_eq!((mss(&seen), window(&seen)), (1400, 0x2000), "{vip}: the client's own");
        let answered = answer(&seen, SYN | ACK, SERVERS);
        let text = "the server answers";
        let opening = to_client(&world, text, &Packet { tcp_options: vec![2, 4, 5, 180], ..answered });
        assert_eq!((flags(&opening), opening.transport.len()), (ACK, 20), "{vip}: {text}");
        assert_eq!((seq(&opening), ack(&opening)), (cookie.wrapping_add(1), ISN + 1), "{vip}");
        assert_eq!(window(&opening), 0x2000, "{vip}: the window is open");
        let ends = (opening.src, opening.sport, opening.dst, opening.dport);
        assert_eq!(ends, (syn.dst, syn.dport, syn.src, syn.sport), "{vip}");
        talks(&world, &first, &seen, cookie);
    }
}

/// Both sides talk, and close.
fn talks(world: &World, first: &Packet, seen: &Seen, cookie: u32) {
    let question = Packet { payload: b"question".to_vec(), flags: ACK | 8, ..first.clone() };
    let got = to_server(world, "question", &question);
    assert_eq!((seq(&got), ack(&got)), (ISN + 1, SERVERS.wrapping_add(1)));
    assert_eq!(got.transport[20..], *b"question");
    let data = Packet { payload: b"answer".to_vec(), ..answer(seen, ACK, SERVERS.wrapping_add(1)) };
    let got = to_client(world, "answer", &data);
    assert_eq!(seq(&got), cookie.wrapping_add(1));
    assert_eq!(got.transport[20..], *b"answer");
    // Beyond the end of the numbers, which the server's pass sooner.
    let later = Packet { seq: SERVERS.wrapping_add(100), ..data };
    assert_eq!(seq(&to_client(world, "more", &later)), cookie.wrapping_add(100));
    let fin = Packet { flags: FIN | ACK, seq: ISN + 9, ack: cookie.wrapping_add(101), ..first.clone() };
    assert_eq!(ack(&to_server(world, "FIN", &fin)), SERVERS.wrapping_add(101));
    to_client(world, "FIN back", &Packet { flags: FIN | ACK, ..later });
    let old = Packet { seq: ISN, ..bare_of(first, SYN) };
    world.expect("an old SYN", &old.bytes(), Outcome::PrematureReuse, DROP);
    let new = Packet { seq: 70_000, ..bare_of(first, SYN) };
    let again = to_server(world, "a newer one is another connection", &new);
    assert_ne!(again.sport, seen.sport);
}

fn bare_of(packet: &Packet, flags: u8) -> Packet {
    Packet { flags, payload: Vec::new(), ..packet.clone() }
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
            ("forged", Packet { ack: good.ack ^ 0x100, ..good.clone() }),
            ("another segment size", Packet { ack: (cookie ^ 1).wrapping_add(1), ..good.clone() }),
            ("another port", Packet { sport: 9, ..good.clone() }),
            ("another number", Packet { seq: good.seq + 5, ..good.clone() }),
            ("a FIN", Packet { flags: FIN | ACK, ..good.clone() }),
            ("a reset", Packet { flags: RST | ACK, ..good.clone() }),
            ("a SYN too", Packet { flags: SYN | ACK, ..good.clone() }),
        ];
        for (text, packet) in rows {
            world.expect(text, &packet.bytes(), Outcome::NoFlow, DROP);
        }
        world.pass_ticks(256);
        let seen = to_server(&world, "an epoch later", &good);
        assert_eq!(flags(&seen), SYN);
        let other = Packet { sport: 11, ..syn };
        let old = self::cookie(&world, &other);
        world.pass_ticks(512);
        let late = bringing(&other, old).bytes();
        world.expect("two epochs later", &late, Outcome::NoFlow, DROP);
    }
}

#[test]
fn a_cookie_says_how_large_segments_may_be() {
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
            let syn = Packet { sport: port, tcp_options, ..bare(client, vip, SYN) };
            let cookie = cookie(&world, &syn);
            let seen = to_server(&world, "the cookie comes back", &bringing(&syn, cookie));
            assert_eq!(mss(&seen), meant, "{vip} {said:?}");
        }
    }
}

#[test]
fn a_client_that_waits_asks_the_server_again() {
    let Some(world) = flooded() else { return };
    for (client, vip) in ENDS {
        let syn = bare(client, vip, SYN);
        let cookie = cookie(&world, &syn);
        // Its first ACK was lost: it asks whether the window is open, with the number before.
        let probe = Packet { seq: ISN, ..bringing(&syn, cookie) };
        let first = to_server(&world, "a probe of the window", &probe);
        assert_eq!((flags(&first), seq(&first)), (SYN, ISN), "{vip}");
        for packet in [&probe, &Packet { payload: b"data".to_vec(), ..bringing(&syn, cookie) }, &syn] {
            let again = to_server(&world, "and again", packet);
            let told = (flags(&again), seq(&again), again.sport, mss(&again));
            assert_eq!(told, (SYN, ISN, first.sport, mss(&first)), "{vip}");
        }
        let over = Packet { flags: RST, ..probe };
        world.expect("it gives up", &over.bytes(), Outcome::NoFlow, DROP);
    }
}

#[test]
fn what_a_server_says_first_is_understood() {
    let Some(world) = flooded() else { return };
    for (at, ends) in ENDS.into_iter().enumerate() {
        let (cookie, _, seen) = opened(&world, ends);
        let gauge = world.plane.gauges.get(&(at as u32)).unwrap().unwrap();
        assert_eq!(gauge.new_half_open, 0, "not half-open any more");
        // The client has nothing to say: what the server repeats is acknowledged for it.
        let again = answer(&seen, SYN | ACK, SERVERS);
        let frame = world.expect("again", &again.bytes(), Outcome::CookieAnswered, TX);
        let told = read_ip(&frame[14..]);
        assert_eq!((told.dst, told.dport, flags(&told)), (again.src, again.sport, ACK));
        assert_eq!((seq(&told), ack(&told)), (ISN + 1, SERVERS.wrapping_add(1)));
        assert!(window(&told) > 0, "so that it may speak first");
        let over = to_client(&world, "RST", &answer(&seen, RST | ACK, SERVERS.wrapping_add(1)));
        assert_eq!((flags(&over), seq(&over)), (RST | ACK, cookie.wrapping_add(1)));
    }
}

#[test]
fn a_server_that_refuses_or_remembers_is_understood() {
    let Some(world) = flooded() else { return };
    for (client, vip) in ENDS {
        let syn = bare(client, vip, SYN);
        let cookie = cookie(&world, &syn);
        let seen = to_server(&world, "the cookie comes back", &bringing(&syn, cookie));
        let old = Packet { ack: 5, ..answer(&seen, ACK, 77) };
        let frame = world.expect("an older connection", &old.bytes(), Outcome::ResetSent, TX);
        let reset = read_ip(&frame[14..]);
        assert_eq!((flags(&reset), seq(&reset), reset.dst), (RST, 5, old.src), "{vip}");
        let no = to_client(&world, "it refuses", &answer(&seen, RST | ACK, 0));
        assert_eq!((flags(&no), seq(&no)), (RST | ACK, cookie.wrapping_add(1)), "{vip}");
        assert_eq!(ack(&no), ISN + 1, "{vip}");
    }
}

#[test]
fn errors_quote_the_numbers_that_their_receiver_knows() {
    let Some(world) = flooded() else { return };
    let routers = [("198.51.100.1", 3, 4), ("2001:db8:9::1", 2, 0)];
    for (ends, (router, kind, code)) in ENDS.into_iter().zip(routers) {
        let (_, _, seen) = opened(&world, ends);
        let data = answer(&seen, ACK, SERVERS.wrapping_add(500));
        let frame = world.expect("data", &data.bytes(), Outcome::Returned, TX);
        let to = read_ip(&frame[14..]).src.to_string();
        let error = icmp(router, &to, kind, code, &frame[14..]);
        let out = world.expect("too big", &error.bytes(), Outcome::ErrorForwarded, TX);
        let (_, dst, inner) = quoted(&out);
        assert_eq!(dst, seen.dst, "{router}");
        let inner = read_ip(&inner);
        assert_eq!(seq(&inner), SERVERS.wrapping_add(500), "{router}");
        assert_eq!((inner.src, inner.dst), (data.src, data.dst), "{router}");
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
        let other = Packet { sport: 8, ..syn.clone() };
        cookie(&world, &other);
        let third = Packet { sport: 9, ..syn };
        world.expect("too many", &third.bytes(), Outcome::SynRate, DROP);
    }
}

#[test]
fn checksums_that_devices_finish_stay_unfinished() {
    let Some(world) = flooded() else { return };
    world.plane.interfaces.remove(&1).unwrap();
    for (client, vip) in ENDS {
        let syn = bare(client, vip, SYN);
        let cookie = cookie(&world, &syn);
        let header = if syn.src.is_ipv4() { 20 } else { 40 };
        let unfinished = |packet: &Packet| {
            let mut bytes = packet.bytes();
            let head = pseudo(packet.src, packet.dst, TCP, bytes.len() - 14 - header);
            let sum = (!checksum(&[&head])).to_be_bytes();
            bytes[14 + header + 16..14 + header + 18].copy_from_slice(&sum);
            bytes
        };
        let finished = |frame: &[u8]| {
            let mut frame = frame.to_vec();
            let sum = checksum(&[&frame[14 + header..]]).to_be_bytes();
            frame[14 + header + 16..14 + header + 18].copy_from_slice(&sum);
            read_ip(&frame[14..])
        };
        let first = bringing(&syn, cookie);
        let frame = world.expect("SYN", &unfinished(&first), Outcome::Forwarded, TX);
        let seen = finished(&frame);
        assert_eq!((flags(&seen), seq(&seen)), (SYN, ISN), "{vip}");
        let back = unfinished(&answer(&seen, SYN | ACK, SERVERS));
        let opening = finished(&world.expect("back", &back, Outcome::Returned, TX));
        assert_eq!((flags(&opening), seq(&opening)), (ACK, cookie.wrapping_add(1)), "{vip}");
        let question = Packet { payload: b"question".to_vec(), ..first };
        let got = finished(&world.expect("?", &unfinished(&question), Outcome::Forwarded, TX));
        assert_eq!(ack(&got), SERVERS.wrapping_add(1), "{vip}");
    }
}

#[test]
fn clients_may_keep_their_addresses() {
    let Some(world) = flooded() else { return };
    for (at, (client, vip)) in (0..).zip(ENDS) {
        world.share(at, &["client"], 2048 + at * 512, 64);
        let (cookie, first, seen) = opened(&world, (client, vip));
        assert_eq!((seen.src, seen.sport), (first.src, first.sport), "{vip}");
        talks_on(&world, &first, &seen, cookie);
    }
}

fn talks_on(world: &World, first: &Packet, seen: &Seen, cookie: u32) {
    let got = to_server(world, "question", first);
    assert_eq!(ack(&got), SERVERS.wrapping_add(1));
    let got = to_client(world, "answer", &answer(seen, ACK, SERVERS.wrapping_add(1)));
    assert_eq!(seq(&got), cookie.wrapping_add(1));
}
