//! The id of a request: taken from a trusted proxy or made, and the same for the server, the client and the access log.

use std::collections::HashSet;
use std::io::Write;
use std::sync::{Arc, Mutex};

use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::h2client::{H2Request, send_all};
use tests::e2e::haproxy::Haproxy;
use tests::e2e::http::{HttpReader, ReceivedMessage};
use tests::e2e::nginx::Nginx;
use tests::e2e::recording_server::{RecordingServer, ScriptedServer};
use tests::e2e::servers;

const RULES: &str = "request-id = { header = \"X-Request-Id\", response = true }\nhttp2 = \"always\"\n\
                     rule = [{ when = { path = \"/denied\" }, deny = true },\n\
                     { when = { path = \"/answer\" }, answer = { status = 200, body = \"a\" } }]\n";

fn start(trust: &str, recorder: &RecordingServer) -> TestBalancer {
    let own = format!("trust = \"{trust}\"\n{RULES}");
    TestBalancer::start(&BalancerConfig::http(&[recorder.address()]).service(&own))
}

fn ask(front: std::net::SocketAddr, path: &str, ids: &[&str]) -> ReceivedMessage {
    let fields: String = ids.iter().map(|id| format!("x-request-id: {id}\r\n")).collect();
    let mut client = tests::e2e::client::HttpClient::connect(front);
    client.send(format!("GET {path} HTTP/1.1\r\nHost: a\r\n{fields}\r\n"));
    client.read_answer()
}

fn is_made(id: &str) -> bool {
    id.len() == 16 && id.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[test]
fn the_id_of_a_trusted_proxy_is_kept_and_found_in_the_log() {
    let recorder = RecordingServer::start();
    let balancer = start("127.0.0.0/8", &recorder);
    for (path, status) in [("/", 200), ("/denied", 403), ("/answer", 200)] {
        let id = format!("edge-7{}", path.replace('/', "-"));
        let answer = ask(balancer.front(), path, &[&id]);
        assert_eq!(answer.status(), status);
        assert_eq!(answer.field("x-request-id").as_deref(), Some(id.as_str()), "{path}");
    }
    let mut over_h2 = H2Request::get("/h2");
    over_h2.fields = vec![("x-request-id", "edge-8".to_owned())];
    let answer = send_all(balancer.front(), &[over_h2]).remove(0);
    assert_eq!(answer.field("x-request-id").as_deref(), Some("edge-8"));
    let sent: Vec<_> =
        recorder.so_far().requests.iter().map(|it| it.field("x-request-id")).collect();
    assert_eq!(sent, [Some("edge-7-".to_owned()), Some("edge-8".to_owned())]);

    let line = balancer.wait_for_log_line("the last", |line| line["request-id"] == "edge-8");
    assert!(is_made(line["id"].as_str().unwrap()), "the balancer's own is there too: {line}");
    balancer.wait_for_log_line("the refused", |line| line["request-id"] == "edge-7-denied");
    let found = balancer.cli_output(&["log", "--json", "--id", "edge-7-denied"]);
    assert!(found.contains("/denied") && !found.contains("edge-8"), "{found}");
}

#[test]
fn an_id_is_made_for_everybody_else_and_where_the_proxys_is_none() {
    let recorder = RecordingServer::start();
    let long = "a".repeat(129);
    for (trust, rows) in [
        ("10.0.0.0/8", &[&["forged"][..], &[]][..]),
        (
            "127.0.0.0/8",
            &[&[], &["one", "two"], &["a b"], &["\"><script>"], &["a\u{e9}"], &[&long]],
        ),
    ] {
        let balancer = start(trust, &recorder);
        for (at, ids) in rows.iter().enumerate() {
            for (path, status) in [(format!("/sent-{at}"), 200), ("/denied".to_owned(), 403)] {
                let answer = ask(balancer.front(), &path, ids);
                assert_eq!(answer.status(), status);
                let id = answer.field("x-request-id").unwrap();
                assert!(is_made(&id), "{ids:?}: {id}");
                let line = balancer.wait_for_log_line("it", |line| line["id"] == id.as_str());
                assert!(line["target"] == path.as_str(), "{line}");
                assert!(line.get("request-id").is_none(), "{line}");
                if status == 200 {
                    let requests = recorder.so_far().requests;
                    let last = requests.last().and_then(|it| it.field("x-request-id"));
                    assert_eq!(last.as_deref(), Some(id.as_str()), "{ids:?}");
                }
            }
        }
    }
}

#[test]
fn no_two_requests_have_one_id() {
    let recorder = RecordingServer::start();
    let balancer = start("10.0.0.0/8", &recorder);
    let mut seen = HashSet::new();
    for _ in 0..4 {
        let asked: Vec<_> = (0..50).map(|at| H2Request::get(&format!("/{at}"))).collect();
        for answer in send_all(balancer.front(), &asked) {
            let id = answer.field("x-request-id").unwrap();
            assert!(seen.insert(id.clone()), "{id} twice");
        }
    }
    assert_eq!(seen.len(), 200);
}

#[test]
fn another_spelling_and_a_trailer_do_not_reach_the_server_nor_its_own_the_client() {
    let recorder = RecordingServer::start();
    let balancer = start("127.0.0.0/8", &recorder);
    let mut client = balancer.client();
    client.send(
        "POST / HTTP/1.1\r\nHost: a\r\nX_Request_Id: forged\r\nTransfer-Encoding: chunked\r\n\
         Trailer: X-Request-Id\r\n\r\n1\r\na\r\n0\r\nX-Request-Id: forged\r\n\r\n",
    );
    assert_eq!(client.read_answer().status(), 200);
    let bytes = recorder.so_far().connections.concat();
    assert!(!String::from_utf8_lossy(&bytes).contains("forged"), "{bytes:?}");

    let server = ScriptedServer::answering(
        b"HTTP/1.1 103 Early Hints\r\nX-Request-Id: own\r\nLink: </a.css>\r\n\r\n\
          HTTP/1.1 200 OK\r\nx-request-id: own\r\nContent-Length: 0\r\n\r\n",
    );
    let balancer = TestBalancer::start(&BalancerConfig::http(&[server.address()]).service(RULES));
    let mut client = balancer.client();
    let hint = client.get("/");
    assert_eq!((hint.status(), hint.field("x-request-id")), (103, None));
    let id = client.read_answer().field("x-request-id").unwrap();
    assert!(is_made(&id), "{id}");
}

#[test]
fn a_request_that_is_sent_again_keeps_its_id() {
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let failing = || {
        let seen = seen.clone();
        ScriptedServer::start(move |stream| {
            let mut reader = HttpReader::new(&stream);
            while let Ok(Some(head)) = reader.head() {
                seen.lock().unwrap().extend(head.field("x-request-id"));
                // Ignored: the balancer may have closed.
                let _ = (&stream).write_all(b"HTTP/1.1 503 \r\nContent-Length: 0\r\n\r\n");
            }
        })
    };
    let servers = [failing(), failing()];
    let own = format!("{RULES}trust = \"127.0.0.0/8\"\n");
    let setup = BalancerConfig::http(&servers.each_ref().map(|it| it.address())).service(&own);
    let balancer = TestBalancer::start(&setup.pool("retry = { on = [503] }\n"));
    let answer = ask(balancer.front(), "/", &["edge-9"]);
    assert_eq!(answer.status(), 503);
    assert_eq!(answer.field("x-request-id").as_deref(), Some("edge-9"));
    let seen = seen.lock().unwrap();
    assert!(seen.len() >= 2 && seen.iter().all(|id| id == "edge-9"), "{seen:?}");
}

#[test]
fn without_the_key_the_field_is_one_as_any_other() {
    let recorder = RecordingServer::start();
    let balancer = TestBalancer::start(&BalancerConfig::http(&[recorder.address()]));
    let answer = ask(balancer.front(), "/", &["any"]);
    assert_eq!((answer.status(), answer.field("x-request-id")), (200, None));
    let requests = recorder.so_far().requests;
    assert_eq!(requests[0].field("x-request-id").as_deref(), Some("any"));
    let line = balancer.wait_for_log_line("it", |line| line["status"] == 200);
    assert!(line.get("request-id").is_none(), "{line}");
}

/// HAProxy in front makes the id and nginx behind logs it; ours is the one in between.
#[test]
fn the_id_of_haproxy_reaches_nginx_and_our_own_is_new_each_time_as_nginx_makes_them() {
    let shows = "add_header X-Seen $http_x_request_id always; add_header X-Own $request_id always;";
    let nginx = Nginx::with("nginx", shows);
    let own = "trust = \"127.0.0.2\"\nrequest-id = \"X-Request-Id\"\n";
    let balancer = TestBalancer::start(&BalancerConfig::http(&[nginx.address()]).service(own));
    let port = servers::reserve_port();
    let sections = format!(
        "frontend f\n  bind {}\n  unique-id-format haproxy-%[uuid]\n  unique-id-header X-Request-Id\n  \
         http-response set-header X-Theirs %[unique-id]\n  default_backend b\n\
         backend b\n  server s {} source 127.0.0.2\n",
        port.address(),
        balancer.front()
    );
    let _haproxy = Haproxy::start(&sections, port.address());
    let theirs = ask(port.address(), "/", &[]);
    let id = theirs.field("x-theirs").unwrap();
    assert!(id.starts_with("haproxy-"), "{id}");
    assert_eq!(theirs.field("x-seen").as_deref(), Some(id.as_str()));
    assert_eq!(theirs.field("x-request-id"), None, "answers have it where that is wanted");
    balancer.wait_for_log_line("its line", |line| line["request-id"] == id.as_str());

    let mut made = HashSet::new();
    for _ in 0..20 {
        // Both make one, and neither takes this client's.
        let answer = ask(balancer.front(), "/", &["forged"]);
        let ours = answer.field("x-seen").unwrap();
        let nginx = answer.field("x-own").unwrap();
        assert!(is_made(&ours) && nginx.len() == 32, "{ours} {nginx}");
        assert!(made.insert(ours) && made.insert(nginx));
    }
}
