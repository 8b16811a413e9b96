//! Least-connections: of all servers the one with the fewest exchanges (`tcp`: connections) in flight per weight.
//!
//! Exact where `least-request` compares two: right for few servers and long connections. Every pick looks at every
//! server, up to `LOOKED_AT` of them from a random one on. Among equals the first from there wins, so that workers do
//! not agree on one. It has no counters of its own.

use crate::snapshot::PoolView;

use super::eligible_servers::EligibleServers;
use super::request::{PickRequest, PickResult};
use super::rng::Rng;

/// Servers that a pick looks at: bounds its cost in large pools.
const LOOKED_AT: usize = 256;

pub(super) fn pick(
    eligible: &EligibleServers,
    view: &PoolView,
    ask: &PickRequest,
    rng: &mut Rng,
) -> PickResult {
    let count = eligible.servers.len();
    let from = rng.below(count as u64) as usize;
    let mut best: Option<(u64, u64, usize)> = None;
    for step in 0..count.min(LOOKED_AT) {
        let at = if from + step < count { from + step } else { from + step - count };
        let slot = &eligible.servers[at];
        let Some(server) = view.servers.get(slot.index) else { continue };
        // The exchange to be placed counts: of two idle servers the heavier takes it.
        let flying = u64::from(server.stats.in_flight.get()) + 1;
        let weight = u64::from(slot.weight);
        let fewer = best.is_none_or(|(most, by, _)| flying * by < most * weight);
        if fewer && eligible.may_take(view, ask, at) {
            best = Some((flying, weight, at));
        }
    }
    match best {
        Some((_, _, at)) => eligible.choice(at),
        None => eligible.first_available(view, ask, from),
    }
}
