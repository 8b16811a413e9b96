//! WebSockets over HTTP/2 (RFC 8441) at either end or both, and with HTTP/1.1 at the other end.

use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::client::HttpClient;
use tests::e2e::frames::{END, FrameClient, WHOLE, fields, kind};
use tests::e2e::h2client::{self, H2Request};
use tests::e2e::h2origin::{H2Behaviour, H2Origin};
use tests::e2e::servers::{self, addresses};
use tests::e2e::websocket;

/// A final binary frame, masked with zeros.
const HELLO: &[u8] = &[0x82, 0x85, 0, 0, 0, 0, b'h', b'e', b'l', b'l', b'o'];

/// Opens an HTTP/2 tunnel on stream 1.
fn open(balancer: &TestBalancer) -> FrameClient {
    let mut client = FrameClient::connect(balancer.front());
    let settings = client.next_of(kind::SETTINGS).unwrap();
    let offered = settings.payload.chunks(6).any(|one| one == [0, 8, 0, 0, 0, 1]);
    assert!(offered, "SETTINGS_ENABLE_CONNECT_PROTOCOL in {settings:?}");
    let block = fields(&[
        (":method", "CONNECT"),
        (":protocol", "websocket"),
        (":scheme", "http"),
        (":path", "/ws"),
        (":authority", "shop.example"),
        ("sec-websocket-version", "13"),
    ]);
    client.send(kind::HEADERS, WHOLE, 1, &block);
    let answer = client.next_of(kind::HEADERS).unwrap();
    // `:status: 200` is the eighth field of the static table (RFC 7541, appendix A).
    assert_eq!((answer.payload[0], answer.flags & END), (0x88, 0), "{answer:?}");
    client
}

#[test]
fn from_http_2_to_http_1() {
    let origins = [servers::origin("a")];
    let balancer = TestBalancer::start(
        &BalancerConfig::http(&addresses(&origins)).service("http2 = \"always\"\n"),
    );
    let mut client = open(&balancer);
    for _ in 0..3 {
        client.send(kind::DATA, 0, 1, HELLO);
        let echo = client.next_of(kind::DATA).unwrap();
        assert_eq!(echo.payload, [&[0x82, 5][..], b"hello"].concat());
    }
    client.send(kind::DATA, END, 1, &[]);
    assert!(client.next_of(kind::DATA).is_some_and(|frame| frame.flags & END == END));
    balancer.wait_for_log_line("the tunnel", |line| {
        line["status"] == 101 && line["protocol"] == "HTTP/2"
    });
    assert_eq!(balancer.report_when_idle().total.requests.unaccounted, 0);
}

#[test]
fn from_http_2_to_http_2() {
    let origin = H2Origin::start(H2Behaviour { name: "one", streams: 100, refusals: 0 });
    let setup = BalancerConfig::http(&[origin.address()]).global("workers = 1\n");
    let setup = setup.service("http2 = \"always\"\n").pool("http2 = \"only\"\n");
    let balancer = TestBalancer::start(&setup);
    // The server connection must exist before its settings are known.
    assert_eq!(h2client::send_all(balancer.front(), &[H2Request::get("/")])[0].status, 200);
    let mut client = open(&balancer);
    client.send(kind::DATA, 0, 1, HELLO);
    assert_eq!(client.next_of(kind::DATA).unwrap().payload, HELLO, "the tunnel echoes");
}

#[test]
fn from_http_1_to_http_2() {
    let origin = H2Origin::start(H2Behaviour { name: "one", streams: 100, refusals: 0 });
    let setup = BalancerConfig::http(&[origin.address()])
        .global("workers = 1\n")
        .pool("http2 = \"only\"\n");
    let balancer = TestBalancer::start(&setup);
    assert_eq!(balancer.client().get("/").status(), 200);
    let mut client = HttpClient::connect(balancer.front());
    client.send(websocket::REQUEST);
    let answer = client.read_answer_head();
    // Only `:authority` carries the host.
    assert_eq!((answer.status(), answer.field("x-host").as_deref()), (101, Some("-")));
    client.send(HELLO);
    assert_eq!(client.read_exactly(HELLO.len()), HELLO);
}
