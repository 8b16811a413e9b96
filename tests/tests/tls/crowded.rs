//! Clients that are silent or stall in the handshake: other clients are served up to the handshake limit and beyond it.

use std::io::{Read, Write};

use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::flood::{ConnectionFlood, SourceAddresses};
use tests::e2e::servers::{self, addresses};
use tests::e2e::wait;

use crate::authority::TlsAuthority;

const ASK: &[u8] = b"GET / HTTP/1.1\r\nHost: shop.example\r\nConnection: close\r\n\r\n";

fn is_served(ours: &TlsAuthority, balancer: &TestBalancer) -> bool {
    let mut client = ours.client(balancer.front(), "shop.example");
    let mut answer = Vec::new();
    let sent = client.write_all(ASK).and_then(|()| client.flush());
    // Ignored: the end of the connection does not matter here.
    let _ = sent.and_then(|()| client.read_to_end(&mut answer));
    answer.starts_with(b"HTTP/1.1 200")
}

#[test]
fn silent_connections_are_no_handshakes_and_stalled_ones_give_way() {
    let ours = TlsAuthority::new();
    let origins = [servers::origin("a")];
    let pair = ours.pair("shop.pem", &["shop.example"]);
    let tls = format!("tls = {{ certificates = {pair:?}, handshakes = 30 }}\n");
    for sources in [SourceAddresses::One, SourceAddresses::Many(100)] {
        for word in [&b""[..], &[0x16]] {
            let setup =
                BalancerConfig::http(&addresses(&origins)).global("workers = 1\n").service(&tls);
            let balancer = TestBalancer::start(&setup);
            let crowd = ConnectionFlood::start(balancer.front(), sources, (80, 20), word);
            if sources != SourceAddresses::One && !word.is_empty() {
                wait::until("some have stalled", || is_served(&ours, &balancer));
            }
            for _ in 0..50 {
                assert!(is_served(&ours, &balancer), "{sources:?} that say {word:?}");
            }
            crowd.stop();
            let total = balancer.report().total;
            let has = |name: &str| total.limits.iter().any(|limit| limit.name == name);
            let refused = |name: &str| total.causes.iter().any(|cause| cause.cause == name);
            match (sources, word) {
                (_, b"") => assert!(has("evicted-silent"), "{total:?}"),
                (SourceAddresses::One, _) => assert!(refused("client-limit"), "{total:?}"),
                (SourceAddresses::Many(_), _) => assert!(has("evicted-stalled"), "{total:?}"),
            }
        }
    }
}
