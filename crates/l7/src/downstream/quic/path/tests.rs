//! A client and a server (`quinn-proto`), connected by a simulated network in which source addresses can be forged.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use model::load_balancing::Rng;
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Endpoint, EndpointConfig,
    ServerConfig,
};
use rustls::RootCertStore;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::super::connection::QuicConnection;
use super::*;
use crate::tls::handshake_observation::HandshakeObservation;

const SERVER: &str = "198.51.100.1:443";
const HOME: &str = "192.0.2.1:1000";

fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

/// Victims: another network, the same network, another port of the same host, IPv6.
fn forged(at: u64) -> SocketAddr {
    let all = ["203.0.113.9:443", "192.0.2.77:1000", "192.0.2.1:9999", "[2001:db8::9]:443"];
    address(all[at as usize % all.len()])
}

struct PathWorld {
    now: Instant,
    client: PathClient,
    server: Endpoint,
    link: Option<QuicConnection>,
    /// The addresses at which the client receives.
    here: Vec<SocketAddr>,
    received: HashMap<SocketAddr, u64>,
    sent: HashMap<SocketAddr, u64>,
}

/// The client's end of the connection.
struct PathClient {
    endpoint: Endpoint,
    conn: Connection,
    handle: ConnectionHandle,
}

impl PathWorld {
    /// A connection with a completed handshake.
    fn new() -> PathWorld {
        let cert = rcgen::generate_simple_self_signed(vec!["shop.example".to_owned()]).unwrap();
        let der = CertificateDer::from(cert.cert.der().to_vec());
        let key = PrivateKeyDer::Pkcs8(cert.signing_key.serialize_der().into());
        let config = ServerConfig::with_single_cert(vec![der.clone()], key).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(der).unwrap();
        let trust = ClientConfig::with_root_certificates(Arc::new(roots)).unwrap();
        let settings = || Arc::new(EndpointConfig::default());
        let server = Endpoint::new(settings(), Some(Arc::new(config)), true, None);
        let mut endpoint = Endpoint::new(settings(), None, true, None);
        let now = Instant::now();
        let (handle, conn) = endpoint.connect(now, trust, address(SERVER), "shop.example").unwrap();
        let mut world = PathWorld {
            now,
            client: PathClient { endpoint, conn, handle },
            server,
            link: None,
            here: vec![address(HOME)],
            received: HashMap::new(),
            sent: HashMap::new(),
        };
        for _ in 0..20 {
            world.round(|_| address(HOME));
        }
        assert!(!world.client.conn.is_handshaking() && world.peer() == address(HOME));
        world.received.clear();
        world.sent.clear();
        world
    }

    fn peer(&self) -> SocketAddr {
        self.link.as_ref().unwrap().peer()
    }

    /// Exchanges the pending packets of both sides; `source` chooses the source address of each of the client's
    /// packets.
    fn round(&mut self, mut source: impl FnMut(u64) -> SocketAddr) {
        self.now += Duration::from_millis(30);
        let mut buffer = Vec::new();
        let mut number = 0;
        self.client.conn.handle_timeout(self.now);
        while let Some(transmit) = self.client.conn.poll_transmit(self.now, 1, &mut buffer) {
            self.send_to_server(source(number), &buffer[..transmit.size]);
            number += 1;
            buffer.clear();
        }
        while let Some(event) = self.client.conn.poll_endpoint_events() {
            if let Some(answer) = self.client.endpoint.handle_event(self.client.handle, event) {
                self.client.conn.handle_event(answer);
            }
        }
        while self.client.conn.poll().is_some() {}
        self.deliver_from_server();
    }

    fn send_to_server(&mut self, from: SocketAddr, packet: &[u8]) {
        *self.received.entry(from).or_default() += packet.len() as u64;
        let bytes = BytesMut::from(packet);
        let mut out = Vec::new();
        match self.server.handle(self.now, from, None, None, bytes, &mut out) {
            Some(DatagramEvent::NewConnection(incoming)) => {
                let accepted = self.server.accept(incoming, self.now, &mut out, None);
                let Ok((handle, conn)) = accepted else { panic!("it was refused") };
                self.link =
                    Some(QuicConnection::new(handle, conn, HandshakeObservation::default()));
            }
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                self.link.as_ref().unwrap().handle_datagram(event, from, packet.len());
            }
            Some(DatagramEvent::Response(_)) | None => {}
        }
    }

    fn deliver_from_server(&mut self) {
        let Some(link) = &self.link else { return };
        link.with_connection(|conn| {
            conn.handle_timeout(self.now);
            while let Some(event) = conn.poll_endpoint_events() {
                if let Some(answer) = self.server.handle_event(link.handle, event) {
                    conn.handle_event(answer);
                }
            }
            while conn.poll().is_some() {}
        });
        let mut buffer = Vec::new();
        while let Some(transmit) = link.next_packets(self.now, 1, &mut buffer) {
            *self.sent.entry(transmit.destination).or_default() += transmit.size as u64;
            if !self.here.contains(&transmit.destination) {
                continue;
            }
            let bytes = BytesMut::from(&buffer[..transmit.size]);
            let mut out = Vec::new();
            let PathClient { endpoint, conn, .. } = &mut self.client;
            let event = endpoint.handle(self.now, address(SERVER), None, None, bytes, &mut out);
            if let Some(DatagramEvent::ConnectionEvent(_, event)) = event {
                conn.handle_event(event);
            }
        }
    }

    /// The server sends `bytes` bytes.
    fn answers(&mut self, bytes: usize) {
        let link = self.link.as_ref().unwrap();
        link.with_connection(|conn| {
            let id = conn.streams().open(quinn_proto::Dir::Uni).unwrap();
            let _ = conn.send_stream(id).write(&vec![7; bytes]);
        });
    }

    /// The bytes sent to other addresses than the client's are limited by those received from there.
    fn is_bounded(&self) {
        let of = |counts: &HashMap<SocketAddr, u64>| {
            let others = counts.iter().filter(|(at, _)| !self.here.contains(at));
            others.map(|(_, bytes)| bytes).sum::<u64>()
        };
        let received = of(&self.received);
        let sent = of(&self.sent);
        assert!(sent <= 3 * received + 3_600 + 1_500, "{sent} bytes for {received}");
    }
}

#[test]
fn packets_with_a_forged_source_never_change_the_address() {
    for seed in 0..60 {
        let mut world = PathWorld::new();
        let mut rng = Rng::new(seed);
        let mut followed = false;
        for _ in 0..80 {
            if rng.below(3) == 0 {
                world.client.conn.ping();
            }
            if rng.below(5) == 0 {
                world.answers(1 + rng.below(40_000) as usize);
            }
            let share = 1 + rng.below(4);
            let victim = rng.below(4);
            // The client's responses to its own challenges are also sent with forged addresses.
            world.round(|_| if rng.below(4) < share { forged(victim) } else { address(HOME) });
            followed |= world.link.as_ref().unwrap().with_connection(|conn| conn.remote_address())
                != address(HOME);
            assert_eq!(world.peer(), address(HOME), "seed {seed}");
            world.is_bounded();
        }
        assert!(followed, "the machine itself was never moved: nothing was tried");
    }
}

#[test]
fn many_small_packets_from_many_addresses_get_no_more_than_three_times_as_much() {
    let mut world = PathWorld::new();
    for at in 0..200u8 {
        world.client.conn.ping();
        world.round(|_| SocketAddr::from(([203, 0, 113, at], 53)));
        world.is_bounded();
    }
    assert_eq!(world.peer(), address(HOME));
    assert!(world.link.as_ref().unwrap().withheld.get() > 0);
}

#[test]
fn a_client_that_receives_at_its_new_address_is_known_by_it() {
    for to in ["203.0.113.9:443", "192.0.2.1:9999", "[2001:db8::9]:443"] {
        let mut world = PathWorld::new();
        let to = address(to);
        world.here.push(to);
        world.client.conn.local_address_changed();
        world.round(|_| to);
        assert_eq!(world.peer(), address(HOME), "one packet has proven nothing");
        let rounds = (1..50).find(|_| {
            world.round(|_| to);
            world.peer() == to
        });
        assert!(rounds.is_some_and(|rounds| rounds < 10), "{rounds:?}");
        // The client returns to its first address after a forged packet in between.
        world.client.conn.ping();
        world.round(|_| address("203.0.113.80:1"));
        for _ in 0..200 {
            world.client.conn.ping();
            world.round(|_| address(HOME));
        }
        assert_eq!(world.peer(), address(HOME));
    }
}

#[test]
fn no_frame_but_a_missing_challenge_counts_and_only_on_the_current_path() {
    let home = address(HOME);
    let new = forged(0);
    let plain =
        OutgoingPackets { to: new, bytes: 100, current: true, challenges: false, ordinary: true };
    for doubtful in [
        OutgoingPackets { challenges: true, ..plain },
        OutgoingPackets { current: false, ..plain },
        OutgoingPackets { ordinary: false, ..plain },
    ] {
        let mut path = ValidatedPath::new(home);
        assert!(path.may_send(&doubtful) && path.validated() == home, "{doubtful:?}");
    }
    let mut path = ValidatedPath::new(home);
    assert!(path.may_send(&plain) && path.validated() == new);
    let mut path = ValidatedPath::new(home);
    let large = OutgoingPackets { bytes: 1_452, challenges: true, ..plain };
    let sent = (0..10).filter(|_| path.may_send(&large)).count();
    assert_eq!(sent, 3);
    // 3 * 1,452 − 3,600 bytes must be covered by received bytes.
    path.received_from(new, 252);
    assert!(!path.may_send(&large));
    path.received_from(new, 1);
    assert!(path.may_send(&large) && !path.may_send(&large));
}
