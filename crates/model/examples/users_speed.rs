//! Measures the cost of counting an operation for an SLO: `cargo run --profile prove -p model --example users_speed`.
//!
//! One thread with its slot in cache: the operation's class, its client's network, and the counters. Reading them is
//! not measured, because it happens only every few seconds.

use std::hint::black_box;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use model::cause::Cause;
use model::slo::network_table::{NetworkGrouping, SloTable};
use model::slo::outcome::EndedOperation;
use model::slo::outcome_counts::outcome_indices;

const OPERATIONS: u32 = 10_000_000;
/// The default grouping of client networks.
const SHAPE: NetworkGrouping = NetworkGrouping { networks: 64, mask4: 24, mask6: 56 };

#[expect(clippy::print_stdout, reason = "printing is what it is for")]
fn main() {
    println!("clients of so many networks   ns an operation");
    for networks in [1, 16, 64, 256, 65_536] {
        println!("{networks:<29} {:.1}", measure(networks));
    }
}

/// Nanoseconds of the best of five runs.
fn measure(networks: u32) -> f64 {
    let runs = (0..5).map(|_| {
        let users = SloTable::new(1, SHAPE);
        let begun = Instant::now();
        for number in 0..OPERATIONS {
            // One operation in a hundred fails.
            let cause = (number % 100 == 0).then_some(Cause::ServerReset);
            let took = Duration::from_micros(u64::from(number % 700));
            let ended =
                black_box(EndedOperation { cause, by_us: false, status: 200, duration: took });
            let client = (number.wrapping_mul(0x9e37_79b9) % networks) << 8;
            let client = black_box(IpAddr::from(client.to_be_bytes()));
            users.record(0, client, outcome_indices(&ended, Some(Duration::from_micros(500))));
        }
        let took = begun.elapsed();
        black_box(users.totals());
        took.as_secs_f64() * 1e9 / f64::from(OPERATIONS)
    });
    runs.fold(f64::INFINITY, f64::min)
}
