//! Exchanges that workers have measured, kept for the question which ones are slow and why.
//!
//! Workers put them into rings and wait for nobody; here they are taken out, weighed and kept in bounded memory. What
//! they mean is judged by `model::attribute`.

pub mod gather;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use model::attribute::slow::SLICE;
use model::attribute::{Bar, Bars, Facts, Filter, Pile, Slow as Slowest, WORDS, judge};
use model::live::ring::Ring;
use model::pick::Rng;
use model::snapshot::Snapshot;

/// Exchanges that wait for whoever looks at each one.
const FRESH: usize = 4_096;

/// What was measured since the start.
#[derive(Default)]
pub struct Slow {
    rings: Vec<Arc<Ring<WORDS>>>,
    /// One exchange in so many is measured; `None`: none is.
    sample: Option<u32>,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    pile: Pile,
    sums: HashMap<u32, Bars>,
    lots: Lots,
    /// The slice in which bounds were moved last.
    moved: u64,
    /// What came since it was asked for last.
    fresh: Vec<Facts>,
}

/// Draws what is kept.
struct Lots(Rng);

impl Default for Lots {
    fn default() -> Self {
        // Nobody gains by guessing which exchanges are kept.
        Lots(Rng::new(0x510_CAFE))
    }
}

/// Time of exchanges since the start, estimated from those that were measured.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// By service, by number.
    pub services: Vec<(u32, Vec<Bar>)>,
    /// Measured exchanges that found no room on their way.
    pub dropped: u64,
}

impl std::fmt::Debug for Slow {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.debug_struct("Slow").field("sample", &self.sample).finish_non_exhaustive()
    }
}

impl Slow {
    /// What comes through these rings, in which an exchange that is not slow stands for `sample`.
    pub fn new(rings: Vec<Arc<Ring<WORDS>>>, sample: Option<u32>) -> Slow {
        Slow { rings, sample, ..Slow::default() }
    }

    /// Takes what the workers have put in; `now`: nanoseconds on their clock.
    pub fn take(&self, snapshot: &Snapshot, now: u64) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = &mut *kept;
        for ring in &self.rings {
            while let Some(words) = ring.pop() {
                let mut facts = Facts::from_words(&words);
                facts.weight = if facts.flags.slow { 1 } else { self.sample.unwrap_or(1) };
                let sums = kept.sums.entry(facts.service).or_default();
                sums.join(&judge(&facts), f64::from(facts.weight));
                if kept.fresh.len() < FRESH {
                    kept.fresh.push(facts.clone());
                }
                kept.pile.add(facts, kept.lots.0.next());
            }
        }
        if now / SLICE > kept.moved {
            kept.moved = now / SLICE;
            kept.sums.retain(|id, _| snapshot.services.keys().any(|known| known.0 == *id));
            for (id, view) in &snapshot.services {
                let bound = kept.pile.bound(id.0, now);
                view.live.slow_from.store(bound, std::sync::atomic::Ordering::Relaxed);
            }
        }
    }

    /// What came since this was asked for last; the first ones, where there was very much.
    pub fn fresh(&self) -> Vec<Facts> {
        std::mem::take(&mut self.kept.lock().unwrap_or_else(PoisonError::into_inner).fresh)
    }

    /// The slowest that fit.
    pub fn slowest(&self, filter: &Filter) -> Slowest {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).pile.slowest(filter)
    }

    /// One exchange in so many is measured whatever it takes; `None`: none is.
    pub fn sample(&self) -> Option<u32> {
        self.sample
    }

    /// Time since the start.
    pub fn totals(&self) -> Totals {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let services = kept.sums.iter().map(|(id, bars)| (*id, bars.all().to_vec()));
        Totals {
            services: services.collect(),
            dropped: self.rings.iter().map(|ring| ring.dropped()).sum(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use model::limit::Owner;

    use super::*;

    #[test]
    fn what_is_drawn_stands_for_many_and_what_is_slow_for_itself() {
        let ring = Arc::new(Ring::new(4));
        let slow = Slow::new(vec![ring.clone()], Some(10));
        for (at, total, is_slow) in [(0, 1_000, false), (1, 900_000, true), (2, 2_000, false)] {
            let mut facts = Facts::of(IpAddr::from([192, 0, 2, 1]), total);
            (facts.at, facts.id, facts.flags.slow) = (at, at, is_slow);
            ring.push(&facts.to_words());
        }
        let snapshot = Snapshot {
            generation: 1,
            version: 1,
            services: Default::default(),
            pools: Default::default(),
            proofs: None,
            cookie_secrets: Default::default(),
        };
        slow.take(&snapshot, 5);
        let totals = slow.totals();
        assert_eq!((totals.dropped, totals.services.len()), (0, 1));
        let bars = &totals.services[0].1;
        assert_eq!(bars.iter().map(|bar| bar.nanos).sum::<u64>(), 930_000);
        assert!(bars.iter().all(|bar| bar.owner == Some(Owner::Balancer)));
        let filter = Filter { service: 0, servers: None, from: None, share: 0.04, since: 0 };
        let found = slow.slowest(&filter);
        assert_eq!((found.all, found.measured, found.bound), (21.0, 1, 900_000));
        slow.take(&snapshot, SLICE);
        assert!(slow.totals().services.is_empty(), "a service that is gone is forgotten");
    }
}
