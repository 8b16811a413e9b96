//! Certificates ordered by ACME: issued, shown, renewed, and the failures of an order. The authority is Pebble, which
//! validates every name.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that fails is told best by panicking"
)]

mod issued;
mod refused;

use std::net::SocketAddr;
use std::path::Path;

use api::types::CertificateStatus;
use tests::e2e::balancer::TestBalancer;
use tests::e2e::pebble::Pebble;
use tests::e2e::tools::curl_text;

/// The `tls.acme` setting of a service.
fn acme(pebble: &Pebble, names: &[&str], more: &str) -> String {
    let directory = pebble.directory();
    let ca = pebble.ca();
    format!(
        "acme = {{ names = {names:?}, directory = \"{directory}\", ca = {ca:?}, retry = \"1s\"{more} }}"
    )
}

/// A service without TLS whose rules deny everything.
fn plain(at: SocketAddr) -> String {
    format!(
        "[service.plain]\nlisten = \"{at}\"\nforward = \"http\"\npool = \"web\"\n\
         [[service.plain.rule]]\nname = \"nobody\"\nwhen = {{ path = \"/*\" }}\ndeny = true\n"
    )
}

/// The certificates of the service `shop`.
fn shown(balancer: &TestBalancer) -> Vec<CertificateStatus> {
    let status = balancer.status();
    let shop = status.services.iter().find(|service| service.name == "shop").unwrap();
    shop.certificates.clone()
}

/// The status of a response over TLS, with this name as SNI, verified against this root certificate.
fn over_tls(balancer: &TestBalancer, name: &str, root: &Path) -> String {
    let front = balancer.front();
    let to = format!("{name}:{}:{}", front.port(), front.ip());
    let url = format!("https://{name}:{}/", front.port());
    let root = root.to_str().unwrap();
    curl_text(&["--cacert", root, "--resolve", &to, "-o", "/dev/null", "-w", "%{http_code}", &url])
}
