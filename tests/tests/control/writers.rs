//! Two hundred clients change the configuration of the running daemon at once, each by its own request.

use std::sync::atomic::{AtomicUsize, Ordering};

use model::config::load;
use tests::e2e::balancer::{TestBalancer, figure};
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::servers::{addresses, origin};

use crate::client::{ApiSocket, PATCH, TOML};

/// Clients that send a patch, which needs no generation.
const PATCHING: usize = 160;
/// Clients that replace the whole configuration if it is still the one they have read.
const REPLACING: usize = 40;

#[test]
fn of_two_hundred_writers_none_is_lost_and_none_mixes_two() {
    let origins = [origin("a")];
    let balancer = TestBalancer::start(&BalancerConfig::http(&addresses(&origins)));
    let socket = ApiSocket::at(&balancer.dir().join("sock"));
    let (first, _) = socket.config();
    let again = AtomicUsize::new(0);
    let mut generations: Vec<u64> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..PATCHING + REPLACING)
            .map(|writer| {
                let socket = socket.clone();
                let again = &again;
                scope.spawn(move || write(&socket, writer, again))
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    generations.sort_unstable();
    let expected: Vec<u64> = (2..).take(PATCHING + REPLACING).collect();
    assert_eq!(generations, expected, "each has a generation of its own");
    let (text, tag) = socket.config();
    assert_eq!(tag, format!("\"{}\"", PATCHING + REPLACING + 1));
    let config = load(&text, "x").unwrap().config;
    let known = load(&first, "x").unwrap().config.pools.len();
    assert_eq!(config.pools.len(), known + PATCHING + REPLACING);
    for writer in 0..PATCHING + REPLACING {
        let address = &config.pools[&format!("w{writer}")].servers[0].address;
        assert_eq!(address.to_string(), format!("10.1.0.1:{}", 1000 + writer));
    }
    assert_eq!(balancer.client().get("/").status(), 200, "and it serves");
    let again = again.into_inner();
    assert!(again > 0, "nobody met another: nothing was shown");
    figure(format!("writers: {} at once, {again} refused and repeated", PATCHING + REPLACING));
}

/// Adds a pool, and returns the new generation.
fn write(socket: &ApiSocket, writer: usize, again: &AtomicUsize) -> u64 {
    let address = format!("10.1.0.1:{}", 1000 + writer);
    if writer < PATCHING {
        let patch = format!("{{\"pool\": {{\"w{writer}\": {{\"servers\": [\"{address}\"]}}}}}}");
        let done = socket.ask("PATCH /v1/config", &[PATCH], &patch);
        assert_eq!(done.status, 200, "{done:?}");
        return done.json()["generation"].as_u64().unwrap();
    }
    loop {
        let (text, tag) = socket.config();
        let text = format!("{text}\n[pool.w{writer}]\nservers = [\"{address}\"]\n");
        let done = socket.ask("PUT /v1/config", &[TOML, ("if-match", &tag)], &text);
        match done.status {
            200 => return done.json()["generation"].as_u64().unwrap(),
            412 => again.fetch_add(1, Ordering::Relaxed),
            _ => panic!("{done:?}"),
        };
    }
}
