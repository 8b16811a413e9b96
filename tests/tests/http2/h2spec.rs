//! h2spec in strict mode: every case of its suite over the sections of RFC 9113 and RFC 7541.
//!
//! Runs under TLS, where ALPN selects HTTP/2 from the first byte. On a cleartext port that also accepts HTTP/1.1, an
//! invalid preface gets an HTTP/1.1 response, which one of the cases parses as frames.

use std::process::Command;

use tests::e2e::balancer::{TestBalancer, figure};
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::certificate::{CertificateAuthority, certificate_for};
use tests::e2e::dir::TestDir;
use tests::e2e::servers::{self, addresses};
use tests::e2e::target::tool;

#[test]
fn every_case_passes() {
    let origins = [servers::origin("a")];
    let authority = CertificateAuthority::new("test authority");
    let dir = TestDir::new();
    let pair = authority.pair(dir.join("shop.pem"), &certificate_for(&["shop.example"]));
    let lines = format!("tls = {pair:?}\nhttp2 = {{ malformed = 1000 }}\n");
    let balancer = TestBalancer::start(&BalancerConfig::http(&addresses(&origins)).service(&lines));
    let front = balancer.front();
    let mut command = Command::new(tool("h2spec"));
    command.args([
        "--strict",
        "--tls",
        "--insecure",
        "-h",
        &front.ip().to_string(),
        "-p",
        &front.port().to_string(),
    ]);
    let output = command.args(["-o", "10"]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let sum = text.lines().rfind(|line| line.contains("tests,")).unwrap_or_default().to_owned();
    figure(format!("h2spec strict: {sum}"));
    assert!(output.status.success() && sum.contains("0 failed"), "{text}");
    assert_eq!(balancer.report_when_settled().total.requests.unaccounted, 0);
}
