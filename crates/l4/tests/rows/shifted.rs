//! Rows of connections that began with a SYN cookie: translated sequence numbers, and failures before that.

use l4::abi::Outcome;

use super::cookies::{
    ISN, SERVERS, ack, answer, bare, bringing, cookie, flags, flooded, mss, opened, seq, to_client,
    to_server, window,
};
use super::errors::{icmp, quoted};
use super::packet::{
    ACK, FIN, RST, ReceivedPacket, SYN, TCP, TestPacket, checksum, pseudo, read_ip,
};
use super::usual::ENDS;
use super::world::{DROP, DatapathTestbed, TX};

#[test]
fn the_whole_story() {
    let Some(world) = flooded() else { return };
    for (client, vip) in ENDS {
        let syn = TestPacket { tcp_options: vec![2, 4, 5, 120], ..bare(client, vip, SYN) };
        let cookie = cookie(&world, &syn);
        let first = TestPacket { payload: b"too early".to_vec(), ..bringing(&syn, cookie) };
        let seen = to_server(&world, "the cookie comes back", &first);
        assert_eq!((flags(&seen), seq(&seen), ack(&seen)), (SYN, ISN, 0), "{vip}");
        assert_eq!((mss(&seen), window(&seen)), (1400, 0x2000), "{vip}: the client's own");
        let answered = answer(&seen, SYN | ACK, SERVERS);
        let text = "the server answers";
        let opening =
            to_client(&world, text, &TestPacket { tcp_options: vec![2, 4, 5, 180], ..answered });
        assert_eq!((flags(&opening), opening.transport.len()), (ACK, 20), "{vip}: {text}");
        assert_eq!((seq(&opening), ack(&opening)), (cookie.wrapping_add(1), ISN + 1), "{vip}");
        assert_eq!(window(&opening), 0x2000, "{vip}: the window is open");
        let ends = (opening.src, opening.sport, opening.dst, opening.dport);
        assert_eq!(ends, (syn.dst, syn.dport, syn.src, syn.sport), "{vip}");
        talks(&world, &first, &seen, cookie);
    }
}

/// Both sides talk, and close.
fn talks(world: &DatapathTestbed, first: &TestPacket, seen: &ReceivedPacket, cookie: u32) {
    let question = TestPacket { payload: b"question".to_vec(), flags: ACK | 8, ..first.clone() };
    let got = to_server(world, "question", &question);
    assert_eq!((seq(&got), ack(&got)), (ISN + 1, SERVERS.wrapping_add(1)));
    assert_eq!(got.transport[20..], *b"question");
    let data =
        TestPacket { payload: b"answer".to_vec(), ..answer(seen, ACK, SERVERS.wrapping_add(1)) };
    let got = to_client(world, "answer", &data);
    assert_eq!(seq(&got), cookie.wrapping_add(1));
    assert_eq!(got.transport[20..], *b"answer");
    // Beyond the end of the numbers, which the server's pass sooner.
    let later = TestPacket { seq: SERVERS.wrapping_add(100), ..data };
    assert_eq!(seq(&to_client(world, "more", &later)), cookie.wrapping_add(100));
    let fin = TestPacket {
        flags: FIN | ACK,
        seq: ISN + 9,
        ack: cookie.wrapping_add(101),
        ..first.clone()
    };
    assert_eq!(ack(&to_server(world, "FIN", &fin)), SERVERS.wrapping_add(101));
    to_client(world, "FIN back", &TestPacket { flags: FIN | ACK, ..later });
    let old = TestPacket { seq: ISN, ..bare_of(first, SYN) };
    world.expect("an old SYN", &old.bytes(), Outcome::PrematureReuse, DROP);
    let new = TestPacket { seq: 70_000, ..bare_of(first, SYN) };
    let second_frame = to_server(world, "a newer one is another connection", &new);
    assert_ne!(second_frame.sport, seen.sport);
}

fn bare_of(packet: &TestPacket, flags: u8) -> TestPacket {
    TestPacket { flags, payload: Vec::new(), ..packet.clone() }
}

#[test]
fn a_client_that_waits_asks_the_server_again() {
    let Some(world) = flooded() else { return };
    for (client, vip) in ENDS {
        let syn = bare(client, vip, SYN);
        let cookie = cookie(&world, &syn);
        // The client's first ACK was lost: it sends a window probe with the previous number.
        let probe = TestPacket { seq: ISN, ..bringing(&syn, cookie) };
        let first = to_server(&world, "a probe of the window", &probe);
        assert_eq!((flags(&first), seq(&first)), (SYN, ISN), "{vip}");
        for packet in
            [&probe, &TestPacket { payload: b"data".to_vec(), ..bringing(&syn, cookie) }, &syn]
        {
            let second_frame = to_server(&world, "and again", packet);
            let told =
                (flags(&second_frame), seq(&second_frame), second_frame.sport, mss(&second_frame));
            assert_eq!(told, (SYN, ISN, first.sport, mss(&first)), "{vip}");
        }
        let over = TestPacket { flags: RST, ..probe };
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
        // The client has nothing to send: the datapath acknowledges the server's retransmission.
        let retransmission = answer(&seen, SYN | ACK, SERVERS);
        let frame = world.expect("again", &retransmission.bytes(), Outcome::CookieAnswered, TX);
        let told = read_ip(&frame[14..]);
        assert_eq!(
            (told.dst, told.dport, flags(&told)),
            (retransmission.src, retransmission.sport, ACK)
        );
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
        let old = TestPacket { ack: 5, ..answer(&seen, ACK, 77) };
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
fn checksums_that_devices_finish_stay_unfinished() {
    let Some(world) = flooded() else { return };
    world.plane.interfaces.remove(&1).unwrap();
    for (client, vip) in ENDS {
        let syn = bare(client, vip, SYN);
        let cookie = cookie(&world, &syn);
        let header = if syn.src.is_ipv4() { 20 } else { 40 };
        let unfinished = |packet: &TestPacket| {
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
        let question = TestPacket { payload: b"question".to_vec(), ..first };
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

fn talks_on(world: &DatapathTestbed, first: &TestPacket, seen: &ReceivedPacket, cookie: u32) {
    let got = to_server(world, "question", first);
    assert_eq!(ack(&got), SERVERS.wrapping_add(1));
    let got = to_client(world, "answer", &answer(seen, ACK, SERVERS.wrapping_add(1)));
    assert_eq!(seq(&got), cookie.wrapping_add(1));
}
