//! Further features of connections: WebSockets (RFC 9220), client certificates, IPv6, and wildcard listeners.

use std::net::{Ipv4Addr, Ipv6Addr, UdpSocket};

use serde_json::{Value, json};
use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::h2origin::{H2Behaviour, H2Origin};
use tests::e2e::recording_server::RecordingServer;
use tests::e2e::servers::{self, addresses, reserve_port_at};
use tests::e2e::wait;

use crate::authority::{Http3Authority, Http3Client};

/// The start of a message: a final binary frame of five bytes, masked with zeros.
const HELLO: &str = "828500000000";
const WORD: &str = "68656c6c6f";

fn websocket(client: &mut Http3Client) -> Value {
    let opened = client.does(json!({ "do": "websocket", "path": "/ws" }));
    assert_eq!(opened["status"], 200, "{opened}");
    opened["stream"].clone()
}

fn write(client: &mut Http3Client, stream: &Value, hex: &str, end: bool) {
    client.does(json!({ "do": "write", "stream": stream, "hex": hex, "end": end }));
}

#[test]
fn websockets_pass_to_servers_of_http_1() {
    let ours = Http3Authority::new();
    let origins = [servers::origin("a")];
    let balancer = TestBalancer::start(&ours.setup(&addresses(&origins), ""));
    let mut client = ours.client(balancer.front());
    let streams = [websocket(&mut client), websocket(&mut client)];
    for round in 1..=3 {
        for stream in &streams {
            write(&mut client, stream, &format!("{HELLO}{WORD}"), false);
            let came = client.does(json!({ "do": "came", "stream": stream, "count": round * 7 }));
            assert_eq!(came["hex"], format!("8205{WORD}").repeat(round), "{came}");
        }
    }
    // Requests on other streams are still served.
    assert_eq!(client.get("/")["status"], 200);
    for stream in &streams {
        write(&mut client, stream, "", true);
        let ended = client.does(json!({ "do": "wait-answer", "stream": stream }));
        assert_eq!(ended["reset"], Value::Null, "{ended}");
    }
    balancer.wait_for_log_line("the tunnel", |line| {
        line["status"] == 101 && line["protocol"] == "HTTP/3"
    });
    drop(client);
    assert_eq!(balancer.report_when_settled().total.requests.unaccounted, 0);
}

#[test]
fn websockets_pass_to_servers_of_http_2() {
    let ours = Http3Authority::new();
    let origin = H2Origin::start(H2Behaviour { name: "one", streams: 100, refusals: 0 });
    let setup = ours.setup(&[origin.address()], "").global("workers = 1\n");
    let balancer = TestBalancer::start(&setup.pool("http2 = \"only\"\n"));
    let mut client = ours.client(balancer.front());
    // The server connection must exist before its settings are known.
    assert_eq!(client.get("/")["status"], 200);
    let stream = websocket(&mut client);
    write(&mut client, &stream, &format!("{HELLO}{WORD}"), false);
    let came = client.does(json!({ "do": "came", "stream": stream, "count": 11 }));
    assert_eq!(came["hex"], format!("{HELLO}{WORD}"), "the tunnel echoes");
}

#[test]
fn servers_learn_who_the_client_is() {
    let ours = Http3Authority::new();
    let recorder = RecordingServer::start();
    let pair = &ours.pair;
    let ca = ours.authority();
    let tls = |verify: &str| {
        let client = format!("client = {{ ca = {ca:?}, verify = \"{verify}\" }}");
        let lines = format!("tls = {{ certificates = {pair:?}, {client} }}\nhttp3 = \"on\"\n");
        BalancerConfig::http(&[recorder.address()]).service(&lines)
    };
    let mut balancer = TestBalancer::start(&tls("required"));
    let alice = ours.identity("alice");
    assert_eq!(ours.client_with(balancer.front(), &alice).get("/")["status"], 200);
    let seen = recorder.so_far().requests.pop().unwrap();
    let told = |name: &str| seen.field(&format!("x-client-cert-{name}")).unwrap_or_default();
    assert_eq!((told("verified"), told("subject")), ("yes".to_owned(), "CN=alice".to_owned()));
    // In TLS 1.3 the client completes the handshake before it learns of the rejection.
    let mut nobody = ours.begin(balancer.front(), None);
    if nobody.read() == "connected" {
        nobody.send_order(&json!({ "do": "ended" }));
        assert_ne!(nobody.read(), 0x100);
    }
    balancer.wait_for_log_line("no certificate", |line| line["cause"] == "client-certificate");
    balancer.reload(&tls("optional"));
    assert_eq!(ours.client(balancer.front()).get("/")["status"], 200);
    let seen = recorder.so_far().requests.pop().unwrap();
    assert_eq!(seen.field("x-client-cert-verified").as_deref(), Some("no"));
}

#[test]
fn each_request_of_a_client_without_a_good_certificate_is_answered() {
    let ours = Http3Authority::new();
    let recorder = RecordingServer::start();
    let pair = &ours.pair;
    let ca = ours.authority();
    let client = format!("client = {{ ca = {ca:?}, refuse = \"answer\" }}");
    let lines = format!("tls = {{ certificates = {pair:?}, {client} }}\nhttp3 = \"on\"\n");
    let balancer =
        TestBalancer::start(&BalancerConfig::http(&[recorder.address()]).service(&lines));
    let alice = ours.identity("alice");
    assert_eq!(ours.client_with(balancer.front(), &alice).get("/")["status"], 200);
    let others = Http3Authority::new();
    let stranger = others.identity("alice");
    for certificate in [None, Some(stranger.as_path())] {
        let mut refused = ours.begin(balancer.front(), certificate);
        assert_eq!(refused.read(), "connected");
        for path in ["/", "/again"] {
            assert_eq!(refused.get(path)["status"], 400, "{certificate:?}");
        }
    }
    balancer.wait_for_log_line("a stranger", |line| {
        line["cause"] == "client-certificate-refused"
            && line["defect"] == "certificate-bad-signature"
    });
    assert_eq!(recorder.so_far().requests.len(), 1, "that of alice alone");
}

#[test]
fn clients_of_ipv6_are_served() {
    let ours = Http3Authority::new();
    let origins = [servers::origin("a")];
    let setup = ours.setup(&addresses(&origins), "");
    let setup = setup.listen(vec![reserve_port_at(Ipv6Addr::LOCALHOST.into())]);
    let balancer = TestBalancer::start(&setup);
    let mut client = ours.client(balancer.front());
    let answer = client.does(json!({ "do": "ask", "path": "/echo", "body": 300_000 }));
    assert_eq!((&answer["status"], &answer["length"]), (&json!(200), &json!(300_000)));
    balancer.wait_for_log_line("IPv6", |line| {
        line["client"].as_str().is_some_and(|client| client.starts_with("[::1]:"))
    });
}

#[test]
fn answers_come_from_the_address_that_was_asked() {
    let ours = Http3Authority::new();
    let origins = [servers::origin("a")];
    let setup = ours.setup(&addresses(&origins), "");
    let setup = setup.listen(vec![reserve_port_at(Ipv4Addr::UNSPECIFIED.into())]);
    let balancer = TestBalancer::start(&setup);
    let port = balancer.front().port();
    assert_eq!(ours.client(([127, 0, 0, 3], port).into()).get("/")["status"], 200);
    // A connected UDP socket only receives from its peer. A packet of an unknown version is answered at once.
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect((Ipv4Addr::new(127, 0, 0, 2), port)).unwrap();
    socket.set_read_timeout(Some(wait::DEADLINE)).unwrap();
    let mut packet = [0; 1_200];
    packet[..6].copy_from_slice(&[0xc0, 0x1a, 0x2a, 0x3a, 0x4a, 8]);
    packet[14] = 8;
    socket.send(&packet).unwrap();
    let mut answer = [0; 2_000];
    let length = socket.recv(&mut answer).unwrap();
    assert!(length > 7 && answer[1..5] == [0; 4], "version negotiation (RFC 9000 §17.2.1)");
}
