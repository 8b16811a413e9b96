//! Every TCP health check protocol against a port that hangs, responds slowly, sends garbage or reports that it is not
//! ready. Each server is down, and the evidence names the reason. One balancer checks all of them.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use model::snapshot::ServerState;
use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::dir::TestDir;
use tests::e2e::wait;

use super::fake_servers::{FakeBehaviour, FakeServer, TIMES};

/// A TCP protocol: its health check, a "not ready" response with the expected evidence, and whether the server sends
/// first.
struct ProbeCase {
    probe: &'static str,
    not_ready: (Vec<u8>, &'static str),
    greets: bool,
}

fn row(probe: &'static str, greets: bool, not_ready: &[u8], why: &'static str) -> ProbeCase {
    ProbeCase { probe, not_ready: (not_ready.to_vec(), why), greets }
}

fn rows() -> Vec<ProbeCase> {
    let busy = b"HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n";
    let body = b"HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\nnot yet";
    let starting =
        [&b"E"[..], &36u32.to_be_bytes(), b"SFATAL\0C57P03\0Mstarting up now\0\0\0"].concat();
    let full = [&[23, 0, 0, 0, 0xff][..], &1040u16.to_le_bytes(), b"#08004Too many cons."].concat();
    let offline = b"\x30\x14\x02\x01\x01\x61\x0f\x0a\x01\x34\x04\0\x04\x08offline!";
    vec![
        row("http = \"/\"", false, busy, "status 503"),
        row("http = \"/\", expect = \"^ready\"", false, body, "the body lacks"),
        row("tcp = true, expect = \"^ready\"", true, b"warming up\n", "within 200 ms"),
        row("smtp = true", true, b"421 shutting down\r\n", "421 shutting down"),
        row("imap = true", true, b"* BYE too many users\r\n", "BYE too many users"),
        row("pop3 = true", true, b"-ERR mailbox locked\r\n", "mailbox locked"),
        row("ftp = true", true, b"120 ready in 5 minutes\r\n", "120 ready in 5"),
        row("nntp = true", true, b"400 not now\r\n", "400 not now"),
        row("telnet = true, expect = \"login:\"", true, b"going down\r\n", "within 200 ms"),
        row("ldap = true", false, offline, "offline!"),
        row("redis = true", false, b"-LOADING data set\r\n", "LOADING data set"),
        row("mysql = true", true, &full, "Too many cons."),
        row("postgres = true", false, &starting, "starting up"),
    ]
}

/// Servers of one balancer, each with its peer and its expected evidence.
#[derive(Default)]
struct ProbedServers {
    fakes: Vec<FakeServer>,
    udp: Vec<DatagramPeer>,
    servers: Vec<(String, SocketAddr, String, &'static str)>,
}

impl ProbedServers {
    fn fake(&mut self, probe: &str, manner: FakeBehaviour, why: &'static str) {
        let fake = FakeServer::start(manner);
        self.add(fake.address(), probe, why);
        self.fakes.push(fake);
    }

    fn datagrams(&mut self, probe: &str, says: Option<&[u8]>, why: &'static str) {
        let peer = DatagramPeer::start(says);
        self.add(peer.at, probe, why);
        self.udp.push(peer);
    }

    fn add(&mut self, at: SocketAddr, probe: &str, why: &'static str) {
        let name = format!("s{}", self.servers.len());
        self.servers.push((name, at, probe.to_owned(), why));
    }

    /// Waits until each server is down, and checks the evidence, including its fields.
    fn judge(self) {
        let setup =
            self.servers.iter().fold(BalancerConfig::tcp(&[]), |setup, (name, at, probe, _)| {
                setup.server(name, at, &format!(", probe = {{ {probe}, {TIMES} }}"))
            });
        let balancer = TestBalancer::start(&setup);
        let all = || balancer.status().pools.remove(0).servers;
        wait::until("all are down", || {
            all().iter().all(|server| server.state == ServerState::Down)
        });
        // On a busy machine a response may be late once, so the expected evidence may come in a later check.
        let mut missing = self.servers.clone();
        wait::until("each with its evidence", || {
            let now = all();
            missing.retain(|(name, _, _, why)| {
                let server = now.iter().find(|server| server.name == *name).unwrap();
                !server.reason.text.contains(why)
            });
            missing.is_empty()
        });
        for server in all() {
            let seen = server.reason.check.as_ref().unwrap();
            assert!(
                !seen.passed && seen.consecutive >= 1 && seen.duration_us.is_some(),
                "{server:?}"
            );
            assert!(seen.probe.as_ref().unwrap().contains(" at 127.0.0.1:"), "{server:?}");
        }
    }
}

#[test]
fn a_port_that_accepts_and_says_that_it_is_not_ready() {
    let mut field = ProbedServers::default();
    for ProbeCase { probe, not_ready: (text, why), greets } in rows() {
        let manner = if greets { FakeBehaviour::Greet(text) } else { FakeBehaviour::Reply(text) };
        field.fake(probe, manner, why);
    }
    field.judge();
}

#[test]
fn a_port_that_accepts_and_hangs() {
    let mut field = ProbedServers::default();
    for ProbeCase { probe, .. } in rows() {
        field.fake(probe, FakeBehaviour::Hang, "within 200 ms");
    }
    for probe in [
        "http2 = \"/\"",
        "grpc = \"\"",
        "tls = { verify = false }",
        "redis = true, tls = { verify = false }",
    ] {
        field.fake(probe, FakeBehaviour::Hang, "within 200 ms");
    }
    field.judge();
}

#[test]
fn a_port_that_answers_too_slowly() {
    let mut field = ProbedServers::default();
    for ProbeCase { probe, .. } in rows() {
        // Responses that would be accepted in the end if the check waited long enough.
        let text: &[u8] = match probe.split(' ').next() {
            Some("http") => b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
            Some("ldap") => b"\x30\x0c\x02\x01\x01\x61\x07\x0a\x01\0\x04\0\x04\0",
            Some("mysql") => b"\x0a\0\0\0\x0a8.0.36\0\x01\0",
            Some("postgres") => b"R\0\0\0\x08\0\0\0\x0a",
            Some("imap") => b"* OK ready to serve anybody\r\n",
            Some("pop3" | "redis") => b"+PONG +OK ready to serve anybody\r\n",
            _ => b"220 ready to serve anybody\r\n",
        };
        field.fake(probe, FakeBehaviour::Dribble(text.to_vec()), "within 200 ms");
    }
    field.judge();
}

#[test]
fn a_port_that_talks_rubbish() {
    let mut field = ProbedServers::default();
    for ProbeCase { probe, greets, .. } in
        rows().into_iter().filter(|row| !row.probe.contains("expect"))
    {
        let rubbish = b"\x00\xff\x01rubbish\r\n\x00\xff\r\n".repeat(30);
        let manner =
            if greets { FakeBehaviour::Greet(rubbish) } else { FakeBehaviour::Reply(rubbish) };
        field.fake(probe, manner, "not ");
    }
    for probe in ["http2 = \"/\"", "grpc = \"\""] {
        field.fake(probe, FakeBehaviour::Reply(b"rubbish ".repeat(30)), "");
    }
    field.fake("tls = { verify = false }", FakeBehaviour::Reply(b"rubbish ".repeat(30)), "tls: ");
    field.judge();
}

/// A UDP peer that sends the same response to everything, or none.
struct DatagramPeer {
    at: SocketAddr,
    over: Arc<AtomicBool>,
}

impl DatagramPeer {
    fn start(says: Option<&[u8]>) -> DatagramPeer {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let at = socket.local_addr().unwrap();
        let over = Arc::new(AtomicBool::new(false));
        let end = Arc::clone(&over);
        let says = says.map(<[u8]>::to_vec);
        std::thread::spawn(move || {
            let mut room = [0; 2048];
            while !end.load(Ordering::Relaxed) {
                let Ok((length, from)) = socket.recv_from(&mut room) else { continue };
                let Some(says) = &says else { continue };
                // A response must repeat the request's ID if the protocol has one.
                let head = &room[..length.min(2)];
                let text = if says.starts_with(b"##") {
                    [head, &says[2..]].concat()
                } else {
                    says.clone()
                };
                let _ = socket.send_to(&text, from);
            }
        });
        DatagramPeer { at, over }
    }
}

impl Drop for DatagramPeer {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

#[test]
fn datagrams_that_are_lost_rubbish_or_refuse() {
    let dir = TestDir::new();
    let secret = dir.write("secret", "s3cret");
    let radius = format!("radius = true, secret-file = \"{}\"", secret.display());
    let refused = b"##\x81\x85\0\x01\0\0\0\0\0\0\x04shop\x07example\0\0\x01\0\x01";
    let mut field = ProbedServers::default();
    for probe in [
        "dns = \"shop.example\"",
        "sip = true",
        "udp = true, send = \"x\"",
        "snmp = \"1.3.6\"",
        &radius,
    ] {
        field.datagrams(probe, None, "within 200 ms");
    }
    for (probe, why) in [
        ("dns = \"shop.example\"", "not DNS"),
        ("udp = true, send = \"x\"", "not the expected answer"),
        ("snmp = \"1.3.6\"", "not SNMP"),
        (radius.as_str(), "not RADIUS"),
    ] {
        field.datagrams(probe, Some(b"?!"), why);
    }
    field.datagrams("dns = \"shop.example\"", Some(refused), "refuses");
    field.datagrams("udp = true, send = \"x\", expect = \"^ready\"", Some(b"not yet"), "not yet");
    // Closed ports and unreachable hosts are covered by other tests.
    field.judge();
}
