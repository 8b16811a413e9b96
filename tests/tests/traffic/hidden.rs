//! Fields that a rule removes are removed from responses of every kind, and only the balancer sets its own fields.

use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::client::HttpClient;
use tests::e2e::h2client::{H2Request, send_all};
use tests::e2e::http::ReceivedMessage;
use tests::e2e::recording_server::ScriptedServer;
use tests::e2e::tools::curl_text;

const HIDING: &str = "http2 = \"always\"\nrule = [{ rewrite = { response-remove = [\"server\", \"x-internal\"], \
                      response-set = [\"x-frame: none\"] } }]\n";

const EARLY: &[u8] = b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\nServer: in 1.0\r\n\
    X-Internal: db7\r\nX-Frame: all\r\nX-Steelyard-Cause: no-server\r\n\r\n\
    HTTP/1.1 200 OK\r\nServer: in 1.0\r\nX-Internal: db7\r\nX-Frame: all\r\n\
    Transfer-Encoding: chunked\r\nX-Steelyard-Cause: no-server\r\nx-steelyard-id: 1\r\n\r\n\
    2\r\nok\r\n0\r\nX-Steelyard-Id: 2\r\nX-Internal: db7\r\nX-Sum: 7\r\n\r\n";

const SWITCH: &[u8] = b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\n\
    Upgrade: websocket\r\nServer: in 1.0\r\nX-Internal: db7\r\nX-Frame: all\r\n\
    X-Steelyard-Cause: no-server\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";

fn hides(answer: &ReceivedMessage, frame: Option<&str>) {
    for name in ["server", "x-internal", "x-steelyard-cause", "x-steelyard-id"] {
        assert_eq!(answer.field(name), None, "{answer:?}");
    }
    assert_eq!(answer.field("x-frame").as_deref(), frame, "{answer:?}");
}

#[test]
fn what_a_rule_takes_out_of_answers_is_in_no_interim_one() {
    let server = ScriptedServer::answering(EARLY);
    let setup = BalancerConfig::http(&[server.address()]).service(HIDING);
    let balancer = TestBalancer::start(&setup);
    let mut client = balancer.client();
    let hint = client.get("/");
    assert_eq!((hint.status(), hint.field("link").as_deref()), (103, Some("</a.css>")));
    hides(&hint, None);
    let answer = client.read_answer();
    assert_eq!((answer.status(), answer.text().as_str()), (200, "ok"));
    hides(&answer, Some("none"));
    let told = curl_text(&["-si", "--http2-prior-knowledge", &balancer.url("/")]);
    assert!(told.starts_with("HTTP/2 103") && told.contains("link: </a.css>"), "{told}");
    for part in ["server:", "x-internal", "x-frame: all", "x-steelyard"] {
        assert!(!told.contains(part), "{told}");
    }
    assert_eq!(told.matches("x-frame: none").count(), 1, "{told}");
    let answer = send_all(balancer.front(), &[H2Request::get("/")]).remove(0);
    let trailers: Vec<&str> = answer.trailers.keys().map(|name| name.as_str()).collect();
    assert_eq!(trailers, ["x-sum"]);
}

#[test]
fn what_a_rule_does_to_answers_is_done_to_one_that_switches_protocols() {
    let server = ScriptedServer::answering(SWITCH);
    let balancer = TestBalancer::start(&BalancerConfig::http(&[server.address()]).service(HIDING));
    let mut client = balancer.client();
    client.send(
        "GET /ws HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
    );
    let answer = client.read_answer();
    assert_eq!(answer.status(), 101);
    hides(&answer, Some("none"));
    assert!(answer.field("sec-websocket-accept").is_some(), "{answer:?}");
}

#[test]
fn a_server_does_not_speak_in_the_balancers_name() {
    let server = ScriptedServer::answering(EARLY);
    let balancer = TestBalancer::start(&BalancerConfig::http(&[server.address()]));
    let mut client = balancer.client();
    for status in [103, 200] {
        let answer = if status == 103 { client.get("/") } else { client.read_answer() };
        assert_eq!(answer.status(), status);
        assert_eq!(answer.field("server").as_deref(), Some("in 1.0"));
        for name in ["x-steelyard-cause", "x-steelyard-id"] {
            assert_eq!(answer.field(name), None, "{answer:?}");
        }
    }
    // The balancer's own responses have them.
    let mut broken = HttpClient::connect(balancer.front());
    broken.send("GET / HTTP/1.1\r\n\r\n");
    let refused = broken.read_answer();
    assert_eq!(refused.field("x-steelyard-cause").as_deref(), Some("bad-request"));
    assert!(refused.field("x-steelyard-id").is_some());
}
