//! Least-bandwidth: of two servers the one that moves fewer bytes a second per weight, both directions together. The
//! larger the difference, the surer the choice.
//!
//! Each worker reads the byte counters of all workers every `SAMPLE_INTERVAL` and smooths a rate for each server.
//! Between two samples, each exchange that the worker assigns adds an average exchange's bytes to the server's rate.
//! Otherwise every worker would send everything to the server that was idle at the last sample. How much an exchange
//! will really move is unknown.

use std::time::Duration;

use crate::monotonic_time::MonotonicTime;
use crate::snapshot::{PoolView, ServerView};

use super::eligible_servers::EligibleServers;
use super::request::{PickRequest, PickResult};
use super::rng::Rng;
use super::two_choices::{TwoChoices, should_explore};

/// Time between two samples of the counters: bounds the cost of summing all workers' counters.
/// Four samples a second follow a change within a second.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(250);
/// The weight of a sample against earlier ones: the smoothed rate covers about a second.
const SMOOTHING: f32 = 0.25;

#[derive(Clone, Debug)]
pub(super) struct LeastBandwidth {
    two_choices: TwoChoices,
    /// When the counters were last sampled; `None` before the first pick.
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
    /// Added by picks since the last sample, in bytes a second.
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
            // A preference that followed the last second fully would make equal servers alternate.
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

/// Exchanges started so far, over all workers.
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
