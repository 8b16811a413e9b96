//! Thousands of clients: idle clients use little memory, and connected clients are still served when descriptors run
//! out.

use tests::e2e::balancer::{TestBalancer, figure};
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::client::HttpClient;
use tests::e2e::process::descriptors_for;
use tests::e2e::servers::origin;
use tests::e2e::wait;

const IDLE: usize = 5_000;
const IDLE_BYTES: u64 = 12 << 20;
/// The limit of the additional memory per client, in bytes.
const EACH_BYTES: u64 = 800;

#[test]
fn five_thousand_idle_clients_fit_into_twelve_mebibytes_of_its_own() {
    descriptors_for(2 * IDLE as u64 + 1_000);
    let origin = origin("a");
    let unlimited = "limit = { connections-per-client = 100000 }";
    let balancer =
        TestBalancer::start(&BalancerConfig::http(&[origin.address()]).service(unlimited).quiet());
    let empty = balancer.process().private_bytes();
    let mut clients: Vec<HttpClient> = (0..IDLE).map(|_| balancer.client()).collect();
    for client in &mut clients {
        assert_eq!(client.get("/").status(), 200);
    }
    let report = balancer.report();
    assert_eq!(report.total.connections.open, IDLE as u64);
    let full = balancer.process().private_bytes();
    let each = full.saturating_sub(empty) / IDLE as u64;
    figure(format_args!(
        "{IDLE} idle keep-alive clients: {} KiB private memory, {} KiB before they came; {each} bytes each",
        full / 1024,
        empty / 1024
    ));
    assert!(full <= IDLE_BYTES, "{full} bytes, {empty} before");
    assert!(each <= EACH_BYTES, "{each} bytes each");
    for client in clients.iter_mut().step_by(97) {
        assert_eq!(client.get("/").status(), 200);
    }
}

/// The daemon's descriptor limit in the following tests.
const FEW: u32 = 200;

/// Sends requests until a server answers one.
fn answered_again(balancer: &TestBalancer) {
    wait::until("it recovers", || {
        let client = HttpClient::try_connect(balancer.front());
        client.is_ok_and(|mut client| {
            client.send_get("/").answer_or_end().is_some_and(|answer| answer.status() == 200)
        })
    });
}

#[test]
fn by_default_silent_clients_give_way_before_descriptors_run_out() {
    let origin = origin("a");
    let setup = BalancerConfig::http(&[origin.address()]).global("workers = 1");
    let balancer = TestBalancer::start_with_descriptors(FEW, &setup);
    let mut inside: Vec<HttpClient> = (0..5).map(|_| balancer.client()).collect();
    for client in &mut inside {
        assert_eq!(client.get("/").status(), 200);
    }
    let mut crowd: Vec<HttpClient> = (0..2 * FEW).map(|_| balancer.client()).collect();
    assert_eq!(crowd.last_mut().unwrap().get("/").status(), 200);
    assert_eq!(balancer.report().total.connections.refused.total, 0);
    let open = balancer.report().total.connections.open;
    assert!(open >= u64::from(FEW) / 12, "only {open} clients with {FEW} descriptors");
    for client in &mut inside {
        assert_eq!(client.get("/").status(), 200, "existing clients are served on");
    }
    drop(crowd);
    answered_again(&balancer);
    drop(inside);
    assert_eq!(balancer.report_when_settled().total.requests.unaccounted, 0);
}

#[test]
fn without_descriptors_those_inside_are_served_and_others_refused() {
    let origin = origin("a");
    // The limit of clients is higher than the number of descriptors.
    let setup =
        BalancerConfig::http(&[origin.address()]).global("connections = 10000\nworkers = 1");
    let balancer = TestBalancer::start_with_descriptors(FEW, &setup);
    let mut inside: Vec<HttpClient> = (0..10).map(|_| balancer.client()).collect();
    for client in &mut inside {
        assert_eq!(client.get("/").status(), 200);
    }
    let mut crowd: Vec<HttpClient> = (0..2 * FEW).map(|_| balancer.client()).collect();
    let refused = crowd.last_mut().unwrap().read_answer();
    assert_eq!(refused.status(), 503);
    assert_eq!(refused.field("x-steelyard-cause").as_deref(), Some("no-descriptor"));
    for client in &mut inside {
        assert_eq!(client.get("/").status(), 200, "existing clients are served on");
    }
    drop(crowd);
    answered_again(&balancer);
    drop(inside);
    let total = balancer.report_when_settled().total;
    let named = total.limits.iter().find(|limit| limit.name == "accept-no-descriptor");
    assert!(named.is_some_and(|limit| limit.count.total > 0), "{:?}", total.limits);
    assert!(total.causes.iter().any(|cause| cause.cause == "no-descriptor"), "{total:?}");
    assert_eq!(total.requests.unaccounted, 0, "{total:?}");
}
