//! `steelyard decap` on a server: packets of every encapsulation are answered, and disallowed packets are not.
//!
//! The test builds the encapsulated packets itself, so that no balancer is needed.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::Duration;

use lab::net::{SERVICE_V4, SERVICE_V6, SiteHost, SiteLayout, TestSite};
use rustix::net::{AddressFamily, Protocol, SendFlags, SocketType, sendto, socket};
use serde_json::Value;
use tests::e2e::datagrams::DatagramServer;
use tests::e2e::packet_balancer::{BOTH, IpVersion, PORT, PacketBalancer, ready};
use tests::e2e::wait;

/// How long to wait for a response before the packet is resent.
const PATIENCE: Duration = Duration::from_millis(300);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OuterHeader {
    Ipip,
    Gre,
    Gue,
    /// GUE with a GUE header.
    GueHeader,
}

/// The checksum of RFC 1071 over these bytes.
fn sum(bytes: &[u8]) -> u16 {
    let words =
        bytes.chunks(2).map(|two| u32::from(two[0]) << 8 | two.get(1).map_or(0, |b| u32::from(*b)));
    let mut sum: u32 = words.sum();
    while sum >> 16 > 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// A datagram as an IP packet with this ECN code point.
fn packet(from: SocketAddr, to: SocketAddr, payload: &[u8], ecn: u8) -> Vec<u8> {
    let length = (8 + payload.len()) as u16;
    let mut udp =
        [from.port().to_be_bytes(), to.port().to_be_bytes(), length.to_be_bytes(), [0; 2]].concat();
    udp.extend_from_slice(payload);
    let (addresses, mut ip) = match (from.ip(), to.ip()) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            let total = (20 + length).to_be_bytes();
            let mut ip = vec![0x45, ecn, total[0], total[1], 0, 1, 0x40, 0, 64, 17, 0, 0];
            let addresses = [from.octets(), to.octets()].concat();
            ip.extend_from_slice(&addresses);
            let check = sum(&ip).to_be_bytes();
            ip[10..12].copy_from_slice(&check);
            (addresses, ip)
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            let total = length.to_be_bytes();
            let mut ip = vec![0x60, ecn << 4, 0, 0, total[0], total[1], 17, 64];
            let addresses = [from.octets(), to.octets()].concat();
            ip.extend_from_slice(&addresses);
            (addresses, ip)
        }
        _ => panic!("one version a packet"),
    };
    let pseudo = [&addresses[..], &[0, 17], &length.to_be_bytes(), &udp].concat();
    let check = sum(&pseudo).to_be_bytes();
    udp[6..8].copy_from_slice(&check);
    ip.extend_from_slice(&udp);
    ip
}

/// Sends an encapsulated inner packet to a server, on a thread inside the client.
fn send(wrap: OuterHeader, outer: IpAddr, inner: &[u8]) {
    let v4 = inner[0] >> 4 == 4;
    let (proto, head): (u32, &[u8]) = match wrap {
        OuterHeader::Ipip => (if v4 { 4 } else { 41 }, &[]),
        OuterHeader::Gre if v4 => (47, &[0, 0, 0x08, 0x00]),
        OuterHeader::Gre => (47, &[0, 0, 0x86, 0xdd]),
        OuterHeader::Gue => (17, &[]),
        OuterHeader::GueHeader => (17, if v4 { &[0, 4, 0, 0] } else { &[0, 41, 0, 0] }),
    };
    let bytes = [head, inner].concat();
    if proto == 17 {
        let any: SocketAddr =
            if outer.is_ipv4() { ([0; 4], 0).into() } else { ([0u16; 8], 0).into() };
        UdpSocket::bind(any).unwrap().send_to(&bytes, (outer, 6080)).unwrap();
        return;
    }
    let family = if outer.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let protocol = Protocol::from_raw(proto.try_into().unwrap());
    let raw = socket(family, SocketType::RAW, Some(protocol)).unwrap();
    sendto(&raw, &bytes, SendFlags::empty(), &SocketAddr::new(outer, 0)).unwrap();
}

/// Sends until a response arrives, which must come from the server.
fn answered(client: &SiteHost, wrap: OuterHeader, outer: IpAddr, version: IpVersion) {
    let inside = || {
        let socket = UdpSocket::bind((version.host_address(client), 0)).unwrap();
        let own = socket.local_addr().unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let inner = packet(own, version.service(), b"wrapped", 0);
        let mut got = [0; 64];
        wait::until_some(&format!("an answer to {wrap:?} in {outer} of {version:?}"), || {
            send(wrap, outer, &inner);
            let (length, from) = socket.recv_from(&mut got).ok()?;
            Some((from, got[..length].to_vec()))
        })
    };
    let (from, answer) = client.run_inside(inside).unwrap();
    assert_eq!((from, &answer[..]), (version.service(), &b"server0:wrapped"[..]));
}

struct DecapServer {
    site: TestSite,
    pins: lab::net::BpfFs,
    _datagrams: DatagramServer,
}

impl DecapServer {
    fn new() -> DecapServer {
        let site = TestSite::open(&SiteLayout {
            local_servers: 0,
            remote_servers: 1,
            ..SiteLayout::default()
        })
        .unwrap();
        let addresses =
            [SERVICE_V4.into(), SERVICE_V6.into()].map(|ip: IpAddr| SocketAddr::new(ip, PORT));
        let datagrams = DatagramServer::start(&site.servers[0], "server0", &addresses);
        DecapServer { site, pins: lab::net::BpfFs::mount().unwrap(), _datagrams: datagrams }
    }

    fn verb(&self, words: &[&str]) -> tests::e2e::cli_environment::CommandOutput {
        let pins = self.pins.path().join("decap");
        let words = [words, &["--pins", pins.to_str().unwrap()]].concat();
        PacketBalancer::run_verb_on(&self.site.servers[0], &words)
    }

    fn load(&self, words: &[&str]) {
        let said = self.verb(&[&["decap", "load", "--interface", "eth0"], words].concat());
        assert_eq!(said.code, 0, "{said:?}");
    }

    fn shown(&self) -> Value {
        let said = self.verb(&["decap", "show", "--json"]);
        serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{error}: {said:?}"))
    }
}

#[test]
fn every_wrap_is_taken_off_in_every_pair_of_versions() {
    if !ready() {
        return;
    }
    let server = DecapServer::new();
    assert_eq!(server.verb(&["decap", "show"]).code, 1, "nothing is loaded");
    server.load(&["--from", "any"]);
    let node = &server.site.servers[0];
    let client = &server.site.client;
    for outer in BOTH {
        for version in BOTH {
            for wrap in
                [OuterHeader::Ipip, OuterHeader::Gre, OuterHeader::Gue, OuterHeader::GueHeader]
            {
                answered(client, wrap, outer.host_address(node), version);
            }
        }
    }
    let shown = server.shown();
    assert_eq!((&shown["loaded"], &shown["dropped"]["malformed"]), (&true.into(), &0.into()));
    for (kind, least) in [("ipip", 4), ("gre", 4), ("gue", 8)] {
        assert!(shown["unwrapped"][kind].as_u64().unwrap() >= least, "{shown:#}");
    }
    // `doctor` reports the problem.
    let doctor =
        server.verb(&["doctor", "server", "198.51.100.10", "--forward", "tunnel", "--json"]);
    let findings: Value = serde_json::from_str(&doctor.stdout).unwrap();
    let of = |check: &str| {
        findings["findings"].as_array().unwrap().iter().find(|f| f["check"] == check).cloned()
    };
    assert_eq!(of("decapsulation").unwrap()["verdict"], "good", "{findings:#}");

    assert_eq!(server.verb(&["decap", "unload", "--interface", "eth0"]).code, 0);
    assert_eq!(server.verb(&["decap", "unload", "--interface", "eth0"]).code, 1, "it is gone");
    assert!(!node.ip("link show eth0\n").unwrap().contains("xdp"));
    assert!(!server.pins.path().join("decap").exists(), "pins are left");
}

#[test]
fn foreign_senders_and_broken_packets_are_counted_and_dropped() {
    if !ready() {
        return;
    }
    let server = DecapServer::new();
    server.load(&["--from", "10.10.0.0/24", "--from", "2001:db8:a::/64"]);
    let node = &server.site.servers[0];
    let client = &server.site.client;
    let outer = IpVersion::V4.host_address(node);
    let own = SocketAddr::new(IpVersion::V4.host_address(client), 4_000);
    let inner = packet(own, IpVersion::V4.service(), b"wrapped", 0);
    let counted = |what: &str, at: &[&str], send: &dyn Fn()| {
        let figure =
            || at.iter().fold(server.shown(), |value, key| value[key].clone()).as_u64().unwrap();
        let before = figure();
        wait::until(what, || {
            send();
            figure() > before
        });
    };
    counted("a foreign sender is counted", &["dropped", "foreign-source"], &|| {
        client.run_inside(|| send(OuterHeader::Ipip, outer, &inner)).unwrap();
    });
    server.load(&["--from", "any", "--encapsulation", "ipip,gre"]);
    counted("a packet cut short is counted", &["dropped", "malformed"], &|| {
        client.run_inside(|| send(OuterHeader::Ipip, outer, &inner[..12])).unwrap();
    });
    counted("something else than IP is counted", &["dropped", "malformed"], &|| {
        let mut odd = inner.clone();
        odd[0] = 0x65;
        let raw = [&[0, 0, 0x08, 0x00][..], &odd].concat();
        client.run_inside(|| raw_gre(outer, &raw)).unwrap();
    });
    counted("a form that is not taken is handed on", &["not-taken"], &|| {
        let raw = [&[0x20, 0, 0x08, 0x00, 0, 0, 0, 7][..], &inner].concat();
        client.run_inside(|| raw_gre(outer, &raw)).unwrap();
    });
    counted(
        "congestion that is hidden from the sender is counted",
        &["dropped", "congested"],
        &|| {
            client.run_inside(|| send_marked(outer, &inner)).unwrap();
        },
    );
    // Without a decapsulator for GUE, its packets reach the host, which has no listener for them.
    client.run_inside(|| send(OuterHeader::Gue, outer, &inner)).unwrap();
    answered(client, OuterHeader::Ipip, outer, IpVersion::V4);
    assert_eq!(server.shown()["unwrapped"]["gue"], 0);
}

/// Sends an encapsulated packet with a router's congestion mark.
fn send_marked(outer: IpAddr, inner: &[u8]) {
    let number: u32 = if inner[0] >> 4 == 4 { 4 } else { 41 };
    let protocol = Some(Protocol::from_raw(number.try_into().unwrap()));
    let raw = socket(AddressFamily::INET, SocketType::RAW, protocol).unwrap();
    rustix::net::sockopt::set_ip_tos(&raw, 3).unwrap();
    sendto(&raw, inner, SendFlags::empty(), &SocketAddr::new(outer, 0)).unwrap();
}

/// A router's congestion mark is copied to an inner packet that supports ECN, with a correct checksum.
#[test]
fn a_mark_of_congestion_is_handed_on() {
    if !ready() {
        return;
    }
    let server = DecapServer::new();
    server.load(&["--from", "any"]);
    let node = &server.site.servers[0];
    let client = &server.site.client;
    let outer = IpVersion::V4.host_address(node);
    for version in BOTH {
        for ecn in [1, 2] {
            let inside = || {
                let socket = UdpSocket::bind((version.host_address(client), 0)).unwrap();
                let own = socket.local_addr().unwrap();
                let inner = packet(own, version.service(), b"marked", ecn);
                socket.set_read_timeout(Some(PATIENCE)).unwrap();
                wait::until_some("an answer", || {
                    send_marked(outer, &inner);
                    socket.recv(&mut [0; 64]).ok()
                })
            };
            client.run_inside(inside).unwrap();
        }
    }
    assert_eq!(server.shown()["dropped"]["congested"], 0);
}

fn raw_gre(outer: IpAddr, bytes: &[u8]) {
    let raw = socket(
        AddressFamily::INET,
        SocketType::RAW,
        Some(Protocol::from_raw(47.try_into().unwrap())),
    );
    sendto(raw.unwrap(), bytes, SendFlags::empty(), &SocketAddr::new(outer, 0)).unwrap();
}

#[test]
fn what_cannot_be_loaded_is_reported() {
    if !ready() {
        return;
    }
    let server = DecapServer::new();
    for (words, says) in [
        (vec![], "--from NETWORK"),
        (vec!["--from", "any", "--from", "10.0.0.0/8"], "do not go together"),
    ] {
        let said = server.verb(&[&["decap", "load", "--interface", "eth0"], &words[..]].concat());
        assert!(said.code == 2 && said.stderr.contains(says), "{said:?}");
    }
    let missing = server.verb(&["decap", "load", "--interface", "eth7", "--from", "any"]);
    assert!(missing.code == 2 && missing.stderr.contains("eth7"), "{missing:?}");
    server.site.attach_foreign_program(&server.site.servers[0]).unwrap();
    let taken = server.verb(&["decap", "load", "--interface", "eth0", "--from", "any"]);
    assert!(taken.code == 2 && taken.stderr.contains("pass"), "{taken:?}");
}
