//! Standard clients: aioquic and Chromium over HTTP/3, and curl with Alt-Svc.

use std::path::PathBuf;
use std::process::Command;

use serde_json::json;
use tests::e2e::balancer::TestBalancer;
use tests::e2e::recording_server::RecordingServer;
use tests::e2e::servers::{self, addresses};
use tests::e2e::tools::{curl_text, program};
use tests::skip::skip;

use crate::authority::{Http3Authority, NAME};

#[test]
fn requests_are_answered_and_accounted_for() {
    let ours = Http3Authority::new();
    let origins = [servers::origin("a"), servers::origin("b")];
    let balancer = TestBalancer::start(&ours.setup(&addresses(&origins), ""));
    let mut client = ours.client(balancer.front());
    let one = client.get("/");
    assert_eq!(one["status"], 200, "{one}");
    assert_eq!(one["head"].get("connection"), None, "{one}");
    let many = client.does(json!({ "do": "ask", "path": "/", "times": 50 }));
    assert!(many.as_array().unwrap().iter().all(|one| one["status"] == 200), "{many}");
    assert_eq!(client.does(json!({ "do": "ask", "path": "/", "method": "HEAD" }))["length"], 0);
    balancer
        .wait_for_log_line("HTTP/3", |line| line["protocol"] == "HTTP/3" && line["status"] == 200);
    drop(client);
    let report = balancer.report_when_settled();
    assert_eq!((report.total.requests.requests.total, report.total.requests.unaccounted), (52, 0));
    assert_eq!(report.total.connections.accepted.total, 1);
    let metrics = balancer.metrics();
    assert!(metrics.contains("steelyard_service_http3_connections_total{"), "{metrics}");
}

#[test]
fn bodies_longer_than_the_limit_are_refused_with_and_without_a_length() {
    let ours = Http3Authority::new();
    let recorder = RecordingServer::start();
    let limit = "limit = { body-bytes = \"20000B\" }\n";
    let setup = ours.setup_with(&[recorder.address()], "", limit);
    let balancer = TestBalancer::start(&setup);
    let mut client = ours.client(balancer.front());
    for length in [true, false] {
        for (bytes, status) in [(20_000, 200), (20_001, 413), (100_000, 413)] {
            let order = json!({ "do": "ask", "path": "/", "body": bytes, "length": length });
            assert_eq!(client.does(order)["status"], status, "{bytes} {length}");
        }
    }
    drop(client);
    assert_eq!(balancer.report_when_settled().total.requests.unaccounted, 0);
    assert!(recorder.so_far().requests.iter().all(|request| request.body.len() == 20_000));
}

#[test]
fn paths_are_ruled_in_each_of_their_readings() {
    let web = servers::origin("web");
    let ours = Http3Authority::new();
    let rules = "rule = [{ when = { path = \"/admin/*\" }, deny = true }, \
                 { when = { path = \"/api/*\" }, pool = \"web\" }]\n";
    let balancer = TestBalancer::start(&ours.setup_with(&[web.address()], "", rules));
    let mut client = ours.client(balancer.front());
    for (path, cause) in [
        ("/admin%2Fx", "rule-denied"),
        ("/public/..%2fadmin/x", "rule-denied"),
        ("/public/..;/admin/x", "rule-denied"),
        ("//h/admin/x", "rule-denied"),
        ("/api/..%2fx", "ambiguous-path"),
        ("/api/a%2Fb;c", ""),
    ] {
        let answer = client.get(path);
        assert_eq!(
            answer["head"]["x-steelyard-cause"].as_str().unwrap_or_default(),
            cause,
            "{path}"
        );
    }
}

#[test]
fn bodies_and_trailers_go_both_ways_whole() {
    let ours = Http3Authority::new();
    let origins = [servers::origin("a")];
    let balancer = TestBalancer::start(&ours.setup(&addresses(&origins), ""));
    let mut client = ours.client(balancer.front());
    let mut echoed = Vec::new();
    for length in [true, false] {
        let order = json!({ "do": "ask", "path": "/echo", "body": 3_000_000, "length": length });
        let answer = client.does(order);
        assert_eq!((&answer["status"], &answer["length"]), (&json!(200), &json!(3_000_000)));
        echoed.push(answer["sha256"].clone());
    }
    // Both bodies repeat the bytes 0 to 250, as the client sends them.
    assert_eq!(echoed[0], echoed[1]);
    let trailers =
        json!({ "do": "ask", "path": "/echo", "body": "x", "trailers": { "x-last": "1" } });
    let answer = client.does(trailers);
    assert_eq!((&answer["status"], &answer["text"]), (&json!(200), &json!("x")), "{answer}");
    assert_eq!(client.get("/bytes/20000000")["length"], 20_000_000);
}

#[test]
fn a_client_that_moves_is_found_at_whatever_worker_its_packets_come() {
    let ours = Http3Authority::new();
    let origins = [servers::origin("a")];
    let setup = ours.setup(&addresses(&origins), "").global("workers = 4\n");
    let balancer = TestBalancer::start(&setup);
    let mut client = ours.client(balancer.front());
    for _ in 0..12 {
        client.does(json!({ "do": "move" }));
        let answer = client.does(json!({ "do": "ask", "path": "/echo", "body": 100_000 }));
        assert_eq!((&answer["status"], &answer["length"]), (&json!(200), &json!(100_000)));
    }
    let metrics = balancer.metrics();
    let of = |name: &str| {
        let line = metrics.lines().find(|line| line.starts_with(name));
        line.and_then(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).unwrap_or(0)
    };
    // Twelve ports and four workers: the chance that all twelve reach the first worker is one in sixteen million.
    let forwarded = metrics.lines().any(|line| {
        line.starts_with("steelyard_service_quic_packets_total{")
            && line.contains("forwarded")
            && !line.ends_with(" 0")
    });
    assert!(forwarded, "{metrics}");
    assert!(of("steelyard_service_http3_moved_total{") >= 12, "{metrics}");
    drop(client);
    assert_eq!(
        balancer.report_when_settled().total.connections.accepted.total,
        1,
        "one connection all along"
    );
}

#[test]
fn clients_of_older_versions_are_notified() {
    let ours = Http3Authority::new();
    let origins = [servers::origin("a")];
    let balancer = TestBalancer::start(&ours.setup(&addresses(&origins), ", announce = \"1h\""));
    let silent = TestBalancer::start(&ours.setup(&addresses(&origins), ", announce = \"off\""));
    let ca = ours.authority().to_str().unwrap().to_owned();
    let head = |balancer: &TestBalancer, version: &str| {
        let front = balancer.front();
        let to = format!("{NAME}:{}:{}", front.port(), front.ip());
        let url = format!("https://{NAME}:{}/", front.port());
        curl_text(&["--cacert", &ca, "--resolve", &to, version, "-o", "/dev/null", "-D", "-", &url])
    };
    let told = format!("alt-svc: h3=\":{}\"; ma=3600", balancer.front().port());
    for version in ["--http1.1", "--http2"] {
        let said = head(&balancer, version).to_lowercase();
        assert!(said.contains(&told), "{said}");
        assert!(!head(&silent, version).to_lowercase().contains("alt-svc"));
    }
}

#[test]
fn an_address_is_proven_where_that_is_asked_for() {
    let ours = Http3Authority::new();
    let origins = [servers::origin("a")];
    let balancer = TestBalancer::start(&ours.setup(&addresses(&origins), ", prove = 0"));
    assert_eq!(ours.client(balancer.front()).get("/")["status"], 200);
    balancer.report_when("counted", |report| {
        let mut limits = report.total.limits.iter();
        limits.any(|one| one.name == "http3-address-proofs" && one.count.total == 1)
    });
}

#[test]
fn chromium_is_served() {
    let Some(chromium) = chromium() else {
        return skip("chromium is not installed: tests/setup test");
    };
    let ours = Http3Authority::new();
    let origins = [servers::origin("a")];
    let balancer = TestBalancer::start(&ours.setup(&addresses(&origins), ""));
    let port = balancer.front().port();
    let mut command = Command::new(program("setpriv"));
    command.args(["--pdeathsig", "KILL"]).arg(chromium);
    command.args(["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]);
    command.arg(format!("--user-data-dir={}", ours.dir.join("profile").display()));
    command.arg(format!("--origin-to-force-quic-on={NAME}:{port}"));
    command.arg(format!("--host-resolver-rules=MAP {NAME} 127.0.0.1"));
    command.arg(format!("--ignore-certificate-errors-spki-list={}", pin(&ours)));
    command.args(["--timeout=20000", "--dump-dom"]).arg(format!("https://{NAME}:{port}/"));
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let line =
        balancer.wait_for_log_line("Chromium over HTTP/3", |line| line["protocol"] == "HTTP/3");
    assert_eq!(line["status"], 200, "{said}");
}

/// The digest of the certificate's public key, in Chromium's format.
fn pin(ours: &Http3Authority) -> String {
    let script = format!(
        "openssl x509 -in {:?} -pubkey -noout | openssl pkey -pubin -outform der | \
         openssl dgst -sha256 -binary | openssl base64",
        ours.pair
    );
    let output = Command::new("sh").args(["-c", &script]).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn chromium() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|place| place.join("chromium")).find(|file| file.is_file())
}

#[test]
fn a_request_that_may_go_no_further_is_answered_here() {
    let ours = Http3Authority::new();
    let server = RecordingServer::start();
    let balancer = TestBalancer::start(&ours.setup(&[server.address()], ""));
    let mut client = ours.client(balancer.front());
    let mut ask = |method: &str, hops: &str| {
        let fields = json!({ "max-forwards": hops, "cookie": "secret" });
        client.does(json!({ "do": "ask", "method": method, "path": "/x", "fields": fields }))
    };
    for (method, status) in [("TRACE", 405), ("OPTIONS", 200)] {
        let answer = ask(method, "0");
        assert_eq!(answer["status"], status, "{method}: {answer}");
        assert_eq!(answer["head"]["allow"], "OPTIONS", "{method}: {answer}");
        balancer.wait_for_log_line(method, |line| {
            line["method"] == method && line["protocol"] == "HTTP/3" && line["by"] == "balancer"
        });
    }
    assert!(server.so_far().requests.is_empty(), "nothing of it came to a server");
    assert_eq!(ask("OPTIONS", "5")["status"], 200);
    let came = server.so_far().requests.remove(0);
    assert_eq!(came.field("max-forwards").as_deref(), Some("4"), "{came:?}");
    assert_eq!(ask("TRACE", "-1")["status"], 400);
}
