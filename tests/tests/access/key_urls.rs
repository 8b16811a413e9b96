//! Keys of tokens from a URL: fetched in the background, fetched again for a key that is unknown, and kept while their
//! server is away.

use std::time::Instant;

use rustix::process::Signal;
use serde_json::json;
use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::certificate::{CertificateAuthority, certificate_for};
use tests::e2e::cli_environment::CliEnvironment;
use tests::e2e::client::HttpClient;
use tests::e2e::dir::TestDir;
use tests::e2e::recording_server::RecordingServer;
use tests::e2e::wait;

use crate::issuer::TestIssuer;
use crate::key_server::KeyServer;
use crate::passwords::ask;

/// A service whose tokens are checked with the keys of this URL.
fn setup(recorder: &RecordingServer, url: &str, keys: &str) -> BalancerConfig {
    let open =
        "auth = \"accounts\"\n[[service.shop.rule]]\nwhen = { path = \"/open\" }\nauth = \"off\"\n";
    let setup = BalancerConfig::http(&[recorder.address()]).service(open);
    setup.with_tables(&object(url, keys))
}

fn object(url: &str, keys: &str) -> String {
    format!(
        "[auth.accounts]\nkind = \"jwt\"\njwks-url = {url:?}\nissuer = \"https://accounts.example\"\n\
         audience = \"shop\"\n{keys}"
    )
}

fn status(balancer: &TestBalancer, issuer: &TestIssuer) -> u16 {
    let line = format!("Authorization: Bearer {}\r\n", issuer.token(json!({})));
    ask(balancer, "/", &line).status()
}

/// Whether there is an alarm about the keys with these words.
fn has_alarm(balancer: &TestBalancer, words: &str) -> bool {
    balancer.status().alarms.iter().any(|alarm| {
        alarm.subject.contains("auth.accounts.jwks-url") && alarm.reason.contains(words)
    })
}

/// Whether an event of this kind has these words.
fn has_event(balancer: &TestBalancer, what: &str, words: &str) -> bool {
    balancer.events().events.iter().any(|event| event.kind == what && event.text.contains(words))
}

#[test]
fn keys_are_fetched_and_fetched_again_for_a_key_that_is_unknown() {
    let recorder = RecordingServer::start();
    let first = TestIssuer::new("1");
    let second = TestIssuer::new("2");
    let server = KeyServer::with_set(&first.key_set());
    let begun = Instant::now();
    let balancer = TestBalancer::start(&setup(&recorder, &server.url(), ""));
    wait::until("the keys are there", || status(&balancer, &first) == 200);
    assert_eq!(balancer.count_events("auth-renewed"), 1);
    let request = server.requests().remove(0);
    assert_eq!(request.start, "GET /keys?v=1 HTTP/1.1");
    assert_eq!(request.field("host"), Some(server.address().to_string()));
    (0..100).for_each(|_| assert_eq!(status(&balancer, &second), 401));
    server.answer_set(&second.key_set());
    wait::until("the new key is there", || status(&balancer, &second) == 200);
    assert_eq!(status(&balancer, &first), 401, "the old key counts no longer, nor what it proved");
    let most = 2 + begun.elapsed().as_secs() / 5;
    let fetches = server.requests().len() as u64;
    assert!(fetches <= most, "{fetches} fetches, at most {most} would be allowed");
}

#[test]
fn answers_that_are_no_good_leave_the_set_in_force_and_are_reported() {
    let recorder = RecordingServer::start();
    let issuer = TestIssuer::new("1");
    let other = TestIssuer::new("2");
    let server = KeyServer::with_set(&issuer.key_set());
    let elsewhere = KeyServer::with_set(&other.key_set());
    let balancer = TestBalancer::start(&setup(&recorder, &server.url(), "refresh = \"1s\"\n"));
    wait::until("the keys are there", || status(&balancer, &issuer) == 200);
    let location = format!("Location: {}\r\n", elsewhere.url());
    let huge = format!("{{\"keys\":[],\"pad\":\"{}\"}}", "x".repeat(2 << 20));
    let many = format!("{{\"keys\":[{}]}}", vec!["{}"; 101].join(","));
    let half = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"keys\":[";
    for (status_line, fields, body, reason) in [
        ("200 OK", "", "{\"keys\":[", "it is no JWK Set"),
        ("200 OK", "", "{\"keys\":[]}", "none of its keys"),
        ("200 OK", "", &*many, "more than 100 keys"),
        ("200 OK", "", &*huge, "more than 1048576 bytes"),
        ("302 Found", &*location, "", "redirects are not followed"),
        ("500 Oops", "", "", "it answers 500"),
        ("", "", half, "its answer ends early"),
        ("", "", "", "connection closed"),
    ] {
        match status_line {
            "" => server.answer_bytes(body),
            line => server.answer_with(line, fields, body),
        }
        wait::until(reason, || has_alarm(&balancer, reason));
        assert_eq!(status(&balancer, &issuer), 200, "{reason}");
        assert_eq!(status(&balancer, &other), 401, "{reason}");
    }
    assert_eq!(balancer.count_events("auth-refused"), 1, "a lasting fault is reported once");
    server.answer_set(&issuer.key_set());
    wait::until("no alarm", || !has_alarm(&balancer, ""));
    assert!(elsewhere.requests().is_empty());
    assert_eq!(balancer.count_events("auth-renewed"), 1, "it was the same set all the time");
}

#[test]
fn a_server_that_never_answers_delays_nobody_and_lets_nobody_in() {
    let recorder = RecordingServer::start();
    let issuer = TestIssuer::new("1");
    let server = KeyServer::start();
    let balancer = TestBalancer::start(&setup(&recorder, &server.url(), ""));
    let line = format!("Authorization: Bearer {}\r\n", issuer.token(json!({})));
    assert_eq!(ask(&balancer, "/", &line).status(), 503);
    assert_eq!(ask(&balancer, "/", "").status(), 401);
    assert_eq!(ask(&balancer, "/open", "").status(), 200);
    balancer.wait_for_log_line("the cause", |line| line["cause"] == "auth-unanswered");
    wait::until("an event", || has_event(&balancer, "auth-refused", "no answer within 10 s"));
    assert_eq!(ask(&balancer, "/", &line).status(), 503);
    assert_eq!(recorder.so_far().requests.len(), 1);
    server.answer_set(&issuer.key_set());
    wait::until("the keys are there", || status(&balancer, &issuer) == 200);
}

#[test]
fn keys_count_for_their_time_while_their_server_is_away_and_again_when_it_is_back() {
    let recorder = RecordingServer::start();
    let issuer = TestIssuer::new("1");
    let server = KeyServer::with_set(&issuer.key_set());
    let keys = "refresh = \"1s\"\nmax-stale = \"2s\"\n";
    let balancer = TestBalancer::start(&setup(&recorder, &server.url(), keys));
    wait::until("the keys are there", || status(&balancer, &issuer) == 200);
    server.answer_bytes("");
    wait::until("an event", || has_event(&balancer, "auth-refused", "the right ones"));
    wait::until("they are too old", || status(&balancer, &issuer) == 503);
    wait::until("an event", || {
        has_event(&balancer, "auth-refused", "have not been confirmed for 2 s")
    });
    server.answer_with("304 Not Modified", "", "");
    wait::until("they count again", || status(&balancer, &issuer) == 200);
}

#[test]
fn a_set_that_has_not_changed_is_not_sent_again() {
    let recorder = RecordingServer::start();
    let issuer = TestIssuer::new("1");
    let server = KeyServer::with_set(&issuer.key_set());
    let keys = "refresh = \"1s\"\nmax-stale = \"4s\"\n";
    let balancer = TestBalancer::start(&setup(&recorder, &server.url(), keys));
    wait::until("the keys are there", || status(&balancer, &issuer) == 200);
    server.answer_with("304 Not Modified", "", "");
    let begun = server.requests().len();
    wait::until("it is asked again and again", || server.requests().len() > begun + 6);
    assert_eq!(status(&balancer, &issuer), 200);
    let asked = server.requests().split_off(begun);
    assert!(asked.iter().all(|it| it.field("if-none-match").as_deref() == Some("\"1\"")));
    assert_eq!(balancer.count_events("auth-refused"), 0);
}

#[test]
fn only_a_server_with_the_right_certificate_gives_keys() {
    let recorder = RecordingServer::start();
    let dir = TestDir::new();
    let issuer = TestIssuer::new("1");
    let server = KeyServer::with_set(&issuer.key_set());
    let right = CertificateAuthority::new("right");
    let ca = right.write(dir.join("right.pem"));
    let wrong = CertificateAuthority::new("wrong").write(dir.join("wrong.pem"));
    let pair = right.pair(dir.join("keys.pem"), &certificate_for(&["localhost"]));
    let tls = BalancerConfig::http(&[server.address()]).service(&format!("tls = {pair:?}\n"));
    let tls = TestBalancer::start(&tls);
    let port = tls.front().port();
    let url = |host: &str| format!("https://{host}:{port}/keys");
    let untrusted = format!("ca = {wrong:?}\n");
    let mut balancer = TestBalancer::start(&setup(&recorder, &url("localhost"), &untrusted));
    wait::until("an event", || has_event(&balancer, "auth-refused", "certificate"));
    assert_eq!(status(&balancer, &issuer), 503);
    let before = balancer.setup();
    let with = |host, keys: &str| before.clone().with_tables(&object(&url(host), keys));
    let trusted = format!("ca = {ca:?}\n");
    for (host, keys) in [("localhost", ""), ("127.0.0.1", &*trusted)] {
        let before = balancer.count_events("auth-refused");
        balancer.reload(&with(host, keys));
        wait::until("an event", || balancer.count_events("auth-refused") > before);
        assert_eq!(status(&balancer, &issuer), 503, "{host}");
    }
    assert!(server.requests().is_empty());
    balancer.reload(&with("localhost", &trusted));
    wait::until("the keys are there", || status(&balancer, &issuer) == 200);
}

#[test]
fn another_url_counts_with_the_reload_and_the_keys_of_the_old_one_no_longer() {
    let recorder = RecordingServer::start();
    let first = TestIssuer::new("1");
    let second = TestIssuer::new("2");
    let old = KeyServer::with_set(&first.key_set());
    let new = KeyServer::start();
    let mut balancer = TestBalancer::start(&setup(&recorder, &old.url(), ""));
    wait::until("the keys are there", || status(&balancer, &first) == 200);
    let before = balancer.setup();
    let with = |url: &str, keys: &str| before.clone().with_tables(&object(url, keys));
    balancer.reload(&with(&old.url(), "leeway = \"1s\"\n"));
    assert_eq!(status(&balancer, &first), 200, "the keys are the same");
    balancer.reload(&with(&new.url(), ""));
    assert_eq!(status(&balancer, &first), 503);
    new.answer_set(&second.key_set());
    wait::until("the new keys are there", || status(&balancer, &second) == 200);
    assert_eq!(status(&balancer, &first), 401);
}

#[test]
fn keys_are_kept_over_a_restart_while_their_server_is_away() {
    let recorder = RecordingServer::start();
    let issuer = TestIssuer::new("1");
    let server = KeyServer::with_set(&issuer.key_set());
    let setup = setup(&recorder, &server.url(), "");
    let place = CliEnvironment::new(&setup);
    let line = format!("Authorization: Bearer {}\r\n", issuer.token(json!({})));
    let ask = || {
        let mut client = HttpClient::connect(setup.fronts()[0]);
        client.send(format!("GET / HTTP/1.1\r\nHost: shop.example\r\n{line}\r\n"));
        client.read_answer().status()
    };
    let mut first = place.start();
    wait::until("the keys are there", || ask() == 200);
    server.answer_bytes("");
    first.signal(Signal::KILL);
    first.wait();
    let _second = place.start();
    assert_eq!(ask(), 200, "the keys are those of the process before");
    wait::until("an event", || place.count_events("auth-refused") == 1);
    let asked = server.requests().pop().unwrap();
    assert_eq!(asked.field("if-none-match").as_deref(), Some("\"1\""));
    assert_eq!(ask(), 200);
}
