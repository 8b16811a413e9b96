//! Strict TLS: names that no certificate has, and clients whose certificates are refused by answers.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use rustls::version::{TLS12, TLS13};
use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::certificate::certificate_for;
use tests::e2e::recording_server::RecordingServer;
use tests::e2e::servers::{self, addresses};
use tests::e2e::tools::program;

use crate::authority::{TlsAuthority, s_client};

const NAME: &str = "shop.example";

#[test]
fn a_service_that_requires_a_name_serves_nobody_without_one() {
    let ours = TlsAuthority::new();
    let origins = [servers::origin("a")];
    let pair = ours.pair("shop.pem", &[NAME]);
    let tls =
        |action: &str| format!("tls = {{ certificates = {pair:?}, unknown-sni = \"{action}\" }}\n");
    let setup = BalancerConfig::http(&addresses(&origins));
    let mut balancer = TestBalancer::start(&setup.clone().service(&tls("require")));
    let front = balancer.front();
    let session = ours.dir.join("session");
    let session = session.to_str().unwrap();
    for version in ["-tls1_2", "-tls1_3"] {
        for name in [&["-noservername"][..], &["-servername", "other.example"]] {
            let said = s_client(front, &[&[version], name].concat());
            assert!(said.contains("alert") && !said.contains("BEGIN CERTIFICATE"), "{said}");
        }
        let known = s_client(front, &[version, "-servername", NAME, "-sess_out", session]);
        assert!(known.contains("BEGIN CERTIFICATE"), "{known}");
        // A session that was begun with a name is not resumed without one.
        let nameless = s_client(front, &[version, "-noservername", "-sess_in", session]);
        assert!(nameless.contains("alert"), "{nameless}");
    }
    balancer.wait_for_log_line("no name", |line| line["cause"] == "tls-unknown-name");
    assert_eq!(ours.curl(front, NAME, &["-o", "/dev/null", "-w", "%{http_code}"]), "200");
    balancer.reload(&setup.service(&tls("refuse")));
    assert!(s_client(front, &["-noservername"]).contains("BEGIN CERTIFICATE"));
    assert!(s_client(front, &["-servername", "other.example"]).contains("alert"));
}

/// A certificate of version 1, which TLS libraries of today do not read; `None`: openssl makes none.
fn certificate_of_version_1(ours: &TlsAuthority) -> Option<PathBuf> {
    let path = |name: &str| ours.dir.join(name).display().to_string();
    let (key, request, certificate) = (path("v1.key"), path("v1.csr"), path("v1.crt"));
    let openssl = |words: &[&str]| {
        let output = Command::new(program("openssl")).args(words).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let kind =
        ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=v1"];
    openssl(&[&["req", "-new", "-keyout", &key, "-out", &request], &kind[..]].concat());
    openssl(&["x509", "-req", "-in", &request, "-signkey", &key, "-out", &certificate]);
    let shown = openssl(&["x509", "-in", &certificate, "-noout", "-text"]);
    let text = [&certificate, &key].map(|file| std::fs::read_to_string(file).unwrap()).concat();
    shown.contains("Version: 1 ").then(|| ours.dir.write("v1.pem", text))
}

/// Certificates that are refused, by what the log names.
fn bad_certificates(ours: &TlsAuthority) -> Vec<(&'static str, PathBuf)> {
    let eve = TlsAuthority::new();
    let client = || certificate_for(&["mallory.example"]).client("mallory");
    vec![
        (
            // Both authorities have the same name.
            "certificate-bad-signature",
            eve.authority.pair(ours.dir.join("stranger.pem"), &client()),
        ),
        ("certificate-expired", ours.authority.pair(ours.dir.join("old.pem"), &client().expired())),
        (
            "certificate-not-for-clients",
            ours.authority.pair(
                ours.dir.join("server.pem"),
                &certificate_for(&["mallory.example"]).for_servers(),
            ),
        ),
    ]
}

#[test]
fn each_request_of_a_client_with_a_missing_or_bad_certificate_is_answered() {
    let ours = TlsAuthority::new();
    let recorder = RecordingServer::start();
    let pair = ours.pair("shop.pem", &[NAME]);
    let alice = certificate_for(&["alice.example"]).client("alice");
    let alice = ours.authority.pair(ours.dir.join("alice.pem"), &alice);
    let ca = &ours.ca;
    let tls = |more: &str| {
        let client = format!("client = {{ ca = {ca:?}, refuse = \"answer\"{more} }}");
        // A rule that would answer before any server is asked sees no such request.
        let rule = "rule = [{ when = { path = \"/*\", not = { header = \"x-client-cert-verified: no\" } }, \
                    pool = \"web\" }, { answer = 204 }]\n";
        format!("tls = {{ certificates = {pair:?}, {client} }}\n{rule}")
    };
    let setup = BalancerConfig::http(&[recorder.address()]);
    let mut balancer = TestBalancer::start(&setup.clone().service(&tls("")));
    let front = balancer.front();
    // Two requests, which one connection carries where it may.
    let statuses = |more: &[&str], certificate: Option<&Path>| {
        let mut words = more.to_vec();
        let certificate = certificate.map(|path| path.to_str().unwrap());
        words.extend(certificate.iter().flat_map(|path| ["--cert", path]));
        let again = format!("https://{NAME}:{}/again", front.port());
        words.extend(["-H", "X_Client_Cert_Verified: yes", "-o", "/dev/null", "-o", "/dev/null"]);
        words.extend(["-w", "%{http_code} %{num_connects};", &again]);
        ours.curl(front, NAME, &words)
    };
    let mut bad = bad_certificates(&ours);
    bad.extend(certificate_of_version_1(&ours).map(|file| ("certificate-invalid", file)));
    for protocol in ["--http1.1", "--http2"] {
        for version in [&["--tlsv1.2", "--tls-max", "1.2"][..], &["--tlsv1.3"]] {
            let more = [&[protocol], version].concat();
            assert_eq!(statuses(&more, Some(&alice)), "200 1;200 0;");
            assert_eq!(statuses(&more, None), "400 1;400 0;", "{more:?}");
            for (name, file) in &bad {
                assert_eq!(statuses(&more, Some(file)), "400 1;400 0;", "{name} {more:?}");
            }
        }
    }
    for defect in ["no-certificate"].into_iter().chain(bad.iter().map(|(name, _)| *name)) {
        balancer.wait_for_log_line(defect, |line| {
            line["cause"] == "client-certificate-refused"
                && line["defect"] == defect
                && line["status"] == 400
        });
    }
    let seen = recorder.so_far().requests;
    assert_eq!(seen.len(), 8, "requests of alice alone");
    assert!(seen.iter().all(|one| one.field("x-client-cert-verified").as_deref() == Some("yes")));

    // Without a certificate a client is nobody; with a bad one it is refused all the same.
    balancer.reload(&setup.clone().service(&tls(", verify = \"optional\"")));
    assert_eq!(statuses(&[], None), "204 1;204 0;", "the rule that nobody else comes to");
    for (name, file) in &bad {
        assert_eq!(statuses(&[], Some(file)), "400 1;400 0;", "{name}");
    }
    assert_eq!(recorder.so_far().requests.len(), 8);
}

#[test]
fn a_resumed_session_of_a_bad_certificate_is_answered_too() {
    let ours = TlsAuthority::new();
    let recorder = RecordingServer::start();
    let pair = ours.pair("shop.pem", &[NAME]);
    let ca = &ours.ca;
    let (_, stranger) = bad_certificates(&ours).swap_remove(0);
    let client = |refuse: &str| {
        format!(
            "tls = {{ certificates = {pair:?}, client = {{ ca = {ca:?}, refuse = \"{refuse}\" }} }}\n"
        )
    };
    for version in [&TLS12, &TLS13] {
        let setup = BalancerConfig::http(&[recorder.address()]);
        let mut balancer = TestBalancer::start(&setup.clone().service(&client("answer")));
        let mallory = ours.returning(&stranger, version);
        for expected in [false, true, true] {
            let (resumed, answer) = mallory.ask(balancer.front(), NAME).unwrap();
            assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
            assert!(answer.contains("x-steelyard-cause: client-certificate-refused"), "{answer}");
            assert_eq!(resumed, expected);
        }
        // An open connection whose service now refuses handshakes brings nothing more.
        let mut open = mallory.open(balancer.front(), NAME);
        let ask = b"GET / HTTP/1.1\r\nHost: shop.example\r\n\r\n";
        open.write_all(ask).unwrap();
        let mut answer = [0; 4_096];
        assert!(open.read(&mut answer).unwrap() > 0 && answer.starts_with(b"HTTP/1.1 400 "));
        balancer.reload(&setup.service(&client("handshake")));
        let _ = open.write_all(ask);
        assert!(open.read(&mut answer).map_or(true, |length| length == 0));
        assert_eq!(mallory.ask(balancer.front(), NAME), None);
    }
    assert!(recorder.so_far().requests.is_empty());
}
