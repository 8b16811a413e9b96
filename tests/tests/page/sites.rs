//! Restrictions of the API over TCP: hosts, origins and TLS, and the headers of every response.

use api::routes;
use api::types::Role;
use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::certificate::{CertificateAuthority, certificate_for};
use tests::e2e::servers::{addresses, origin};
use tests::e2e::tools;
use tests::e2e::wait;

use crate::client::{ApiListener, problem, token};

/// Request headers, and the expected status and problem.
type SiteCase<'r> = (&'r [(&'r str, &'r str)], u16, &'r str);

#[test]
fn only_our_own_hosts_and_pages_are_answered() {
    let origins = [origin("a")];
    let door = ApiListener::new();
    let setup = door.on(BalancerConfig::http(&addresses(&origins)), ", hosts = [\"lb.example\"]");
    let _balancer = TestBalancer::start(&setup);
    door.open();
    let own = format!("http://{}", door.address());
    let rows: [SiteCase<'_>; 9] = [
        (&[("origin", &own)], 200, ""),
        (&[("sec-fetch-site", "same-origin")], 200, ""),
        (&[("host", "lb.example")], 200, ""),
        (&[("host", "evil.example")], 421, "host"),
        (&[("host", "127.0.0.1.evil.example")], 421, "host"),
        (&[("origin", "http://evil.example")], 403, "origin"),
        (&[("origin", "null")], 403, "origin"),
        (&[("origin", &own), ("sec-fetch-site", "cross-site")], 403, "origin"),
        (&[("host", "lb.example"), ("origin", &own)], 403, "origin"),
    ];
    for (headers, status, kind) in rows {
        let answer = door.ask("GET", routes::STATUS, headers, "");
        assert_eq!(answer.status(), status, "{headers:?}: {answer:?}");
        if status != 200 {
            assert_eq!(problem(&answer), kind, "{headers:?}");
        }
        assert_eq!(answer.field("access-control-allow-origin"), None);
    }
    // CORS preflight requests are rejected for every origin.
    let preflight = [("origin", "http://evil.example"), ("access-control-request-method", "POST")];
    assert_eq!(door.ask("OPTIONS", routes::APPLY, &preflight, "").status(), 403);
    for path in ["/", "/app.js", routes::STATUS, "/nothing"] {
        let answer = door.ask("GET", path, &[], "");
        let policy = answer.field("content-security-policy").unwrap_or_default();
        assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{path}");
        assert!(policy.contains("frame-ancestors 'none'"), "{path}: {policy}");
        assert_eq!(answer.field("x-content-type-options").as_deref(), Some("nosniff"), "{path}");
        let cache = if path.starts_with("/v1") { "no-store" } else { "no-" };
        assert!(answer.field("cache-control").unwrap().starts_with(cache), "{path}");
    }
}

#[test]
fn over_tls_the_page_is_there_and_a_new_certificate_is_shown() {
    let origins = [origin("a")];
    let door = ApiListener::new();
    let setup =
        door.on(BalancerConfig::http(&addresses(&origins)), ", certificate = \"DIR/control.pem\"");
    let balancer = TestBalancer::start(&setup);
    let read = token(balancer.dir(), Role::View);
    // The daemon starts before its certificate exists.
    let dir = balancer.dir();
    let ask = |authority: &CertificateAuthority| {
        let ca = authority.write(dir.join("ca.pem"));
        let url = format!("https://{}/v1/me", door.address());
        let mut command = std::process::Command::new(tools::program("curl"));
        command.args(["-sS", "--http1.1", "--max-time", "10", "--cacert"]).arg(ca);
        let said = command.args(["-H", &format!("authorization: Bearer {read}"), &url]).output();
        let said = said.unwrap();
        said.status.success().then(|| String::from_utf8(said.stdout).unwrap())
    };
    for name in ["first", "second"] {
        let authority = CertificateAuthority::new(name);
        authority.pair(dir.join("control.pem"), &certificate_for(&["127.0.0.1"]));
        let me = wait::until_some("the certificate is shown", || ask(&authority));
        assert!(me.contains("the-view"), "{me}");
    }
    // A failed TLS handshake only ends its own connection.
    let nonsense = door_without_tls(&door);
    assert!(!nonsense.contains("200"), "{nonsense}");
}

fn door_without_tls(door: &ApiListener) -> String {
    let mut client = tests::e2e::client::HttpClient::connect(door.address());
    client.send("GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n");
    let rest = client.read_to_end_or_reset().unwrap_or_default();
    String::from_utf8_lossy(&rest).into_owned()
}

#[test]
fn the_listener_follows_the_configuration() {
    let origins = [origin("a")];
    let first = ApiListener::new();
    let second = ApiListener::new();
    let setup = BalancerConfig::http(&addresses(&origins));
    let mut balancer = TestBalancer::start(&first.on(setup.clone(), ""));
    first.open();
    balancer.reload(&second.on(setup.clone(), ""));
    second.open();
    wait::until("the old one is closed", || {
        tests::e2e::client::HttpClient::try_connect(first.address()).is_err()
    });
    balancer.reload(&setup);
    wait::until("nobody listens", || {
        tests::e2e::client::HttpClient::try_connect(second.address()).is_err()
    });
}
