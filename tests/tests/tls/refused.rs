//! Failed handshakes: each ends soon, is counted and named, and does not affect other connections.

use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::client::HttpClient;
use tests::e2e::servers::{self, addresses};
use tests::e2e::wait;

use crate::authority::{TlsAuthority, s_client};

#[test]
fn what_is_no_handshake_is_named() {
    let ours = TlsAuthority::new();
    let origins = [servers::origin("a")];
    let pair = ours.pair("shop.pem", &["shop.example"]);
    let tls = format!(
        "tls = {{ certificates = {pair:?}, unknown-sni = \"refuse\", policy = \"modern\", handshake = \"300ms\" }}\n"
    );
    let balancer = TestBalancer::start(&BalancerConfig::http(&addresses(&origins)).service(&tls));
    let front = balancer.front();
    let named = |cause: &str, detail: &str| {
        let what = format!("{cause} {detail}");
        balancer.wait_for_log_line(&what, |line| {
            line["cause"] == cause && (detail.is_empty() || line["defect"] == detail)
        });
    };
    let say = |bytes: &[u8]| {
        let mut client = HttpClient::connect(front);
        client.send(bytes);
        let _ = client.read_to_end_or_reset();
    };
    // A record with an impossible length, and bytes of no protocol.
    say(&[0x16, 3, 1, 0xff, 0xff, 0, 0]);
    named("tls-handshake", "malformed");
    say(&[0u8; 64]);
    named("tls-handshake", "not-tls");
    // A truncated ClientHello without a continuation.
    say(&[0x16, 3, 1, 0, 200, 1, 0, 0, 196]);
    named("tls-handshake-timeout", "");
    assert!(s_client(front, &["-servername", "other.example"]).contains("alert"));
    named("tls-unknown-name", "unknown-name");
    assert!(s_client(front, &["-tls1_2", "-servername", "shop.example"]).contains("alert"));
    named("tls-handshake", "no-common-version");
    // A client that does not trust the certificate sends an alert.
    let stranger = TlsAuthority::new();
    assert!(!stranger.try_curl(front, "shop.example", &[]).status.success());
    named("tls-handshake", "client-refused");
    // A connection that closes without sending anything is not an exchange.
    drop(HttpClient::connect(front));
    wait::until("seven failed handshakes", || {
        let report = balancer.report();
        report.total.tls.iter().any(|one| one.name == "failed" && one.count.total == 7)
    });
    let report = balancer.report_when_settled();
    assert_eq!((report.total.requests.requests.total, report.total.requests.aborted.total), (6, 6));
    assert_eq!(report.total.requests.unaccounted, 0);
    assert_eq!(ours.curl(front, "shop.example", &["-o", "/dev/null", "-w", "%{http_code}"]), "200");
}

#[test]
fn handshakes_have_a_limit() {
    let ours = TlsAuthority::new();
    let origins = [servers::origin("a")];
    let pair = ours.pair("shop.pem", &["shop.example"]);
    let tls = format!("tls = {{ certificates = {pair:?}, handshakes = 2 }}\n");
    let setup = BalancerConfig::http(&addresses(&origins)).global("workers = 1\n").service(&tls);
    let balancer = TestBalancer::start(&setup);
    let slow: Vec<HttpClient> = (0..2).map(|_| HttpClient::connect(balancer.front())).collect();
    for client in &slow {
        client.send([0x16]);
    }
    // A stalled handshake may be evicted for a new one, but not two within a second.
    let mut others = Vec::new();
    wait::until("the limit", || {
        let other = HttpClient::connect(balancer.front());
        other.send([0x16]);
        others.push(other);
        balancer.log().iter().any(|line| line["cause"] == "tls-handshake-limit")
    });
    drop((slow, others));
    let code = ["-o", "/dev/null", "-w", "%{http_code}"];
    wait::until("served again", || {
        ours.try_curl(balancer.front(), "shop.example", &code).stdout == b"200"
    });
}
