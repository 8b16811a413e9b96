//! Clients that stall in the handshake: other clients are served up to the limit and beyond it.

use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::flood::{QuicFlood, SourceAddresses};
use tests::e2e::servers::{self, addresses};
use tests::e2e::wait;

use crate::authority::Http3Authority;

#[test]
fn handshakes_that_stop_give_way_to_others() {
    let ours = Http3Authority::new();
    let origins = [servers::origin("a")];
    for sources in [SourceAddresses::One, SourceAddresses::Many(200)] {
        let tls = format!("tls = {{ certificates = {:?}, handshakes = 40 }}\n", ours.pair);
        let lines = format!("{tls}http3 = {{ offer = \"on\", retry-above = 10 }}\n");
        let setup =
            BalancerConfig::http(&addresses(&origins)).service(&lines).global("workers = 1");
        let balancer = TestBalancer::start(&setup);
        let crowd = QuicFlood::start(balancer.front(), sources, (80, 20));
        wait::until("one is served", || {
            let mut client = ours.begin(balancer.front(), None);
            client.read() == "connected" && client.get("/")["status"] == 200
        });
        for _ in 0..5 {
            let mut client = ours.client(balancer.front());
            assert_eq!(client.get("/")["status"], 200, "{sources:?}");
        }
        drop(crowd);
    }
}
