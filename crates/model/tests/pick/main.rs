//! Load balancing through the interface that workers use.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test says what it expected and stops")]

#[path = "../support/view.rs"]
mod view;

mod eligible;
mod load;
mod maglev;
mod measured;
mod ranks;
mod round_robin;
mod simulation;

use std::net::IpAddr;

use model::config::BalancePolicy;
use model::id::ServerId;
use model::load_balancing::{PickRequest, PickResult, Rng, ServerPicker};
use model::monotonic_time::MonotonicTime;
use model::snapshot::PoolView;

pub const POLICIES: [BalancePolicy; 12] = [
    BalancePolicy::RoundRobin,
    BalancePolicy::LeastRequest,
    BalancePolicy::LeastConnections,
    BalancePolicy::LeastBandwidth,
    BalancePolicy::Fastest,
    BalancePolicy::LeastLoaded,
    BalancePolicy::PeakEwma,
    BalancePolicy::Prequal,
    BalancePolicy::Random,
    BalancePolicy::Maglev { size: 251 },
    BalancePolicy::BoundedHash { size: 251, load_factor: 125 },
    BalancePolicy::Source { mask4: 24, mask6: 64 },
];

/// A client with its own address.
pub fn client(number: u32) -> IpAddr {
    IpAddr::from(number.to_be_bytes())
}

/// One choice by a first attempt of a client.
pub fn pick(chooser: &mut ServerPicker, view: &PoolView, number: u32, rng: &mut Rng) -> PickResult {
    pick_after(chooser, view, number, &[], rng)
}

/// One choice after these servers were tried.
pub fn pick_after(
    chooser: &mut ServerPicker,
    view: &PoolView,
    number: u32,
    tried: &[ServerId],
    rng: &mut Rng,
) -> PickResult {
    chooser.pick(
        view,
        &PickRequest { tried, ..PickRequest::first_attempt(client(number), MonotonicTime(0)) },
        rng,
    )
}

/// How often each server was chosen in this many choices by as many clients.
pub fn tally(chooser: &mut ServerPicker, view: &PoolView, choices: u32, rng: &mut Rng) -> Vec<u64> {
    let mut counts = vec![0; view.servers.len()];
    for number in 0..choices {
        match pick(chooser, view, number.wrapping_mul(2_654_435_761), rng) {
            PickResult::Server(at) => counts[at] += 1,
            other => panic!("{other:?}"),
        }
    }
    counts
}
