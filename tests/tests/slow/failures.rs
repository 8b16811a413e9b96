//! Failed exchanges in `explain slow`: above everything that is only slow, counted exactly, with owner and servers; and
//! little traffic is not scaled up.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;

use serde_json::Value;
use tests::e2e::balancer::{TestBalancer, program};
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::certificate::{CertificateAuthority, certificate_for};
use tests::e2e::dir::TestDir;
use tests::e2e::recording_server::ScriptedServer;
use tests::e2e::wait;

use super::setup::server;
use super::upstream::{ReadingPace, tls_server, upstream_tls};

fn explain(balancer: &TestBalancer, arguments: &[&str]) -> String {
    let socket = balancer.dir().join("sock");
    let mut command = Command::new(program());
    command.args(["explain", "slow", "shop", "--socket"]).arg(socket).args(arguments);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn service(balancer: &TestBalancer) -> Value {
    let text = explain(balancer, &["--json", "--share", "100"]);
    let value: Value = serde_json::from_str(&text).unwrap();
    value["services"][0].clone()
}

/// The service's report, once so many exchanges failed.
fn failed(balancer: &TestBalancer, total: f64) -> Value {
    wait::until_some(&format!("{total} failures"), || {
        let service = service(balancer);
        let failures = service["failures"].as_array().cloned().unwrap_or_default();
        let sum: f64 = failures.iter().map(|one| one["count"].as_f64().unwrap()).sum();
        (sum == total).then_some(service)
    })
}

/// The failure with this cause. A server that keeps failing may be put out, so that the rest meets none.
fn of_cause(service: &Value, cause: &str) -> Value {
    let failures = service["failures"].as_array().unwrap();
    let found = failures.iter().find(|one| one["cause"] == cause);
    found.unwrap_or_else(|| panic!("no {cause} in {service:#}")).clone()
}

/// An address that refuses connections.
fn closed() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// Asks so many times, whatever comes.
fn ask(balancer: &TestBalancer, target: &str, times: usize) {
    for _ in 0..times {
        let mut client = balancer.client();
        client.send_get(target);
        client.read_answer();
    }
}

#[test]
fn refused_connections_stand_above_what_is_slow() {
    let origin = server();
    let address = origin.address();
    let balancer = TestBalancer::start(&BalancerConfig::http(&[address]).pool("limit.idle = 0"));
    ask(&balancer, "/5/150", 6);
    drop(origin);
    wait::until("the server is gone", || TcpStream::connect(address).is_err());
    ask(&balancer, "/5/150", 6);
    let service = failed(&balancer, 6.0);
    assert_eq!((&service["exchanges"], &service["sampled"]), (&12.0.into(), &12.into()));
    let failure = of_cause(&service, "server-refused");
    assert_eq!(failure["code"], "CONNECT_REFUSED");
    assert_eq!(failure["owner"], "server");
    assert_eq!(failure["servers"][0]["name"], "web/a");
    assert_eq!(failure["count"], failure["servers"][0]["count"]);
    let first = failure["first-unix-ms"].as_u64().unwrap();
    assert!(first > 0 && first <= failure["last-unix-ms"].as_u64().unwrap(), "{failure:#}");
    let text = explain(&balancer, &["--share", "100"]);
    let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("no {part} in\n{text}"));
    assert!(at("Failed: refused connections (CONNECT_REFUSED") < at("\nWhy"), "{text}");
    assert!(at("the slowest 100 % of 12 exchanges") < at("12 of 12 exchanges were measured"));
    at("=> Check that the server's program runs");
    let elsewhere = explain(&balancer, &["--from", "192.0.2.0/24"]);
    assert!(!elsewhere.contains("Failed"), "{elsewhere}");
}

#[test]
fn a_flood_of_failures_is_counted_to_the_last_one() {
    let balancer = TestBalancer::start(&BalancerConfig::http(&[closed()]).global("sample = 1000"));
    ask(&balancer, "/", 700);
    let service = failed(&balancer, 700.0);
    assert_eq!(service["exchanges"].as_f64().unwrap().round(), 700.0, "{service:#}");
    assert_eq!(of_cause(&service, "server-refused")["owner"], "server");
}

#[test]
fn an_answer_that_is_cut_a_reset_and_an_error_status_have_their_servers() {
    let cuts: [(&str, &str, &'static str); 3] = [
        ("response-truncated", "ANSWER_CUT", "HTTP/1.1 200 OK\r\nContent-Length: 9000\r\n\r\nhalf"),
        ("server-closed", "REQUEST_CLOSED", ""),
        ("server-5xx", "", "HTTP/1.1 500 Broken\r\nContent-Length: 0\r\n\r\n"),
    ];
    for (cause, code, answer) in cuts {
        let origin = ScriptedServer::start(move |stream: TcpStream| {
            use std::io::{Read, Write};
            let mut bytes = [0; 4096];
            if (&stream).read(&mut bytes).is_ok_and(|n| n > 0) {
                let _ = (&stream).write_all(answer.as_bytes());
            }
        });
        let balancer = TestBalancer::start(&BalancerConfig::http(&[origin.address()]));
        for _ in 0..3 {
            let mut client = balancer.client();
            client.send_get("/");
            client.answer_or_end();
        }
        let failure = of_cause(&failed(&balancer, 3.0), cause);
        assert_eq!(failure["code"].as_str().unwrap_or_default(), code, "{failure:#}");
        assert_eq!(failure["owner"], "server");
        assert_eq!(failure["servers"][0]["name"], "web/a", "{failure:#}");
    }
}

#[test]
fn a_certificate_that_is_refused_is_the_servers_failure() {
    let [authority, stranger] = ["test authority", "a stranger"].map(CertificateAuthority::new);
    let dir = TestDir::new();
    let ca = authority.write(dir.join("ca.pem"));
    let pair = stranger.pair(dir.join("pair.pem"), &certificate_for(&["web.example"]));
    let at = "127.0.0.1:0".parse().unwrap();
    let origin = tls_server(at, &pair, ReadingPace::default(), |_| ());
    let pool = format!("{}probe = \"off\"\n", upstream_tls(&ca));
    let balancer = TestBalancer::start(&BalancerConfig::http(&[origin.address()]).pool(&pool));
    ask(&balancer, "/", 3);
    let service = failed(&balancer, 3.0);
    let failure = of_cause(&service, "server-certificate");
    assert_eq!((&failure["owner"], &failure["code"]), (&"server".into(), &"TLS_REFUSED".into()));
    let network =
        service["owners"].as_array().unwrap().iter().find(|one| one["owner"] == "network");
    assert!(network.unwrap()["share-percent"].as_f64().unwrap() < 50.0, "{service:#}");
}
