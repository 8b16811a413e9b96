//! Prequal: of a few drawn servers, those that are unusually busy are set aside, and of the rest the one that answers
//! soonest takes the exchange (after Wydrowski et al., "Load is not what you should balance: Introducing Prequal",
//! NSDI 2024).
//!
//! The paper probes servers for requests in flight and latency; here both are seen in passing, by all workers
//! together, so that every server is as good as probed at every choice. A server is hot when it has more in flight
//! per weight than `HOT` of what was seen at the last choices; when all that were drawn are hot the one with the
//! least in flight is taken. One choice in `EXPLORE` asks nothing but the weights, and a server that nothing is known
//! of counts as the soonest while it has nothing in flight: no server starves. It sends no probes.

use crate::snapshot::PoolView;

use super::ask::{Ask, Choice};
use super::eligible::Eligible;
use super::rng::Rng;
use super::two::{Two, explores};

/// Servers drawn at a choice.
const DRAWN: usize = 4;
/// What was seen of so many draws decides what is hot.
const SEEN: usize = 64;
/// The part of what was seen below which a server is cold: the paper's 0.84.
const HOT: usize = SEEN * 84 / 100;
/// Between two looks at what was seen, in choices.
const SORT_EVERY: u32 = 16;
/// Two means must differ by so much for one to be sooner.
const CLEARLY: f32 = 0.9;

#[derive(Clone, Debug)]
pub(super) struct Prequal {
    two: Two,
    /// In flight per weight, of the last draws.
    seen: [f32; SEEN],
    next: usize,
    choices: u32,
    /// What lies above it is hot.
    edge: f32,
}

/// A drawn server.
#[derive(Clone, Copy)]
struct Candidate {
    at: usize,
    flying: f32,
    /// Mean time to the first byte, microseconds.
    time: f32,
}

impl Prequal {
    pub fn new(eligible: &Eligible) -> Prequal {
        Prequal { two: Two::new(eligible), seen: [0.0; SEEN], next: 0, choices: 0, edge: 0.0 }
    }

    pub fn pick(
        &mut self,
        eligible: &Eligible,
        view: &PoolView,
        ask: &Ask,
        rng: &mut Rng,
    ) -> Choice {
        if explores(rng) {
            return self.two.pick(eligible, view, ask, rng, |_, _| false);
        }
        let mut best: Option<Candidate> = None;
        for _ in 0..DRAWN.min(eligible.slots.len()) {
            let at = self.two.one(rng);
            let Some(slot) = eligible.slots.get(at) else { break };
            let Some(server) = view.servers.get(slot.index) else { continue };
            let flying = server.live.in_flight.get() as f32 / f32::from(slot.weight);
            self.see(flying);
            if !eligible.takes(view, ask, at) {
                continue;
            }
            let time = match server.live.pace.mean() {
                Some(mean) => mean.micros,
                None if flying == 0.0 => 0.0,
                None => f32::MAX,
            };
            let this = Candidate { at, flying, time };
            if best.is_none_or(|best| self.better(this, best)) {
                best = Some(this);
            }
        }
        self.settle();
        match best {
            Some(best) => eligible.choice(best.at),
            None => eligible.scan(view, ask, self.two.one(rng)),
        }
    }

    fn better(&self, this: Candidate, best: Candidate) -> bool {
        match (this.flying > self.edge, best.flying > self.edge) {
            (true, true) => this.flying < best.flying,
            (true, false) => false,
            (false, true) => true,
            (false, false) if this.time < best.time * CLEARLY => true,
            // As soon as each other: the less busy one.
            (false, false) => this.time * CLEARLY < best.time && this.flying < best.flying,
        }
    }

    fn see(&mut self, flying: f32) {
        self.seen[self.next % SEEN] = flying;
        self.next = (self.next + 1) % SEEN;
    }

    /// Now and then: what is hot.
    fn settle(&mut self) {
        self.choices = self.choices.wrapping_add(1);
        if self.choices.is_multiple_of(SORT_EVERY) {
            let mut sorted = self.seen;
            sorted.sort_unstable_by(f32::total_cmp);
            self.edge = sorted[HOT];
        }
    }
}
