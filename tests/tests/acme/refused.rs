//! Failed ACME orders: an unreachable authority, a failed validation, a rejected name, or a full disk. The active
//! certificate stays, the failure is reported, and the order is retried.

use std::process::Command;

use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::certificate::{CertificateAuthority, certificate_for};
use tests::e2e::dir::TestDir;
use tests::e2e::pebble::{Pebble, PebbleOptions};
use tests::e2e::servers::{addresses, origin, reserve_port};
use tests::e2e::wait;

use super::{acme, over_tls, plain, shown};

/// Waits until an event and the status report the failure with these words.
fn fails(balancer: &TestBalancer, words: &[&str]) {
    wait::until("the failure is told", || {
        let has = |text: &str| words.iter().all(|word| text.contains(word));
        let events = balancer.events().events;
        let told = events.iter().any(|event| event.kind == "acme-failed" && has(&event.text));
        told && balancer.status().warnings.iter().any(|warning| has(warning))
    });
}

#[test]
fn what_was_active_stays_until_the_authority_finds_what_it_looks_for() {
    let origins = [origin("a")];
    let http = reserve_port();
    let dir = TestDir::new();
    let own = CertificateAuthority::new("own");
    let file = own.pair(dir.join("old.pem"), &certificate_for(&["shop.example"]));
    let ca = own.write(dir.join("own-ca.pem"));
    let setup = BalancerConfig::http(&addresses(&origins));
    let front = setup.fronts()[0];
    let pebble =
        Pebble::start(PebbleOptions { http: http.address(), tls: front, validity: 7_776_000 });
    let order = acme(&pebble, &["shop.example"], "");
    let tls = format!("tls = {{ certificates = {file:?}, {order} }}\n");
    let setup = setup.service(&tls);
    let mut balancer = TestBalancer::start(&setup);
    // No listener exists at the address that the authority validates.
    fails(&balancer, &["shop.example", "connection refused", "next attempt in"]);
    assert_eq!(shown(&balancer).len(), 1);
    assert_eq!(over_tls(&balancer, "shop.example", &ca), "200");
    let metrics = balancer.metrics();
    assert!(metrics.contains("steelyard_acme_failures{name=\"shop.example\"}"), "{metrics}");
    balancer.reload(&setup.with_tables(&plain(http.address())));
    wait::until("it is issued", || shown(&balancer).len() == 2);
    wait::until("nothing is left to say", || balancer.status().warnings.is_empty());
}

#[test]
fn a_name_that_the_authority_does_not_take_is_reported_in_its_own_words() {
    let origins = [origin("a")];
    let http = reserve_port();
    let setup = BalancerConfig::http(&addresses(&origins));
    let front = setup.fronts()[0];
    let pebble =
        Pebble::start(PebbleOptions { http: http.address(), tls: front, validity: 7_776_000 });
    let order = acme(&pebble, &["forbidden.example"], "");
    let setup =
        setup.service(&format!("tls = {{ {order} }}\n")).with_tables(&plain(http.address()));
    let balancer = TestBalancer::start(&setup);
    fails(&balancer, &["forbidden.example", "rejectedIdentifier", "a new order"]);
    // Handshakes fail without a certificate.
    let refused = Command::new("curl").args(["-sk", &format!("https://{front}/")]).status();
    assert!(!refused.unwrap().success());
    wait::until("it is tried again and again", || balancer.count_events("acme-failed") >= 3);
}

#[test]
fn an_authority_that_is_not_there_is_waited_for() {
    let origins = [origin("a")];
    let nobody = reserve_port();
    let lines = format!(
        "tls = {{ acme = {{ names = \"shop.example\", directory = \"https://{}/dir\", retry = \"1s\" }} }}\n",
        nobody.address()
    );
    let balancer = TestBalancer::start(&BalancerConfig::http(&addresses(&origins)).service(&lines));
    fails(&balancer, &["shop.example", "Connection refused", &nobody.address().to_string()]);
    assert!(shown(&balancer).is_empty());
}

#[test]
fn a_full_disk_keeps_what_is_there() {
    if !rustix::process::geteuid().is_root() {
        return tests::skip::skip("a small file system needs root");
    }
    let origins = [origin("a")];
    let http = reserve_port();
    let setup = BalancerConfig::http(&addresses(&origins));
    let front = setup.fronts()[0];
    let pebble =
        Pebble::start(PebbleOptions { http: http.address(), tls: front, validity: 7_776_000 });
    let nowhere = reserve_port();
    let lines = |directory: &str| {
        let ca = pebble.ca();
        format!(
            "tls = {{ acme = {{ names = \"shop.example\", directory = \"{directory}\", ca = {ca:?}, \
             retry = \"1s\" }} }}\n"
        )
    };
    let more = plain(http.address());
    let before =
        setup.service(&lines(&format!("https://{}/dir", nowhere.address()))).with_tables(&more);
    let mut balancer = TestBalancer::start(&before);
    let small = SmallFilesystem::at(balancer.dir().join("state/acme"));
    balancer.reload(&before.service(&lines(pebble.directory())));
    fails(&balancer, &["shop.example", "No space left on device"]);
    assert!(shown(&balancer).is_empty());
    small.grow();
    wait::until("it is issued", || !shown(&balancer).is_empty());
    assert_eq!(over_tls(&balancer, "shop.example", &pebble.root()), "200");
}

/// A file system of one page, with room for an ACME account and for nothing else.
struct SmallFilesystem(std::path::PathBuf);

impl SmallFilesystem {
    fn at(path: std::path::PathBuf) -> SmallFilesystem {
        std::fs::create_dir_all(&path).unwrap();
        mount(&["-t", "tmpfs", "-o", "size=4k,mode=700", "tmpfs", path.to_str().unwrap()]);
        SmallFilesystem(path)
    }

    fn grow(&self) {
        mount(&["-o", "remount,size=1m", self.0.to_str().unwrap()]);
    }
}

fn mount(arguments: &[&str]) {
    assert!(Command::new("mount").args(arguments).status().unwrap().success(), "{arguments:?}");
}

impl Drop for SmallFilesystem {
    fn drop(&mut self) {
        // A lazy unmount succeeds even if a process still has a file open there.
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}
