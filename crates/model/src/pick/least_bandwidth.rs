//! Least-bandwidth: the one of two that moves fewer bytes a second per weight, both ways together, the more surely the
//! more they differ.
//!
//! Each worker looks at the byte counters of all workers every `SAMPLE` and keeps a smoothed rate a server. Between
//! two looks it adds to a server's rate, for each exchange that it gives there, what an exchange moves on average:
//! otherwise everybody would send everything to the one that was idle at the last look. It does not know how much an
//! exchange will move.

use std::time::Duration;

use crate::moment::Moment;
use crate::snapshot::{PoolView, ServerView};

use super::ask::{Ask, Choice};
use super::eligible::Eligible;
use super::rng::Rng;
use super::two::{Two, explores};

/// Between two looks at the counters.
const SAMPLE: Duration = Duration::from_millis(250);
/// How much a look counts against those before: about a second is looked back.
const NEWEST: f32 = 0.25;

#[derive(Clone, Debug)]
pub(super) struct LeastBandwidth {
    two: Two,
    /// When the counters were read last; none before the first choice.
    looked: Option<Moment>,
    /// By position among the eligible.
    rates: Vec<Rate>,
    /// Bytes a second that one exchange adds, on average over all servers.
    each: f32,
    /// Exchanges so far, over all servers.
    exchanges: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Rate {
    bytes: u64,
    /// Bytes a second.
    smooth: f32,
    /// Given since the last look, in bytes a second.
    given: f32,
}

impl LeastBandwidth {
    pub fn new(eligible: &Eligible) -> LeastBandwidth {
        LeastBandwidth {
            two: Two::new(eligible),
            looked: None,
            rates: vec![Rate::default(); eligible.slots.len()],
            each: 0.0,
            exchanges: 0,
        }
    }

    pub fn pick(
        &mut self,
        eligible: &Eligible,
        view: &PoolView,
        ask: &Ask,
        rng: &mut Rng,
    ) -> Choice {
        self.look(eligible, view, ask.now);
        let explores = explores(rng);
        let draw = rng.below(1 << 24) as f32 / (1u32 << 24) as f32;
        let rates = &self.rates;
        let choice = self.two.pick(eligible, view, ask, rng, |second, first| {
            let per_weight = |at: usize| {
                let rate = &rates[at];
                (rate.smooth + rate.given) / f32::from(eligible.slots[at].weight)
            };
            let (second, first) = (per_weight(second), per_weight(first));
            // What was moved in the last second is no measure to follow at once: equal servers would take turns.
            !explores && draw < 0.5 + (first - second) / (first + second).max(f32::MIN_POSITIVE)
        });
        if let Choice::Server(index) = choice
            && let Ok(at) = eligible.slots.binary_search_by_key(&index, |slot| slot.index)
        {
            self.rates[at].given += self.each;
        }
        choice
    }

    fn look(&mut self, eligible: &Eligible, view: &PoolView, now: Moment) {
        let span = self.looked.map(|before| now.since(before));
        if span.is_some_and(|span| span < SAMPLE) {
            return;
        }
        self.looked = Some(now);
        let (mut all, mut exchanges) = (0, 0);
        for (rate, slot) in self.rates.iter_mut().zip(&eligible.slots) {
            let Some(server) = view.servers.get(slot.index) else { continue };
            let so_far = bytes(server);
            exchanges += self::exchanges(server);
            let Some(span) = span else {
                rate.bytes = so_far;
                continue;
            };
            let moved = so_far.saturating_sub(rate.bytes);
            let newest = moved as f32 / span.as_secs_f32();
            let smooth = rate.smooth + (newest - rate.smooth) * NEWEST;
            *rate = Rate { bytes: so_far, smooth, given: 0.0 };
            all += moved;
        }
        let new = exchanges.saturating_sub(self.exchanges).max(1);
        self.each = all as f32 / new as f32 / SAMPLE.as_secs_f32() * NEWEST;
        self.exchanges = exchanges;
    }
}

/// Exchanges begun so far, over all workers.
fn exchanges(server: &ServerView) -> u64 {
    server.live.slots.iter().map(|slot| slot.counters.requests.get()).fold(0, u64::wrapping_add)
}

/// Bytes moved so far, over all workers.
fn bytes(server: &ServerView) -> u64 {
    let of = |slot: &crate::live::ServerSlot| {
        slot.counters.bytes_in.get().wrapping_add(slot.counters.bytes_out.get())
    };
    server.live.slots.iter().map(of).fold(0, u64::wrapping_add)
}
