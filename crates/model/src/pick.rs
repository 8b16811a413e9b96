//! Choosing a server: one policy a file, one face for all.
//!
//! A `Chooser` belongs to one worker and one pool. It is told of each new snapshot by `refresh` and keeps what
//! outlives one (the position of round-robin); at each `pick` it reads only what changes between snapshots: the
//! shared counters. It opens nothing, counts nothing and reads no clock. `pick` does not allocate.

mod ask;
mod eligible;
mod least_request;
mod random;
mod rng;
mod weighted;

pub use ask::{Ask, Choice};
pub use rng::Rng;

use crate::config::Balance;
use crate::snapshot::PoolView;

use eligible::Eligible;
use least_request::LeastRequest;
use random::Random;

/// One worker's way of choosing among the servers of one pool.
#[derive(Clone, Debug)]
pub struct Chooser {
    seed: u64,
    balance: Balance,
    eligible: Eligible,
    policy: Policy,
}

#[derive(Clone, Debug)]
enum Policy {
    LeastRequest(LeastRequest),
    Random(Random),
}

impl Chooser {
    /// For the pool as it is in `view`. Give every worker another `seed`: it sets where round-robin begins.
    pub fn new(view: &PoolView, seed: u64) -> Chooser {
        let eligible = Eligible::of(view);
        let balance = view.config.balance;
        let policy = Policy::new(balance, &eligible);
        Chooser { seed, balance, eligible, policy }
    }

    /// Takes a new picture of the pool. Call it for every new `PoolView` before the next `pick`; servers that
    /// stay keep their place. Costs next to nothing when nothing changed that concerns choosing.
    pub fn refresh(&mut self, view: &PoolView) {
        let eligible = Eligible::of(view);
        if eligible == self.eligible && view.config.balance == self.balance {
            return;
        }
        *self = Chooser::new(view, self.seed);
    }

    /// Chooses. `view` is the one of the last `new` or `refresh`.
    #[inline]
    pub fn pick(&mut self, view: &PoolView, ask: &Ask, rng: &mut Rng) -> Choice {
        let eligible = &self.eligible;
        match &mut self.policy {
            Policy::LeastRequest(policy) => policy.pick(eligible, view, ask, rng),
            Policy::Random(policy) => policy.pick(eligible, view, ask, rng),
        }
    }
}

impl Policy {
    fn new(balance: Balance, eligible: &Eligible) -> Policy {
        match balance {
            Balance::LeastRequest => Policy::LeastRequest(LeastRequest::new(eligible)),
            _ => Policy::Random(Random::new(eligible)),
        }
    }
}
