//! Least-bandwidth: the one of two that moves fewer bytes a second per weight, both ways together, the more surely the
//! more they differ.
//!
//! Each worker looks at the byte counters of all workers every `SAMPLE` and keeps a smoothed rate a server. Between
//! two looks it adds to a server's rate, for each exchange that it gives there, what an exchange moves on average:
//! otherwise everybody would send everything to the one that was idle at the last look. It does not know how much an
//! exchange will move.

use std::time::Duration;

use crate::monotonic_time::MonotonicTime;
use crate::snapshot::{PoolView, ServerView};

use super::eligible_servers::EligibleServers;
use super::request::{PickRequest, PickResult};
use super::rng::Rng;
use super::two_choices::{TwoChoices, should_explore};

/// Between two looks at the counters.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(250);
/// How much a look counts against those before: about a second is looked back.
const SMOOTHING: f32 = 0.25;

#[derive(Clone, Debug)]
pub(super) struct LeastBandwidth {
    two_choices: TwoChoices,
    /// When the counters were read last; none before the first choice.
    sampled_at: Option<MonotonicTime>,
    /// By position among the eligible.
    rates: Vec<BandwidthEstimate>,
    /// Bytes a second that one exchange adds, on average over all servers.
    bytes_per_exchange: f32,
    /// Exchanges so far, over all servers.
    exchanges: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct BandwidthEstimate {
    bytes: u64,
    smooth: f32,
    /// Given since the last look, in bytes a second.
    assigned: f32,
}

impl LeastBandwidth {
    pub fn new(eligible: &EligibleServers) -> LeastBandwidth {
        LeastBandwidth {
            two_choices: TwoChoices::new(eligible),
            sampled_at: None,
            rates: vec![BandwidthEstimate::default(); eligible.servers.len()],
            bytes_per_exchange: 0.0,
            exchanges: 0,
        }
    }

    pub fn pick(
        &mut self,
        eligible: &EligibleServers,
        view: &PoolView,
        ask: &PickRequest,
        rng: &mut Rng,
    ) -> PickResult {
        self.update_rates(eligible, view, ask.now);
        let explores = should_explore(rng);
        let draw = rng.below(1 << 24) as f32 / (1u32 << 24) as f32;
        let rates = &self.rates;
        let choice = self.two_choices.pick(eligible, view, ask, rng, |second, first| {
            let per_weight = |at: usize| {
                let rate = &rates[at];
                (rate.smooth + rate.assigned) / f32::from(eligible.servers[at].weight)
            };
            let second = per_weight(second);
            let first = per_weight(first);
            // What was moved in the last second is no measure to follow at once: equal servers would take turns.
            !explores && draw < 0.5 + (first - second) / (first + second).max(f32::MIN_POSITIVE)
        });
        if let PickResult::Server(index) = choice
            && let Ok(at) = eligible.servers.binary_search_by_key(&index, |slot| slot.index)
        {
            self.rates[at].assigned += self.bytes_per_exchange;
        }
        choice
    }

    fn update_rates(&mut self, eligible: &EligibleServers, view: &PoolView, now: MonotonicTime) {
        let span = self.sampled_at.map(|before| now.since(before));
        if span.is_some_and(|span| span < SAMPLE_INTERVAL) {
            return;
        }
        self.sampled_at = Some(now);
        let mut all = 0;
        let mut exchanges = 0;
        for (rate, slot) in self.rates.iter_mut().zip(&eligible.servers) {
            let Some(server) = view.servers.get(slot.index) else { continue };
            let so_far = bytes(server);
            exchanges += self::exchanges(server);
            let Some(span) = span else {
                rate.bytes = so_far;
                continue;
            };
            let moved = so_far.saturating_sub(rate.bytes);
            let newest = moved as f32 / span.as_secs_f32();
            let smooth = rate.smooth + (newest - rate.smooth) * SMOOTHING;
            *rate = BandwidthEstimate { bytes: so_far, smooth, assigned: 0.0 };
            all += moved;
        }
        let new = exchanges.saturating_sub(self.exchanges).max(1);
        self.bytes_per_exchange =
            all as f32 / new as f32 / SAMPLE_INTERVAL.as_secs_f32() * SMOOTHING;
        self.exchanges = exchanges;
    }
}

/// Exchanges begun so far, over all workers.
fn exchanges(server: &ServerView) -> u64 {
    server.stats.slots.iter().map(|slot| slot.counters.requests.get()).fold(0, u64::wrapping_add)
}

/// Bytes moved so far, over all workers.
fn bytes(server: &ServerView) -> u64 {
    let of = |slot: &crate::stats::ServerWorkerStats| {
        slot.counters.bytes_in.get().wrapping_add(slot.counters.bytes_out.get())
    };
    server.stats.slots.iter().map(of).fold(0, u64::wrapping_add)
}
