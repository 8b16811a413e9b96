//! Either challenge issues a certificate. The status shows it, only the daemon's user may read its file, and it is
//! renewed in time.

use std::os::unix::fs::MetadataExt;

use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::pebble::{Pebble, PebbleOptions};
use tests::e2e::servers::{addresses, origin, reserve_port};
use tests::e2e::wait;

use super::{acme, over_tls, plain, shown};

const NAMES: [&str; 2] = ["shop.example", "www.shop.example"];

#[test]
fn by_a_request_that_no_rule_can_refuse_and_again_before_it_ends() {
    let origins = [origin("a")];
    let http = reserve_port();
    let setup = BalancerConfig::http(&addresses(&origins));
    let front = setup.fronts()[0];
    let pebble = Pebble::start(PebbleOptions { http: http.address(), tls: front, validity: 30 });
    let order = acme(&pebble, &NAMES, ", contact = \"ops@shop.example\"");
    let setup =
        setup.service(&format!("tls = {{ {order} }}\n")).with_tables(&plain(http.address()));
    let balancer = TestBalancer::start(&setup);
    let first = wait::until_some("a certificate", || shown(&balancer).first().cloned());
    assert_eq!(first.names, NAMES, "{}", pebble.output());
    assert!(balancer.count_events("acme-failed") == 0, "{}", balancer.process().output());
    let root = pebble.root();
    for name in NAMES {
        assert_eq!(over_tls(&balancer, name, &root), "200");
    }
    let kept = std::fs::read_dir(balancer.dir().join("state/acme")).unwrap();
    let modes: Vec<u32> = kept.map(|file| file.unwrap().metadata().unwrap().mode()).collect();
    assert_eq!(modes.len(), 2, "the account and the certificate");
    assert!(modes.iter().all(|mode| mode & 0o777 == 0o600), "{modes:?}");
    let file = first.file.clone();
    let account = |said: &str| said.matches("There are now 1 accounts in the db").count();
    wait::until("it is renewed", || {
        shown(&balancer).first().is_some_and(|it| it.expires_unix_ms > first.expires_unix_ms)
    });
    assert_eq!(over_tls(&balancer, NAMES[0], &root), "200");
    assert_eq!(shown(&balancer)[0].file, file);
    assert!(account(&pebble.output()) <= 1, "one account for all orders: {}", pebble.output());
    let metrics = balancer.metrics();
    let expiry = "steelyard_certificate_expiry_seconds{service=\"shop\"";
    assert!(metrics.contains(expiry), "{metrics}");
    let issued =
        "steelyard_acme_orders_total{name=\"shop.example\",result=\"issued\",end=\"issued\"}";
    let count = metrics.lines().find_map(|line| line.strip_prefix(issued)?.trim().parse().ok());
    assert!(count.is_some_and(|count: u64| count >= 2), "{metrics}");
    // A challenge path without a pending order is routed like any other request.
    let url = format!("http://{}/.well-known/acme-challenge/nobody", http.address());
    let status = ["-o", "/dev/null", "-w", "%{http_code}", &url];
    assert_eq!(tests::e2e::tools::curl_text(&status), "403");
}

#[test]
fn by_a_handshake_that_only_the_authority_gets() {
    let origins = [origin("a")];
    let setup = BalancerConfig::http(&addresses(&origins));
    let front = setup.fronts()[0];
    let nobody = reserve_port();
    let pebble =
        Pebble::start(PebbleOptions { http: nobody.address(), tls: front, validity: 86_400 });
    let order = acme(&pebble, &NAMES, ", challenge = \"tls\"");
    let balancer = TestBalancer::start(&setup.service(&format!("tls = {{ {order} }}\n")));
    wait::until("a certificate", || !shown(&balancer).is_empty());
    let root = pebble.root();
    assert_eq!(over_tls(&balancer, NAMES[1], &root), "200");
    // A deleted certificate file is reported, and the certificate stays active.
    std::fs::remove_file(&shown(&balancer)[0].file).unwrap();
    wait::until("the file is missed", || shown(&balancer)[0].problem.is_some());
    assert_eq!(over_tls(&balancer, NAMES[1], &root), "200");
    wait::until("it was asked over TLS", || {
        let said = pebble.output();
        said.contains("tls-alpn-01") || said.contains("TLS")
    });
    assert_eq!(balancer.count_events("acme-failed"), 0, "{}", balancer.process().output());
}
