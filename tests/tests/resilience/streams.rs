//! One of three HTTP/2 servers fails, hangs or resets its streams: as with HTTP/1, clients hardly notice it.

use std::net::SocketAddr;

use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::h2origin::{H2Behaviour, H2Fault, H2Origin};

use super::outlier::{POOL, bad_in};

fn with_fault(what: &str, fault: H2Fault) {
    let manner = |name| H2Behaviour { name, streams: 100, refusals: 0 };
    let origins = ["a", "b", "c"].map(|name| H2Origin::start(manner(name)));
    let addresses: Vec<SocketAddr> = origins.iter().map(H2Origin::address).collect();
    let pool = format!("{POOL}\nhttp2 = \"only\"");
    let setup = BalancerConfig::http(&addresses).pool(&pool).quiet();
    bad_in(what, &setup, || origins[0].fault(fault), |_| ());
}

#[test]
fn it_errs() {
    with_fault("errs in HTTP/2", H2Fault::StreamError);
}

#[test]
fn it_takes_streams_and_says_nothing() {
    with_fault("hangs in HTTP/2", H2Fault::Hang);
}

#[test]
fn it_resets_streams() {
    with_fault("resets in HTTP/2", H2Fault::Reset);
}
