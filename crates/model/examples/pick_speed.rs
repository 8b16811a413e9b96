//! Measures the time of one pick and of one refresh: `cargo run --release -p model --example pick_speed`.
//!
//! One thread, 1,000 servers in cache; contention between workers is not measured.

#[path = "../tests/support/view.rs"]
mod view;

use std::hint::black_box;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use model::config::BalancePolicy;
use model::load_balancing::{PickRequest, PickResult, Rng, ServerPicker};
use model::monotonic_time::MonotonicTime;
use model::snapshot::ServerState;

const SERVERS: usize = 1000;
const CHOICES: u32 = 1_000_000;
const REFRESHES: u32 = 100;

#[expect(clippy::print_stdout, reason = "printing is what it is for")]
fn main() {
    let weights: [(&str, Vec<u16>); 3] = [
        ("equal", vec![1; SERVERS]),
        ("two", (0..SERVERS).map(|at| if at % 10 == 0 { 3 } else { 1 }).collect()),
        ("1-256", (0..SERVERS).map(|at| (at % 256 + 1) as u16).collect()),
    ];
    let policies = [
        BalancePolicy::RoundRobin,
        BalancePolicy::LeastRequest,
        BalancePolicy::LeastConnections,
        BalancePolicy::LeastBandwidth,
        BalancePolicy::Fastest,
        BalancePolicy::LeastLoaded,
        BalancePolicy::PeakEwma,
        BalancePolicy::Prequal,
        BalancePolicy::Random,
        BalancePolicy::Maglev { size: 16_381 },
        BalancePolicy::BoundedHash { size: 16_381, load_factor: 125 },
        BalancePolicy::Source { mask4: 24, mask6: 64 },
    ];
    println!("{SERVERS} servers           ns a choice    us a refresh");
    for balance in policies {
        for (name, weights) in &weights {
            let (choice, refresh) = measure(balance, weights);
            println!("{:<28} {choice:>6} {refresh:>14}", format!("{balance:?}, {name}"));
        }
    }
}

/// Nanoseconds per pick, and microseconds per refresh after a verdict.
fn measure(balance: BalancePolicy, weights: &[u16]) -> (u128, u128) {
    let mut view = view::pool(balance, weights);
    let mut chooser = ServerPicker::new(&view, 1);
    let mut rng = Rng::new(1);
    let began = Instant::now();
    for number in 0..CHOICES {
        let now = MonotonicTime(u64::from(number) * 1000);
        let ask = PickRequest::first_attempt(IpAddr::from(number.to_be_bytes()), now);
        if let PickResult::Server(at) = black_box(chooser.pick(&view, &ask, &mut rng)) {
            let live = &view.servers[at].stats;
            live.latency.record_answer(Duration::from_micros(u64::from(number % 1000)), now);
            let flying = &live.in_flight;
            if flying.increment() > 3 {
                (0..4).for_each(|_| flying.decrement());
            }
        }
    }
    let choice = began.elapsed().as_nanos() / u128::from(CHOICES);
    let began = Instant::now();
    for turn in 0..REFRESHES {
        let state = if turn % 2 == 0 { ServerState::Down } else { ServerState::Up };
        view.servers[7].state = state;
        chooser.refresh(black_box(&view));
    }
    (choice, began.elapsed().as_micros() / u128::from(REFRESHES))
}
