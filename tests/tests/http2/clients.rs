//! Standard clients: curl, h2load and the library's client, with and without TLS.

use std::collections::BTreeSet;
use std::process::Command;

use lab::origin::{OriginKind, OriginOptions};
use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::frames::{FrameClient, WHOLE, head, kind};
use tests::e2e::h2client::{self, H2Request};
use tests::e2e::servers::{self, addresses};
use tests::e2e::tools::{curl, curl_text, program};

fn plain(origins: &[lab::origin::TestOrigin]) -> TestBalancer {
    TestBalancer::start(&BalancerConfig::http(&addresses(origins)).service("http2 = \"always\"\n"))
}

#[test]
fn curl_speaks_http_2_without_tls_and_http_1_beside_it() {
    let origins = [servers::origin("a")];
    let balancer = plain(&origins);
    let url = balancer.url("/");
    let version = ["-o", "/dev/null", "-w", "%{http_version} %{http_code}", &url];
    assert_eq!(curl_text(&[&["--http2-prior-knowledge"][..], &version].concat()), "2 200");
    assert_eq!(curl_text(&version), "1.1 200");
    assert_eq!(curl_text(&[&["--http1.0"][..], &version].concat()), "1.1 200");
    balancer
        .wait_for_log_line("HTTP/2", |line| line["protocol"] == "HTTP/2" && line["status"] == 200);
    let head = curl_text(&["--http2-prior-knowledge", "-I", &url]);
    assert!(head.starts_with("HTTP/2 200"), "{head}");
    let report = balancer.report_when_settled();
    assert_eq!(report.total.requests.unaccounted, 0);
}

#[test]
fn bodies_go_both_ways_whole() {
    let origins = [servers::origin("a")];
    let balancer = plain(&origins);
    let body: Vec<u8> = (0..3_000_000u32).map(|at| (at % 251) as u8).collect();
    let file = balancer.dir().write("body", &body);
    let data = format!("@{}", file.display());
    for way in [&["-H", "Expect:"][..], &["-H", "Transfer-Encoding: chunked"], &[]] {
        let url = balancer.url("/echo");
        let arguments =
            [&["--http2-prior-knowledge", "--data-binary", &data], way, &[url.as_str()]];
        assert_eq!(curl(&arguments.concat()), body, "{way:?}");
    }
    let long = curl(&["--http2-prior-knowledge", &balancer.url("/bytes/20000000")]);
    assert_eq!(long.len(), 20_000_000);
}

#[test]
fn streams_of_one_connection_go_to_different_servers() {
    let origins = [servers::origin("a"), servers::origin("b"), servers::origin("c")];
    let balancer = plain(&origins);
    let asked: Vec<H2Request> = (0..30).map(|_| H2Request::get("/")).collect();
    let answers = h2client::send_all(balancer.front(), &asked);
    let names: BTreeSet<String> =
        answers.iter().map(|answer| answer.field("x-origin").unwrap_or_default()).collect();
    assert_eq!(names.len(), 3, "{names:?}");
    let report = balancer.report_when_settled();
    assert_eq!(
        (report.total.connections.accepted.total, report.total.requests.requests.total),
        (1, 30)
    );
}

#[test]
fn h2load_gets_every_answer() {
    let origins = [servers::origin("a"), servers::origin("b")];
    let balancer = plain(&origins);
    let mut command = Command::new(program("h2load"));
    let output =
        command.args(["-n", "5000", "-c", "4", "-m", "100", &balancer.url("/")]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("5000 succeeded, 0 failed, 0 errored, 0 timeout"), "{text}");
    let report = balancer.report_when_settled();
    assert_eq!(report.total.requests.answered.total, 5000);
    assert_eq!(report.total.requests.unaccounted, 0);
}

#[test]
fn a_slow_reader_holds_up_nobody_and_little_memory() {
    let origins = [servers::start_with(OriginOptions::new("a", OriginKind::Http { body: 128 }))];
    let balancer = plain(&origins);
    assert_eq!(balancer.client().get("/").status(), 200);
    let before = balancer.process().resident_bytes();
    let mut client = FrameClient::connect(balancer.front());
    for at in 0..20 {
        client.send(kind::HEADERS, WHOLE | 1, 2 * at + 1, &head("GET", "/bytes/50000000", &[]));
    }
    // The connection's window is used up, and no more data arrives without a WINDOW_UPDATE.
    let mut came = 0;
    while came < 65_535 {
        came += client.next_of(kind::DATA).unwrap().payload.len();
    }
    assert_eq!(came, 65_535);
    assert_eq!(balancer.client().get("/").status(), 200);
    assert!(balancer.report().total.requests.in_flight >= 20);
    let held = balancer.process().resident_bytes() - before;
    assert!(held < 40 << 20, "{held} bytes are kept for one connection");
}
