//! Certificates that change at run time: a valid pair is loaded, an invalid pair is reported and ignored.

use std::process::Command;

use api::types::CertificateStatus;
use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::certificate::{certificate_for, replace};
use tests::e2e::cli_environment::CliEnvironment;
use tests::e2e::servers::{self, addresses};
use tests::e2e::tools::program;
use tests::e2e::wait;

use crate::authority::{TlsAuthority, s_client};

fn shown(balancer: &TestBalancer) -> CertificateStatus {
    balancer.status().services[0].certificates[0].clone()
}

#[test]
fn a_new_pair_is_taken_up_under_load() {
    let ours = TlsAuthority::new();
    let origins = [servers::origin("a")];
    let pair = ours.pair("shop.pem", &["shop.example"]);
    let setup = BalancerConfig::http(&addresses(&origins)).service(&format!("tls = {pair:?}\n"));
    let balancer = TestBalancer::start(&setup);
    let url = format!("https://{}/", balancer.front());
    let mut ab = Command::new(program("ab"));
    ab.args(["-q", "-t", "6", "-n", "1000000", "-c", "4", &url]);
    let load = ab.stdout(std::process::Stdio::piped()).spawn().unwrap();
    wait::until("load", || balancer.report().total.requests.answered.total > 20);
    for round in 0..3 {
        let name = format!("n{round}.example");
        ours.pair("shop.pem", &["shop.example", &name]);
        wait::until("the new pair", || shown(&balancer).names.contains(&name));
        assert!(s_client(balancer.front(), &["-servername", &name]).contains("Verification"));
    }
    let said = balancer.process().output();
    assert!(said.contains("certificate-renewed") && said.contains("new: n1.example"), "{said}");
    let ended = load.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&ended.stdout).into_owned();
    assert!(text.contains("Failed requests:        0"), "{text}");
    let report = balancer.report_when_settled();
    // At the end of its run, ab drops the connections that it has just opened.
    let failed = report.total.tls.iter().find(|one| one.name == "failed");
    assert!(failed.is_none_or(|one| one.count.total <= 4), "{:?}", report.total.tls);
}

#[test]
fn a_bad_pair_is_kept_out() {
    let ours = TlsAuthority::new();
    let origins = [servers::origin("a")];
    let pair = ours.pair("shop.pem", &["shop.example"]);
    let setup = BalancerConfig::http(&addresses(&origins)).service(&format!("tls = {pair:?}\n"));
    let balancer = TestBalancer::start(&setup);
    let serves = || {
        let more = ["-o", "/dev/null", "-w", "%{http_code}"];
        assert_eq!(ours.curl(balancer.front(), "shop.example", &more), "200");
    };
    let trouble = |says: &str| {
        wait::until(says, || shown(&balancer).problem.is_some_and(|why| why.contains(says)));
        serves();
    };
    let (chain, _) = ours.authority.sign(&certificate_for(&["shop.example"]));
    let (_, other) = ours.authority.sign(&certificate_for(&["shop.example"]));
    replace(&pair, &(chain.clone() + &other));
    trouble("not that of the certificate");
    replace(&pair, &chain);
    trouble("no private key");
    replace(&pair, "nothing of the kind");
    trouble("no certificate");
    ours.authority.pair(pair.clone(), &certificate_for(&["shop.example"]).expired());
    trouble("has expired");
    assert!(balancer.status().warnings.iter().any(|text| text.contains("not taken up")));
    ours.pair("shop.pem", &["shop.example", "new.example"]);
    wait::until("mended", || {
        let shown = shown(&balancer);
        shown.problem.is_none() && shown.names.len() == 2
    });
    serves();
}

#[test]
fn a_configuration_with_a_bad_pair_does_not_become_active() {
    let ours = TlsAuthority::new();
    let origins = [servers::origin("a")];
    let pair = ours.pair("shop.pem", &["shop.example"]);
    let setup = BalancerConfig::http(&addresses(&origins)).service(&format!("tls = {pair:?}\n"));
    let balancer = TestBalancer::start(&setup);
    let missing = setup.service("tls = \"/nowhere/shop.pem\"\n");
    balancer.dir().write("steelyard.toml", missing.text(balancer.dir().path()));
    balancer.process().signal(rustix::process::Signal::HUP);
    wait::until("told", || balancer.process().output().contains("reload-failed"));
    let said = balancer.process().output();
    assert!(said.contains("service.shop.tls: cannot read /nowhere/shop.pem"), "{said}");
    assert_eq!(balancer.status().generation, 1);
    let more = ["-o", "/dev/null", "-w", "%{http_code}"];
    assert_eq!(ours.curl(balancer.front(), "shop.example", &more), "200");
}

#[test]
fn an_end_that_is_near_is_reported_once_and_so_is_its_renewal() {
    let ours = TlsAuthority::new();
    let origins = [servers::origin("a")];
    let file = ours.dir.join("shop.pem");
    let pair = ours.authority.pair(file, &certificate_for(&["shop.example"]).until(2030));
    let setup = BalancerConfig::http(&addresses(&origins)).service(&format!("tls = {pair:?}\n"));
    let place = CliEnvironment::new(&setup.global("certificate-warning = \"3650d\""));
    let mut process = place.start();
    wait::until("told", || place.count_events("certificate-expires") == 1);
    let warned = || place.status().warnings.iter().any(|text| text.contains("expires in"));
    assert!(warned());
    let generation = place.status().generation;
    place.write(&place.setup().pool("retries = 1"));
    process.signal(rustix::process::Signal::HUP);
    wait::until("reloaded", || place.status().generation > generation);
    ours.pair("shop.pem", &["shop.example"]);
    wait::until("renewed", || place.count_events("certificate-good") == 1);
    assert_eq!(place.count_events("certificate-expires"), 1, "a reload does not tell it again");
    assert!(!warned() && process.try_wait().is_none());
}
