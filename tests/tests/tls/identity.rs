//! Certificates of clients: asked for, verified, told to servers, and never believed when a client merely says so.

use tests::e2e::balancer::Balancer;
use tests::e2e::certificate::wanted;
use tests::e2e::http::Message;
use tests::e2e::recorder::Recorder;
use tests::e2e::setup::Setup;

use crate::ours::Ours;

const LIE: [&str; 4] = ["-H", "x-client-cert-subject: CN=eve", "-H", "X_Client_Cert_Verified: yes"];

fn last(recorder: &Recorder) -> Message {
    recorder.so_far().requests.pop().unwrap()
}

#[test]
fn servers_are_told_who_the_client_is() {
    let ours = Ours::new();
    let recorder = Recorder::start();
    let pair = ours.pair("shop.pem", &["shop.example"]);
    let alice = wanted(&["alice.example"]).client("alice");
    let alice = ours.authority.pair(ours.dir.join("alice.pem"), &alice);
    let eve = Ours::new();
    let mallory = wanted(&["mallory.example"]).client("mallory");
    let mallory = eve.authority.pair(eve.dir.join("mallory.pem"), &mallory);
    let ca = &ours.ca;
    let tls = |verify: &str| {
        format!(
            "tls = {{ certificates = {pair:?}, client = {{ ca = {ca:?}, verify = \"{verify}\" }} }}\n"
        )
    };
    let setup = Setup::http(&[recorder.address()]);
    let mut balancer = Balancer::start(&setup.clone().service(&tls("required")));
    let front = balancer.front();
    let with = |file: &std::path::Path| {
        let mut more = vec!["--cert", file.to_str().unwrap()];
        more.extend(LIE);
        ours.try_curl(front, "shop.example", &more)
    };
    assert!(with(&alice).status.success());
    let seen = last(&recorder);
    let told = |name: &str| seen.field(&format!("x-client-cert-{name}")).unwrap_or_default();
    assert_eq!(told("verified"), "yes");
    assert_eq!(told("subject"), "CN=alice");
    assert_eq!(told("names"), "dns:alice.example");
    assert_eq!(told("fingerprint").len(), 64);
    assert_eq!(seen.field("x_client_cert_verified"), None);
    assert_eq!(seen.field("x-forwarded-proto").as_deref(), Some("https"));

    assert!(!with(&mallory).status.success(), "another authority");
    assert!(!ours.try_curl(front, "shop.example", &[]).status.success(), "no certificate");
    balancer.logged("no certificate", |line| line["cause"] == "client-certificate");

    balancer.reload(&setup.service(&tls("optional")));
    assert!(ours.try_curl(front, "shop.example", &LIE).status.success());
    let seen = last(&recorder);
    assert_eq!(seen.field("x-client-cert-verified").as_deref(), Some("no"));
    assert_eq!(seen.field("x-client-cert-subject"), None);
    assert!(!with(&mallory).status.success(), "a bad one is refused though none is needed");
}
