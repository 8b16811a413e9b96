//! A TLS scanner finds no weakness in a service with default settings.

use std::process::Command;

use rcgen::{
    CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose,
    date_time_ymd,
};
use serde_json::Value;
use tests::e2e::balancer::{TestBalancer, figure};
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::certificate::replace;
use tests::e2e::servers::{self, addresses};
use tests::e2e::target::tool;

/// The scans to run.
const LOOKS: [&str; 14] = [
    "--compression",
    "--early_data",
    "--elliptic_curves",
    "--ems",
    "--heartbleed",
    "--openssl_ccs",
    "--reneg",
    "--robot",
    "--sslv2",
    "--sslv3",
    "--tlsv1",
    "--tlsv1_1",
    "--tlsv1_2",
    "--tlsv1_3",
];

#[test]
fn sslyze_finds_nothing() {
    let origins = [servers::origin("a")];
    let setup = BalancerConfig::http(&addresses(&origins));
    let dir = tests::e2e::dir::TestDir::new();
    let file = dir.join("shop.pem");
    replace(&file, &certificate());
    let balancer = TestBalancer::start(&setup.service(&format!("tls = {file:?}\n")));
    let found = dir.join("found.json");
    let front = balancer.front().to_string();
    let look = |words: &[&str]| {
        let mut command = Command::new(tool("venv/bin/python3"));
        command.args(["-m", "sslyze"]).args(words).arg(&front);
        command.output().unwrap()
    };
    let json = format!("--json_out={}", found.display());
    let output = look(&[&["--mozilla_config=disable", &json], &LOOKS[..]].concat());
    let text = std::fs::read_to_string(found).unwrap_or_else(|_| panic!("{output:?}"));
    let found: Value = serde_json::from_str(&text).unwrap();
    let scan = &found["server_scan_results"][0]["scan_result"];
    let of = |name: &str| -> &Value {
        let one = &scan[name];
        assert_eq!(one["status"], "COMPLETED", "{name}: {one}");
        &one["result"]
    };
    for old in ["ssl_2_0", "ssl_3_0", "tls_1_0", "tls_1_1"] {
        assert_eq!(
            of(&format!("{old}_cipher_suites"))["accepted_cipher_suites"],
            Value::Array(Vec::new())
        );
    }
    for (scan, key) in [
        ("heartbleed", "is_vulnerable_to_heartbleed"),
        ("openssl_ccs_injection", "is_vulnerable_to_ccs_injection"),
        ("session_renegotiation", "is_vulnerable_to_client_renegotiation_dos"),
        ("tls_compression", "supports_compression"),
        ("tls_1_3_early_data", "supports_early_data"),
    ] {
        assert_eq!(of(scan)[key], false, "{scan}");
    }
    assert_eq!(of("robot")["robot_result"], "NOT_VULNERABLE_RSA_NOT_SUPPORTED");
    assert_eq!(of("tls_extended_master_secret")["supports_ems_extension"], true);
    let ciphers = of("tls_1_2_cipher_suites")["accepted_cipher_suites"].as_array().unwrap();
    let name = |one: &Value| one["cipher_suite"]["name"].as_str().unwrap_or_default().to_owned();
    let sound = |name: &String| {
        name.starts_with("TLS_ECDHE_") && (name.contains("_GCM_") || name.contains("_CHACHA20_"))
    };
    let names: Vec<String> = ciphers.iter().map(name).collect();
    assert!(!names.is_empty() && names.iter().all(sound), "{names:?}");
    // The scanner's verdict by Mozilla's recommendations. The missing trust chain is due to the test's certificate.
    let said = look(&["--mozilla_config=intermediate"]).stdout;
    let said = String::from_utf8_lossy(&said);
    let (_, judged) = said.split_once("COMPLIANCE AGAINST").unwrap_or_else(|| panic!("{said}"));
    let found: Vec<&str> = judged.lines().filter(|line| line.trim().starts_with("* ")).collect();
    let own = |line: &&str| line.contains("certificate_path_validation");
    assert!(found.iter().all(own) && judged.contains(&front), "{judged}");
    figure(format!(
        "sslyze: nothing found, {} ciphers of TLS 1.2, Mozilla intermediate",
        names.len()
    ));
    assert_eq!(balancer.report_when_settled().total.requests.unaccounted, 0);
}

/// A certificate as public authorities issue it: P-256, with a short validity.
fn certificate() -> String {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec!["shop.example".to_owned()]).unwrap();
    params.distinguished_name.push(DnType::CommonName, "shop.example");
    params.is_ca = IsCa::ExplicitNoCa;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.not_before = date_time_ymd(2026, 1, 1);
    params.not_after = date_time_ymd(2026, 12, 31);
    params.self_signed(&key).unwrap().pem() + &key.serialize_pem()
}
