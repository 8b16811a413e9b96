//! Signed tokens: who comes in, what servers get, what refusals say, and what happens when the keys change.

use serde_json::json;
use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::dir::TestDir;
use tests::e2e::h2client::{H2Request, send_all};
use tests::e2e::recording_server::RecordingServer;
use tests::e2e::wait;

use crate::issuer::TestIssuer;
use crate::passwords::ask;

/// A service that asks for tokens of this issuer, with further keys of the object.
fn start(
    recorder: &RecordingServer,
    dir: &TestDir,
    issuer: &TestIssuer,
    keys: &str,
) -> TestBalancer {
    let file = dir.write("keys.jwks", issuer.key_set());
    let setup = BalancerConfig::http(&[recorder.address()])
        .service("auth = \"accounts\"\nhttp2 = \"always\"\n")
        .with_tables(&format!(
            "[auth.accounts]\nkind = \"jwt\"\nfile = {file:?}\nissuer = \"https://accounts.example\"\n\
             audience = \"shop\"\nleeway = \"0s\"\n{keys}"
        ));
    TestBalancer::start(&setup)
}

#[test]
fn whoever_has_a_right_token_reaches_the_server_and_nobody_else_does() {
    let recorder = RecordingServer::start();
    let dir = TestDir::new();
    let issuer = TestIssuer::new("1");
    let fields = "user-field = \"X-User\"\nclaim-fields = [\"X-Tenant: tenant\", \"X-Roles: /realm/roles\"]\n";
    let balancer = start(&recorder, &dir, &issuer, fields);
    let good = issuer.token(json!({"tenant": "blue", "realm": {"roles": ["dev", "ops"]}}));
    let forged = "X-User: root\r\nX_Tenant: red\r\nx-roles: admin\r\n";
    let authorization = format!("Authorization: Bearer {good}\r\n");
    for _ in 0..2 {
        let answer = ask(&balancer, "/", &format!("{authorization}{forged}"));
        assert_eq!(answer.status(), 200);
        let mut over_h2 = H2Request::get("/");
        over_h2.fields = vec![("authorization", format!("bearer {good}"))];
        over_h2.fields.push(("x-user", "root".to_owned()));
        assert_eq!(send_all(balancer.front(), &[over_h2])[0].status, 200);
    }
    let plain = issuer.token(json!({}));
    let answer = ask(&balancer, "/", &format!("Authorization: Bearer {plain}\r\n{forged}"));
    assert_eq!(answer.status(), 200);
    let record = recorder.so_far();
    assert_eq!(record.requests.len(), 5);
    for (at, request) in record.requests.iter().enumerate() {
        let tenant = (at < 4).then(|| "blue".to_owned());
        let roles = (at < 4).then(|| "dev,ops".to_owned());
        assert_eq!(request.field("authorization"), None);
        assert_eq!(request.field("x_tenant"), None);
        assert_eq!(request.field("x-user").as_deref(), Some("ann"));
        assert_eq!(request.field("x-tenant"), tenant, "{at}");
        assert_eq!(request.field("x-roles"), roles, "{at}");
    }
    assert!(
        balancer.metrics().contains("steelyard_service_auth_admitted_total{service=\"shop\"} 5")
    );
    assert_eq!(balancer.report_when_settled().total.requests.unaccounted, 0);
}

#[test]
fn a_refusal_says_what_is_wrong_with_the_token_and_is_counted() {
    let recorder = RecordingServer::start();
    let dir = TestDir::new();
    let issuer = TestIssuer::new("1");
    let keys = "realm = \"Shop\"\nrequired-claims = \"scope: read\"\nuser-field = \"X-User\"\n";
    let balancer = start(&recorder, &dir, &issuer, keys);
    let read = json!({"scope": "read"});
    let right = issuer.token(read.clone());
    let with = |name: &str, value: serde_json::Value| {
        let mut claims = read.clone();
        claims[name] = value;
        issuer.token(claims)
    };
    let bearer = |token: String| format!("Authorization: Bearer {token}\r\n");
    let far = 4_000_000_000u64;
    let none = "eyJhbGciOiJub25lIn0.e30.".to_owned();
    for (lines, reason) in [
        (String::new(), "absent"),
        ("Authorization: Basic eDp5\r\n".to_owned(), "absent"),
        (format!("X-Token: {right}\r\n"), "absent"),
        (bearer(right.clone()).repeat(2), "malformed"),
        (bearer("x".to_owned()), "malformed"),
        (bearer(none), "algorithm"),
        (bearer(TestIssuer::new("2").token(read.clone())), "unknown-key"),
        (bearer(TestIssuer::new("1").token(read.clone())), "signature"),
        (bearer(with("exp", json!(1))), "expired"),
        (bearer(with("nbf", json!(far))), "not-yet-valid"),
        (bearer(with("iss", json!("https://evil.example"))), "issuer"),
        (bearer(with("aud", json!("bank"))), "audience"),
        (bearer(with("scope", json!("write"))), "claim"),
        (bearer(with("sub", json!("ann\r\nX-Role: root"))), "claim"),
    ] {
        let name = format!(
            "steelyard_service_tokens_refused_total{{service=\"shop\",reason=\"{reason}\"}}"
        );
        let before = counter(&balancer, &name);
        let answer = ask(&balancer, "/", &lines);
        assert_eq!(answer.status(), 401, "{lines}");
        assert_eq!(answer.field("cache-control").as_deref(), Some("no-store"));
        let challenge = answer.field("www-authenticate").unwrap();
        let expected = match reason {
            "absent" => challenge == "Bearer realm=\"Shop\"",
            _ => challenge.starts_with(
                "Bearer realm=\"Shop\", error=\"invalid_token\", error_description=\"",
            ),
        };
        assert!(expected, "{challenge}");
        assert_eq!(counter(&balancer, &name), before + 1, "{reason}");
    }
    let huge = ask(&balancer, "/", &bearer(with("pad", json!("x".repeat(1 << 20)))));
    assert_eq!(huge.status(), 431);
    let mut refused = H2Request::get("/");
    refused.fields = vec![("authorization", "Bearer x".to_owned())];
    assert_eq!(send_all(balancer.front(), &[refused])[0].status, 401);
    assert_eq!(ask(&balancer, "/", &bearer(right.clone())).status(), 200);
    assert_eq!(recorder.so_far().requests.len(), 1);
    let signature = right.rsplit_once('.').unwrap().1;
    assert!(!balancer.log_text().contains(signature), "no token stands in the log");
}

/// The value of a metric; 0 if it is not there.
fn counter(balancer: &TestBalancer, name: &str) -> u64 {
    let metrics = balancer.metrics();
    let line = metrics.lines().find_map(|line| line.strip_prefix(name));
    line.map_or(0, |value| value.trim().parse().unwrap())
}

#[test]
fn a_token_in_a_cookie_or_another_field_is_taken_out_for_servers() {
    let recorder = RecordingServer::start();
    let dir = TestDir::new();
    let issuer = TestIssuer::new("1");
    let balancer = start(&recorder, &dir, &issuer, "cookie = \"session\"\n");
    let token = issuer.token(json!({}));
    for (lines, status) in [
        (format!("Authorization: Bearer {token}\r\n"), 401),
        (format!("Cookie: session={token}; session={token}\r\n"), 401),
        (format!("Cookie: Session={token}\r\n"), 401),
        (format!("Cookie: a=1; session={token}; b=2\r\nCookie: c=3\r\n"), 200),
        (format!("Cookie: session={token}\r\n"), 200),
    ] {
        assert_eq!(ask(&balancer, "/", &lines).status(), status, "{lines}");
    }
    let mut over_h2 = H2Request::get("/");
    over_h2.fields = vec![("cookie", "a=1".to_owned()), ("cookie", format!("session={token}"))];
    assert_eq!(send_all(balancer.front(), &[over_h2])[0].status, 200);
    let record = recorder.so_far();
    let all = String::from_utf8_lossy(&record.connections.concat()).into_owned();
    assert!(!all.contains("session"), "{all}");
    assert!(all.contains("a=1; b=2") && all.contains("c=3"), "{all}");
    assert_eq!(record.requests[1].field("cookie"), None);
    assert_eq!(record.requests[2].field("cookie").as_deref(), Some("a=1"));
    drop(balancer);

    let recorder = RecordingServer::start();
    let balancer =
        start(&recorder, &dir, &issuer, "header = \"X-Token\"\nkeep-credentials = true\n");
    for (lines, status) in [
        (format!("Authorization: Bearer {token}\r\n"), 401),
        (format!("X-Token: {token}\r\n"), 200),
        (format!("X-Token: Bearer {token}\r\n"), 200),
    ] {
        assert_eq!(ask(&balancer, "/", &lines).status(), status, "{lines}");
    }
    assert_eq!(recorder.so_far().requests[0].field("x-token"), Some(token));
}

#[test]
fn changed_keys_count_at_once_and_keys_that_are_no_good_do_not() {
    let recorder = RecordingServer::start();
    let dir = TestDir::new();
    let issuer = TestIssuer::new("1");
    let balancer = start(&recorder, &dir, &issuer, "");
    let line = format!("Authorization: Bearer {}\r\n", issuer.token(json!({})));
    assert_eq!(ask(&balancer, "/", &line).status(), 200);
    dir.write("keys.jwks", "{\"keys\":[{\"kty\":\"oct\",\"k\":\"c2VjcmV0\"}]}");
    wait::until("an event", || balancer.count_events("auth-refused") == 1);
    assert_eq!(ask(&balancer, "/", &line).status(), 200, "as before");
    let events = format!("{:?}", balancer.events());
    assert!(events.contains("auth.accounts.file") && !events.contains("c2VjcmV0"), "{events}");
    let renewed = TestIssuer::new("1");
    dir.write("keys.jwks", renewed.key_set());
    wait::until("an event", || balancer.count_events("auth-renewed") == 1);
    // The token was proven a moment ago, by a key that counts no longer.
    wait::until("the old key counts no longer", || ask(&balancer, "/", &line).status() == 401);
    let line = format!("Authorization: Bearer {}\r\n", renewed.token(json!({})));
    assert_eq!(ask(&balancer, "/", &line).status(), 200);
}

#[test]
fn a_proven_token_ends_when_it_says() {
    let recorder = RecordingServer::start();
    let dir = TestDir::new();
    let issuer = TestIssuer::new("1");
    let balancer = start(&recorder, &dir, &issuer, "");
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let token = issuer.token(json!({"exp": now.as_secs() + 3}));
    let line = format!("Authorization: Bearer {token}\r\n");
    let name = "steelyard_service_auth_cached_total{service=\"shop\"}";
    wait::until("the token is remembered", || {
        // Each worker remembers for itself, and each connection may get another one.
        ask(&balancer, "/", &line).status() == 401 || counter(&balancer, name) > 0
    });
    wait::until("the token has ended", || ask(&balancer, "/", &line).status() == 401);
    let expired = "steelyard_service_tokens_refused_total{service=\"shop\",reason=\"expired\"}";
    assert!(counter(&balancer, expired) > 0);
}
