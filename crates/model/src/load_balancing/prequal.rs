//! Prequal: several servers are drawn and unusually busy ones are set aside. The fastest of the others gets the
//! exchange (after Wydrowski et al., "Load is not what you should balance: Introducing Prequal", NSDI 2024).
//!
//! The paper probes servers for requests in flight and latency; here all workers observe both without probes, which is
//! as good as a probe at every pick. A server is hot when it has more in flight per weight than `HOT_RANK` of the
//! recent samples. If all drawn servers are hot, the one with the least in flight is chosen. One pick in `EXPLORE` uses
//! weights alone. A server without a measurement counts as the fastest while it has nothing in flight, so no server
//! starves.

use crate::snapshot::PoolView;

use super::eligible_servers::EligibleServers;
use super::request::{PickRequest, PickResult};
use super::rng::Rng;
use super::two_choices::{TwoChoices, should_explore};

/// Servers drawn at a pick.
const CANDIDATES: usize = 4;
/// Recent samples of in-flight load that decide what is hot.
const IN_FLIGHT_SAMPLES: usize = 64;
/// The rank in these samples above which a server is hot: the paper's 0.84.
const HOT_RANK: usize = IN_FLIGHT_SAMPLES * 84 / 100;
/// Picks between two sorts of the samples: bounds the cost of a pick.
const SORT_EVERY: u32 = 16;
/// A mean below this part of the other is faster: smaller differences are noise.
const CLEAR_RATIO: f32 = 0.9;

#[derive(Clone, Debug)]
pub(super) struct Prequal {
    two_choices: TwoChoices,
    /// In flight per weight, of the last draws.
    recent_in_flight: [f32; IN_FLIGHT_SAMPLES],
    next: usize,
    picks: u32,
    /// Servers above it are hot.
    hot_threshold: f32,
}

#[derive(Clone, Copy)]
struct PrequalCandidate {
    at: usize,
    in_flight: f32,
    /// Mean time to the first byte, microseconds.
    latency: f32,
}

impl Prequal {
    pub fn new(eligible: &EligibleServers) -> Prequal {
        Prequal {
            two_choices: TwoChoices::new(eligible),
            recent_in_flight: [0.0; IN_FLIGHT_SAMPLES],
            next: 0,
            picks: 0,
            hot_threshold: 0.0,
        }
    }

    pub fn pick(
        &mut self,
        eligible: &EligibleServers,
        view: &PoolView,
        ask: &PickRequest,
        rng: &mut Rng,
    ) -> PickResult {
        if should_explore(rng) {
            return self.two_choices.pick(eligible, view, ask, rng, |_, _| false);
        }
        let mut best: Option<PrequalCandidate> = None;
        for _ in 0..CANDIDATES.min(eligible.servers.len()) {
            let at = self.two_choices.draw_one(rng);
            let Some(slot) = eligible.servers.get(at) else { break };
            let Some(server) = view.servers.get(slot.index) else { continue };
            let flying = server.stats.in_flight.get() as f32 / f32::from(slot.weight);
            self.record_in_flight(flying);
            if !eligible.may_take(view, ask, at) {
                continue;
            }
            let time = match server.stats.latency.mean() {
                Some(mean) => mean.micros,
                None if flying == 0.0 => 0.0,
                None => f32::MAX,
            };
            let this = PrequalCandidate { at, in_flight: flying, latency: time };
            if best.is_none_or(|best| self.is_better(this, best)) {
                best = Some(this);
            }
        }
        self.update_hot_threshold();
        match best {
            Some(best) => eligible.choice(best.at),
            None => eligible.first_available(view, ask, self.two_choices.draw_one(rng)),
        }
    }

    fn is_better(&self, this: PrequalCandidate, best: PrequalCandidate) -> bool {
        match (this.in_flight > self.hot_threshold, best.in_flight > self.hot_threshold) {
            (true, true) => this.in_flight < best.in_flight,
            (true, false) => false,
            (false, true) => true,
            (false, false) if this.latency < best.latency * CLEAR_RATIO => true,
            // Equally fast: the less busy server.
            (false, false) => {
                this.latency * CLEAR_RATIO < best.latency && this.in_flight < best.in_flight
            }
        }
    }

    fn record_in_flight(&mut self, flying: f32) {
        self.recent_in_flight[self.next % IN_FLIGHT_SAMPLES] = flying;
        self.next = (self.next + 1) % IN_FLIGHT_SAMPLES;
    }

    /// Updates the threshold of hot servers every `SORT_EVERY` picks.
    fn update_hot_threshold(&mut self) {
        self.picks = self.picks.wrapping_add(1);
        if self.picks.is_multiple_of(SORT_EVERY) {
            let mut sorted = self.recent_in_flight;
            sorted.sort_unstable_by(f32::total_cmp);
            self.hot_threshold = sorted[HOT_RANK];
        }
    }
}
