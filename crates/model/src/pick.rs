//! Choosing a server: one policy a file, one face for all.
//!
//! A `Chooser` belongs to one worker and one pool. It is told of each new snapshot by `refresh` and keeps what
//! outlives one (the position of round-robin); at each `pick` it reads only what changes between snapshots: the
//! shared counters. It opens nothing, counts nothing and reads no clock. `pick` does not allocate.

mod ask;
mod eligible;
mod least_request;
pub mod maglev;
mod random;
mod rng;
mod round_robin;
mod source;
mod weighted;

pub use ask::{Ask, Choice};
pub use rng::Rng;

use crate::config::Balance;
use crate::snapshot::PoolView;

use eligible::Eligible;
use least_request::LeastRequest;
use maglev::Maglev;
use random::Random;
use round_robin::RoundRobin;
use source::Source;

/// Who may take new work now, by index into the pool's servers, with the weight of each: for a plane that chooses by a
/// table of its own.
pub fn eligible(view: &PoolView) -> Vec<(usize, u16)> {
    Eligible::of(view).slots.iter().map(|slot| (slot.index, slot.weight)).collect()
}

/// One worker's way of choosing among the servers of one pool.
#[derive(Clone, Debug)]
pub struct Chooser {
    seed: u64,
    eligible: Eligible,
    policy: Policy,
}

#[derive(Clone, Debug)]
enum Policy {
    RoundRobin(RoundRobin),
    LeastRequest(LeastRequest),
    Random(Random),
    Maglev(Maglev),
    Source(Source),
}

impl Chooser {
    /// For the pool as it is in `view`. Give every worker another `seed`: it sets where round-robin begins.
    pub fn new(view: &PoolView, seed: u64) -> Chooser {
        let eligible = Eligible::of(view);
        let policy = match view.config.balance {
            Balance::RoundRobin => Policy::RoundRobin(RoundRobin::new(&eligible, seed)),
            Balance::LeastRequest => Policy::LeastRequest(LeastRequest::new(&eligible)),
            Balance::Random => Policy::Random(Random::new(&eligible)),
            Balance::Maglev { size } => Policy::Maglev(Maglev::new(&eligible, view, size)),
            Balance::Source { mask4, mask6 } => {
                Policy::Source(Source::new(&eligible, view, mask4, mask6))
            }
        };
        Chooser { seed, eligible, policy }
    }

    /// Takes a new picture of the pool. Call it for every new `PoolView` before the next `pick`; servers that
    /// stay keep their place. Costs little when nothing changed that concerns choosing.
    pub fn refresh(&mut self, view: &PoolView) {
        let eligible = Eligible::of(view);
        let changed = eligible != self.eligible;
        match (&mut self.policy, view.config.balance) {
            (Policy::RoundRobin(_), Balance::RoundRobin)
            | (Policy::LeastRequest(_), Balance::LeastRequest)
            | (Policy::Random(_), Balance::Random)
                if !changed => {}
            (Policy::RoundRobin(policy), Balance::RoundRobin) => policy.refresh(&eligible),
            (Policy::Maglev(policy), Balance::Maglev { size }) => {
                policy.refresh(&eligible, view, size);
            }
            (Policy::Source(policy), Balance::Source { mask4, mask6 }) => {
                policy.refresh(&eligible, view, mask4, mask6);
            }
            _ => *self = Chooser::new(view, self.seed),
        }
        self.eligible = eligible;
    }

    /// Chooses. `view` is the one of the last `new` or `refresh`.
    #[inline]
    pub fn pick(&mut self, view: &PoolView, ask: &Ask, rng: &mut Rng) -> Choice {
        let eligible = &self.eligible;
        match &mut self.policy {
            Policy::RoundRobin(policy) => policy.pick(eligible, view, ask),
            Policy::LeastRequest(policy) => policy.pick(eligible, view, ask, rng),
            Policy::Random(policy) => policy.pick(eligible, view, ask, rng),
            Policy::Maglev(policy) => policy.pick(eligible, view, ask, ask.client),
            Policy::Source(policy) => policy.pick(eligible, view, ask),
        }
    }
}
