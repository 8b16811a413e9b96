//! Passwords from a file: what a client gets, what a server gets, and what happens when the file changes.

use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::dir::TestDir;
use tests::e2e::h2client::{H2Request, send_all};
use tests::e2e::http::ReceivedMessage;
use tests::e2e::recording_server::RecordingServer;
use tests::e2e::wait;

/// Users of `htpasswd`, all with the password `open sesame`.
pub const USERS: &str = "bcrypt:$2y$05$oKd39FlQXrO6ZAb.Bp17q.dvnwlgmQoTl/32LjWQJ40UDU7SXiBve\n\
    sha512:$6$QcMDZbKF/dxAqgMF$drqecuG3JCTTX2aKohYOnoWOiWCZCcm7xuV3x1DOeBmLB1xfr4YHivU2PTtq4COENQTNw5sNWlxAgtvpTk0VJ0\n\
    sha256:$5$d1TaKvDaxki5cDxn$k3sWaDziPSCyt7afzHFBsSCICZ6vFwE5GVS5F/NU9F7\n\
    apr1:$apr1$fI.O7AED$DRX0NO3x3.3DbKANlVUoD/\n";

/// `argon2:open sesame`, which nginx on Debian cannot check.
const ARGON2: &str =
    "argon2:$argon2id$v=19$m=64,t=1,p=1$c2FsdHNhbHQ$ixpwwKn9ahZABsFdSCp89Bjv1gR+y5qCxswm94TuOzs\n";

/// The value of `Authorization` of a user with this password.
pub fn basic(user: &str, password: &str) -> String {
    use std::process::{Command, Stdio};
    let pair = format!("{user}:{password}");
    let mut encoder = Command::new("base64");
    encoder.arg("-w0").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = encoder.spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), pair.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    format!("Basic {}", String::from_utf8(output.stdout).unwrap())
}

/// A request for `/` with these field lines.
pub fn ask(balancer: &TestBalancer, target: &str, lines: &str) -> ReceivedMessage {
    let mut client = balancer.client();
    client.send(format!("GET {target} HTTP/1.1\r\nHost: shop.example\r\n{lines}\r\n"));
    client.read_answer()
}

/// A service that asks for passwords of this file, with further keys of the object.
fn setup(recorder: &RecordingServer, dir: &TestDir, users: &str, keys: &str) -> BalancerConfig {
    let file = dir.write("users", users);
    BalancerConfig::http(&[recorder.address()])
        .service("auth = \"staff\"\nhttp2 = \"always\"\n")
        .with_tables(&format!("[auth.staff]\nkind = \"basic\"\nfile = {file:?}\n{keys}"))
}

#[test]
fn whoever_has_the_password_reaches_the_server_and_nobody_else_does() {
    let recorder = RecordingServer::start();
    let dir = TestDir::new();
    let keys = "realm = \"He said \\\"hi\\\"\"\nuser-field = \"X-User\"\n";
    let balancer = TestBalancer::start(&setup(&recorder, &dir, &format!("{USERS}{ARGON2}"), keys));
    let challenge = "Basic realm=\"He said \\\"hi\\\"\", charset=\"UTF-8\"";
    for lines in [
        String::new(),
        format!("Authorization: {}\r\n", basic("bcrypt", "open sesam")),
        format!("Authorization: {}\r\n", basic("nobody", "open sesame")),
        format!("Authorization: {0}\r\nAuthorization: {0}\r\n", basic("apr1", "open sesame")),
        "Authorization: Bearer x\r\n".to_owned(),
    ] {
        let refused = ask(&balancer, "/", &lines);
        assert_eq!(refused.status(), 401, "{lines}");
        assert_eq!(refused.field("www-authenticate").as_deref(), Some(challenge));
        assert_eq!(refused.field("cache-control").as_deref(), Some("no-store"));
        assert_eq!(refused.field("x-steelyard-cause").as_deref(), Some("unauthenticated"));
    }
    assert!(recorder.so_far().requests.is_empty());
    let users = ["bcrypt", "sha512", "sha256", "apr1", "argon2"];
    for user in users {
        let lines = format!(
            "Authorization: {}\r\nX-User: root\r\nx_user: root\r\n",
            basic(user, "open sesame")
        );
        assert_eq!(ask(&balancer, "/", &lines).status(), 200, "{user}");
        let mut over_h2 = H2Request::get("/");
        over_h2.fields = vec![("authorization", basic(user, "open sesame"))];
        over_h2.fields.push(("x-user", "root".to_owned()));
        assert_eq!(send_all(balancer.front(), &[over_h2])[0].status, 200, "{user}");
    }
    let record = recorder.so_far();
    assert_eq!(record.requests.len(), 2 * users.len());
    for (at, request) in record.requests.iter().enumerate() {
        assert_eq!(request.field("authorization"), None);
        assert_eq!(request.field("x_user"), None);
        assert_eq!(request.field("x-user").as_deref(), Some(users[at / 2]));
    }
    let metrics = balancer.metrics();
    for line in [
        "steelyard_service_auth_admitted_total{service=\"shop\"} 10",
        "steelyard_service_auth_cached_total{service=\"shop\"} 5",
        "steelyard_service_causes_total{service=\"shop\",cause=\"unauthenticated\",side=\"balancer\"} 5",
    ] {
        assert!(metrics.contains(line), "{line}\n{metrics}");
    }
    let refused = H2Request::get("/");
    assert_eq!(send_all(balancer.front(), &[refused])[0].status, 401);
    assert_eq!(balancer.report_when_settled().total.requests.unaccounted, 0);
}

#[test]
fn credentials_are_kept_for_servers_where_that_is_wanted() {
    let recorder = RecordingServer::start();
    let dir = TestDir::new();
    let balancer = TestBalancer::start(&setup(&recorder, &dir, USERS, "keep-credentials = true\n"));
    let value = basic("apr1", "open sesame");
    assert_eq!(ask(&balancer, "/", &format!("Authorization: {value}\r\n")).status(), 200);
    let record = recorder.so_far();
    assert_eq!(record.requests[0].field("authorization"), Some(value));
}

#[test]
fn a_changed_file_counts_at_once_and_a_broken_one_does_not() {
    let recorder = RecordingServer::start();
    let dir = TestDir::new();
    let balancer = TestBalancer::start(&setup(&recorder, &dir, USERS, ""));
    let lines = format!("Authorization: {}\r\n", basic("apr1", "open sesame"));
    assert_eq!(ask(&balancer, "/", &lines).status(), 200);
    dir.write("users", "apr1:secret");
    wait::until("an event", || balancer.count_events("auth-refused") == 1);
    assert_eq!(ask(&balancer, "/", &lines).status(), 200, "as before");
    let events = format!("{:?}", balancer.events());
    assert!(events.contains("auth.staff.file") && !events.contains("secret"), "{events}");
    // Without the user, whose password was proven a moment ago.
    dir.write("users", USERS.lines().next().unwrap());
    wait::until("an event", || balancer.count_events("auth-renewed") == 1);
    wait::until("the user has no access", || ask(&balancer, "/", &lines).status() == 401);
}

#[test]
fn many_wrong_passwords_of_one_client_leave_room_for_others_that_are_proven() {
    let recorder = RecordingServer::start();
    let dir = TestDir::new();
    // Each check of this cost takes a good part of a second.
    let slow = USERS.replace("$2y$05$", "$2y$13$");
    let balancer = TestBalancer::start(&setup(&recorder, &dir, &slow, ""));
    let good = format!("Authorization: {}\r\n", basic("apr1", "open sesame"));
    assert_eq!(ask(&balancer, "/", &good).status(), 200);
    let wrong = format!(
        "GET / HTTP/1.1\r\nHost: shop.example\r\nAuthorization: {}\r\n\r\n",
        basic("bcrypt", "guess")
    );
    let mut clients: Vec<_> = (0..100).map(|_| balancer.client()).collect();
    for client in &clients {
        client.send(&wrong);
    }
    let all: Vec<ReceivedMessage> = clients.iter_mut().map(|client| client.read_answer()).collect();
    let busy = all.iter().filter(|answer| answer.status() == 503).count();
    assert!(busy > 0 && all.iter().all(|answer| matches!(answer.status(), 401 | 503)), "{busy}");
    for answer in all.iter().filter(|answer| answer.status() == 503) {
        assert_eq!(answer.field("x-steelyard-cause").as_deref(), Some("auth-overloaded"));
    }
    assert_eq!(ask(&balancer, "/", &good).status(), 200);
    assert_eq!(recorder.so_far().requests.len(), 2);
}
