//! Answers that count for a time: for the same question alone, and only if they may be kept.

use tests::e2e::balancer::TestBalancer;
use tests::e2e::client::HttpClient;
use tests::e2e::recording_server::RecordingServer;

use crate::asked_server::{AskedServer, asking};

/// Sends a request and returns the status.
fn send(client: &mut HttpClient, method: &str, target: &str, lines: &str) -> u16 {
    client.send(format!("{method} {target} HTTP/1.1\r\nHost: shop.example\r\n{lines}\r\n"));
    client.read_answer().status()
}

#[test]
fn two_users_never_share_an_answer() {
    let recorder = RecordingServer::start();
    let asked = AskedServer::of_users();
    let keys = "cache = \"1h\"\nresponse-headers = \"X-User\"\n";
    let balancer = TestBalancer::start(&asking(recorder.address(), &[asked.address()], keys));
    // One connection is on one worker.
    let mut client = balancer.client();
    let users = ["ann", "bob", "ann; a=1", "bob, user=ann"];
    for _ in 0..5 {
        for user in users {
            assert_eq!(send(&mut client, "GET", "/", &format!("Cookie: user={user}\r\n")), 200);
        }
        assert_eq!(send(&mut client, "GET", "/", "X-User: ann\r\n"), 401);
    }
    let names = ["ann", "bob", "ann", "bob"];
    let requests = recorder.so_far().requests;
    assert_eq!(requests.len(), 20);
    for (request, name) in requests.iter().zip(names.iter().cycle()) {
        assert_eq!(request.field("x-user").as_deref(), Some(*name));
    }
    // Each user once, and nobody each time.
    assert_eq!(asked.questions().len(), users.len() + 5);
    let metrics = balancer.metrics();
    for line in [
        "steelyard_service_auth_cached_total{service=\"shop\"} 16",
        "steelyard_service_auth_admitted_total{service=\"shop\"} 20",
        "steelyard_service_auth_requests_total{service=\"shop\",outcome=\"passed\"} 4",
        "steelyard_service_auth_requests_total{service=\"shop\",outcome=\"refused\"} 5",
    ] {
        assert!(metrics.contains(line), "{line}\n{metrics}");
    }
    let mut ask_again = |what: &str, method: &str, target: &str, lines: &str| {
        let before = asked.questions().len();
        send(&mut client, method, target, lines);
        send(&mut client, method, target, lines);
        assert_eq!(asked.questions().len(), before + 1, "{what}");
    };
    ask_again("another path", "GET", "/a", "Cookie: user=ann\r\n");
    ask_again("another query", "GET", "/a?b", "Cookie: user=ann\r\n");
    ask_again("another method", "POST", "/", "Cookie: user=ann\r\nContent-Length: 0\r\n");
    ask_again("a token", "GET", "/", "Cookie: user=ann\r\nAuthorization: Bearer x\r\n");
    ask_again("another token", "GET", "/", "Cookie: user=ann\r\nAuthorization: Bearer y\r\n");
    ask_again("two cookies", "GET", "/", "Cookie: user=ann\r\nCookie: user=bob\r\n");
    let asked_once = balancer.wait_for_log_line("a question", |line| line["target"] == "/a?b");
    assert!(asked_once["auth-ms"].is_number(), "{asked_once}");
    balancer.wait_for_log_line("a remembered answer", |line| {
        line["target"] == "/a?b" && line.get("auth-ms").is_none()
    });
}

#[test]
fn what_may_not_be_kept_is_asked_for_each_time() {
    let recorder = RecordingServer::start();
    let asked = AskedServer::start(|question| {
        let lines = match question.field("x-forwarded-uri").unwrap_or_default().as_str() {
            "/cookie" => "Set-Cookie: s=1\r\n",
            "/no-store" => "Cache-Control: private, no-store\r\n",
            "/now" => "Cache-Control: max-age=0\r\n",
            "/long" => return long_answer(),
            _ => "Cache-Control: max-age=600\r\n",
        };
        format!("HTTP/1.1 200 OK\r\n{lines}Content-Length: 0\r\n\r\n").into_bytes()
    });
    let keys = "cache = \"1h\"\nresponse-headers = \"X-User\"\n";
    let balancer = TestBalancer::start(&asking(recorder.address(), &[asked.address()], keys));
    let mut client = balancer.client();
    for (target, times) in [("/cookie", 3), ("/no-store", 3), ("/now", 3), ("/long", 3), ("/", 1)] {
        let before = asked.questions().len();
        for _ in 0..3 {
            assert_eq!(send(&mut client, "GET", target, ""), 200, "{target}");
        }
        assert_eq!(asked.questions().len() - before, times, "{target}");
    }
}

/// An answer with more for the server than is remembered.
fn long_answer() -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\nX-User: {}\r\nContent-Length: 0\r\n\r\n", "a".repeat(3_000))
        .into_bytes()
}
