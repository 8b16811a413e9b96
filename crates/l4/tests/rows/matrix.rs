//! Rows of every kind of packet through every method: each output byte is compared with an independently built packet.

use l4::abi::{Method, Outcome, Wrap};

use super::packet::{ACK, OURS, SYN, THEIRS, TestPacket, UDP, checksum, read_ip, tcp, udp};
use super::usual::{BACKS, ENDS, OUTERS, SERVERS, both};
use super::world::{DatapathTestbed, TX, ip, link, mapped};

/// A forwarding method and its destination.
#[derive(Clone, Copy, Debug)]
enum ForwardCase {
    Mac,
    Tunnel(Wrap, usize),
    Nat,
    NatKeepingClients,
}

const FORWARDS: [ForwardCase; 9] = [
    ForwardCase::Mac,
    ForwardCase::Tunnel(Wrap::Ipip, 0),
    ForwardCase::Tunnel(Wrap::Ipip, 1),
    ForwardCase::Tunnel(Wrap::Gre, 0),
    ForwardCase::Tunnel(Wrap::Gre, 1),
    ForwardCase::Tunnel(Wrap::Gue, 0),
    ForwardCase::Tunnel(Wrap::Gue, 1),
    ForwardCase::Nat,
    ForwardCase::NatKeepingClients,
];

impl ForwardCase {
    fn world(self) -> Option<DatapathTestbed> {
        let method = match self {
            ForwardCase::Mac => Method::Mac,
            ForwardCase::Tunnel(..) => Method::Tunnel,
            ForwardCase::Nat | ForwardCase::NatKeepingClients => Method::Nat,
        };
        let world = both(method)?;
        for index in [0, 1] {
            match self {
                ForwardCase::Tunnel(wrap, family) => world.change_server(index, |server| {
                    server.addr = mapped(ip(SERVERS[family]));
                    server.outer = mapped(ip(OUTERS[family]));
                    server.wrap = wrap as u8;
                    server.wrap_port = 6080;
                }),
                ForwardCase::NatKeepingClients => {
                    world.share(index, &["client"], index * 1024, super::usual::PORTS);
                }
                ForwardCase::Mac | ForwardCase::Nat => {}
            }
        }
        Some(world)
    }

    /// The expected frame for server `index`. Values that the datapath chooses are taken from `out`.
    fn frame(self, packet: &TestPacket, index: usize, out: &[u8]) -> Vec<u8> {
        let leaving = TestPacket { to: link(index as u32), from: OURS, ..packet.clone() };
        let l3 = 14 + packet.tags.len() * 4;
        match self {
            ForwardCase::Mac => leaving.bytes(),
            ForwardCase::Tunnel(wrap, family) => {
                let mut frame = leaving.bytes()[..l3 - 2].to_vec();
                frame.extend([[0x08, 0x00], [0x86, 0xdd]][family]);
                let inner = TestPacket { ttl: packet.ttl - 1, ..packet.clone() };
                let entropy = label(packet, &out[l3..], wrap, family);
                frame.extend(wrapped(&inner, wrap, family, entropy));
                frame
            }
            ForwardCase::Nat | ForwardCase::NatKeepingClients => {
                let keeps = matches!(self, ForwardCase::NatKeepingClients);
                let transport = l3 + packet.ip().len() - packet.transport().len();
                let port = u16::from_be_bytes([out[transport], out[transport + 1]]);
                let later = packet.fragment.is_some_and(|(offset, _)| offset > 0);
                TestPacket {
                    src: if keeps { packet.src } else { ip(BACKS[index]) },
                    dst: ip(SERVERS[index]),
                    sport: if keeps || later { packet.sport } else { port },
                    ttl: packet.ttl - 1,
                    ..leaving
                }
                .bytes()
            }
        }
    }
}

/// Where the datapath encodes the flow in a tunnel: GUE's source port, or the flow label of an outer IPv6 header.
fn label(packet: &TestPacket, ip: &[u8], wrap: Wrap, family: usize) -> (u16, u32) {
    let header = [20, 40][family];
    let port = u16::from_be_bytes([ip[header], ip[header + 1]]);
    let word = u32::from_be_bytes([ip[0], ip[1], ip[2], ip[3]]) & 0xf_ffff;
    if wrap == Wrap::Gue {
        assert!(port >= 0xc000, "{packet:?}: {port}");
    }
    (port, word)
}

/// The packet in its encapsulation (RFC 2003, RFC 2473, RFC 2784, GUE variant 1).
fn wrapped(inner: &TestPacket, wrap: Wrap, family: usize, (port, label): (u16, u32)) -> Vec<u8> {
    let payload = inner.ip();
    let v4 = inner.src.is_ipv4();
    let between = match wrap {
        Wrap::Ipip => Vec::new(),
        Wrap::Gre => vec![0, 0, if v4 { 0x08 } else { 0x86 }, if v4 { 0x00 } else { 0xdd }],
        Wrap::Gue => {
            let length = (payload.len() + 8) as u16;
            [port, 6080, length, 0].iter().flat_map(|word| word.to_be_bytes()).collect()
        }
    };
    let proto = match wrap {
        Wrap::Ipip if v4 => 4,
        Wrap::Ipip => 41,
        Wrap::Gre => 47,
        Wrap::Gue => UDP,
    };
    let length = between.len() + payload.len();
    let mut out = if family == 0 {
        let whole = 0x40;
        let total = ((length + 20) as u16).to_be_bytes();
        let mut header = vec![0x45, inner.tos, total[0], total[1], 0, 0, whole, 0, 64, proto, 0, 0];
        for end in [OUTERS[0], SERVERS[0]] {
            header.extend(&mapped(ip(end))[12..]);
        }
        let sum = checksum(&[&header]).to_be_bytes();
        header[10..12].copy_from_slice(&sum);
        header
    } else {
        let first = 6 << 28 | u32::from(inner.tos) << 20 | label;
        let mut header = first.to_be_bytes().to_vec();
        header.extend((length as u16).to_be_bytes());
        header.extend([proto, 64]);
        for end in [OUTERS[1], SERVERS[1]] {
            header.extend(mapped(ip(end)));
        }
        header
    };
    out.extend(between);
    out.extend(payload);
    out
}

/// Packets of a family, each of another flow.
fn shapes(client: &str, vip: &str) -> Vec<(&'static str, TestPacket)> {
    let v4 = !client.starts_with('[');
    let syn = tcp(client, vip, SYN);
    let query = TestPacket { keep_whole: false, ..udp(client, vip) };
    let piece = |id, offset, more, bytes| TestPacket {
        id,
        fragment: Some((offset, more)),
        payload: vec![id as u8; bytes],
        ..query.clone()
    };
    let mut rows = vec![
        ("TCP", syn.clone()),
        ("TCP without data", TestPacket { payload: Vec::new(), ..syn.clone() }),
        ("TCP options", TestPacket { tcp_options: vec![2, 4, 5, 180, 1, 3, 3, 7], ..syn.clone() }),
        ("TCP with 40 bytes of options", TestPacket { tcp_options: vec![1; 40], ..syn.clone() }),
        ("TCP of 1,400 bytes", TestPacket { payload: vec![3; 1_400], ..syn.clone() }),
        ("UDP", query.clone()),
        ("UDP without data", TestPacket { payload: Vec::new(), ..query.clone() }),
        ("one tag", TestPacket { tags: vec![(0x8100, 5)], ..syn.clone() }),
        ("a provider's tag", TestPacket { tags: vec![(0x88a8, 9)], ..query.clone() }),
        ("two tags", TestPacket { tags: vec![(0x88a8, 5), (0x8100, 6)], ..syn.clone() }),
        ("TOS", TestPacket { tos: 0xb9, ..query.clone() }),
        ("the last hop but one", TestPacket { ttl: 2, ..query.clone() }),
        ("a first fragment", piece(41, 0, true, 64)),
        ("a middle fragment", piece(41, 72, true, 64)),
        ("the last fragment", piece(41, 136, false, 9)),
    ];
    if v4 {
        rows.extend([
            ("UDP without a checksum", TestPacket { unsummed: true, ..query.clone() }),
            ("options", TestPacket { options: vec![1; 8], ..syn.clone() }),
            ("40 bytes of options", TestPacket { options: vec![1; 40], ..query.clone() }),
            ("may not be cut", TestPacket { keep_whole: true, ..query.clone() }),
        ]);
    } else {
        let chain = |kinds: &[u8]| {
            kinds.iter().map(|kind| (*kind, vec![0, 0, 1, 4, 0, 0, 0, 0])).collect::<Vec<_>>()
        };
        let long = (60, [vec![0, 2], vec![1, 20], vec![0; 20]].concat());
        rows.extend([
            ("hop-by-hop options", TestPacket { extensions: chain(&[0]), ..syn.clone() }),
            ("three headers", TestPacket { extensions: chain(&[0, 60, 43]), ..syn.clone() }),
            ("seven headers", TestPacket { extensions: chain(&[60; 7]), ..query.clone() }),
            ("a long header", TestPacket { extensions: vec![long], ..query.clone() }),
            (
                "a tag and a header",
                TestPacket { tags: vec![(0x8100, 5)], extensions: chain(&[60]), ..query.clone() },
            ),
        ]);
    }
    for ((_, packet), port) in rows.iter_mut().zip(2_000..) {
        // Fragments of one packet belong to one flow.
        packet.sport = if packet.fragment.is_some() { 1_999 } else { port };
    }
    rows
}

// Rows: I06
#[test]
fn every_shape_through_every_method() {
    let mut rows = 0;
    for forward in FORWARDS {
        let Some(world) = forward.world() else { return };
        for (index, (client, vip)) in ENDS.into_iter().enumerate() {
            for (text, packet) in shapes(client, vip) {
                let text = format!("{forward:?} {client} {text}");
                let out = world.forwarded(&text, &packet);
                assert_eq!(out, forward.frame(&packet, index, &out), "{text}");
                rows += 1;
            }
        }
    }
    assert!(rows >= 300, "{rows} rows");
}

#[test]
fn every_shape_of_answers_comes_back() {
    let mut rows = 0;
    for forward in [ForwardCase::Nat, ForwardCase::NatKeepingClients] {
        let Some(world) = forward.world() else { return };
        for (index, (client, vip)) in ENDS.into_iter().enumerate() {
            for (text, packet) in shapes(client, vip) {
                if packet.fragment.is_some_and(|(offset, _)| offset > 0) {
                    continue;
                }
                let text = format!("{forward:?} {client} answer to {text}");
                let whole = TestPacket {
                    tags: Vec::new(),
                    options: Vec::new(),
                    extensions: Vec::new(),
                    fragment: None,
                    ..packet.clone()
                };
                let seen = read_ip(&world.forwarded(&text, &whole)[14..]);
                // The answer has the shape of the question.
                let answer = TestPacket {
                    src: ip(SERVERS[index]),
                    dst: seen.src,
                    sport: 80,
                    dport: seen.sport,
                    flags: SYN | ACK,
                    ttl: 64,
                    ..packet.clone()
                };
                let out = world.expect(&text, &answer.bytes(), Outcome::Returned, TX);
                let back = TestPacket {
                    to: THEIRS,
                    from: OURS,
                    src: packet.dst,
                    dst: packet.src,
                    dport: packet.sport,
                    ttl: 63,
                    ..answer
                };
                assert_eq!(out, back.bytes(), "{text}");
                rows += 1;
            }
        }
    }
    assert!(rows >= 60, "{rows} rows");
}
