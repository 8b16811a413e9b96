//! Choosing a server: one policy a file, one face for all.
//!
//! A `Chooser` belongs to one worker and one pool. It is told of each new snapshot by `refresh` and keeps what
//! outlives one (the position of round-robin); at each `pick` it reads only what changes between snapshots: the
//! shared counters, times and loads. It opens nothing, counts nothing and reads no clock. `pick` does not allocate.

mod ask;
mod bounded_hash;
pub mod eligible;
mod fastest;
mod least_bandwidth;
mod least_connections;
mod least_loaded;
mod least_request;
pub mod maglev;
mod peak_ewma;
mod prequal;
mod random;
mod rng;
mod round_robin;
mod source;
mod two;
mod weighted;

pub use ask::{Ask, Choice};
pub use rng::Rng;

use crate::config::Balance;
use crate::hash;
use crate::snapshot::PoolView;

use bounded_hash::BoundedHash;
use eligible::Eligible;
use fastest::Fastest;
use least_bandwidth::LeastBandwidth;
use least_loaded::LeastLoaded;
use least_request::LeastRequest;
use maglev::Maglev;
use peak_ewma::PeakEwma;
use prequal::Prequal;
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
    balance: Balance,
    eligible: Eligible,
    policy: Policy,
}

#[derive(Clone, Debug)]
enum Policy {
    RoundRobin(RoundRobin),
    LeastRequest(LeastRequest),
    LeastConnections,
    LeastBandwidth(LeastBandwidth),
    Fastest(Fastest),
    LeastLoaded(LeastLoaded),
    PeakEwma(PeakEwma),
    Prequal(Box<Prequal>),
    Random(Random),
    Maglev(Maglev),
    BoundedHash(BoundedHash),
    Source(Source),
}

impl Chooser {
    /// For the pool as it is in `view`. Give every worker another `seed`: it sets where round-robin begins.
    pub fn new(view: &PoolView, seed: u64) -> Chooser {
        let eligible = Eligible::of(view);
        let balance = view.config.balance;
        let policy = Policy::new(balance, &eligible, view, seed);
        Chooser { seed, balance, eligible, policy }
    }

    /// Takes a new picture of the pool. Call it for every new `PoolView` before the next `pick`; servers that
    /// stay keep their place. Costs little when nothing changed that concerns choosing.
    pub fn refresh(&mut self, view: &PoolView) {
        let eligible = Eligible::of(view);
        let balance = view.config.balance;
        let changed = eligible != self.eligible;
        match (&mut self.policy, balance) {
            (Policy::RoundRobin(policy), Balance::RoundRobin) if changed => {
                policy.refresh(&eligible);
            }
            (Policy::Maglev(policy), Balance::Maglev { size }) => {
                policy.refresh(&eligible, view, size);
            }
            (Policy::BoundedHash(policy), Balance::BoundedHash { size, load_factor }) => {
                policy.refresh(&eligible, view, size, load_factor);
            }
            (Policy::Source(policy), Balance::Source { mask4, mask6 }) => {
                policy.refresh(&eligible, view, mask4, mask6);
            }
            _ if changed || balance != self.balance => {
                self.policy = Policy::new(balance, &eligible, view, self.seed);
            }
            _ => {}
        }
        (self.balance, self.eligible) = (balance, eligible);
    }

    /// Chooses. `view` is the one of the last `new` or `refresh`.
    #[inline]
    pub fn pick(&mut self, view: &PoolView, ask: &Ask, rng: &mut Rng) -> Choice {
        let eligible = &self.eligible;
        match &mut self.policy {
            Policy::RoundRobin(policy) => policy.pick(eligible, view, ask),
            Policy::LeastRequest(policy) => policy.pick(eligible, view, ask, rng),
            Policy::LeastConnections => least_connections::pick(eligible, view, ask, rng),
            Policy::LeastBandwidth(policy) => policy.pick(eligible, view, ask, rng),
            Policy::Fastest(policy) => policy.pick(eligible, view, ask, rng),
            Policy::LeastLoaded(policy) => policy.pick(eligible, view, ask, rng),
            Policy::PeakEwma(policy) => policy.pick(eligible, view, ask, rng),
            Policy::Prequal(policy) => policy.pick(eligible, view, ask, rng),
            Policy::Random(policy) => policy.pick(eligible, view, ask, rng),
            Policy::Maglev(policy) => policy.pick(eligible, view, ask, key(ask)),
            Policy::BoundedHash(policy) => policy.pick(eligible, view, ask, key(ask)),
            Policy::Source(policy) => policy.pick(eligible, view, ask),
        }
    }
}

impl Policy {
    fn new(balance: Balance, eligible: &Eligible, view: &PoolView, seed: u64) -> Policy {
        match balance {
            Balance::RoundRobin => Policy::RoundRobin(RoundRobin::new(eligible, seed)),
            Balance::LeastRequest => Policy::LeastRequest(LeastRequest::new(eligible)),
            Balance::LeastConnections => Policy::LeastConnections,
            Balance::LeastBandwidth => Policy::LeastBandwidth(LeastBandwidth::new(eligible)),
            Balance::Fastest => Policy::Fastest(Fastest::new(eligible)),
            Balance::LeastLoaded => Policy::LeastLoaded(LeastLoaded::new(eligible)),
            Balance::PeakEwma => Policy::PeakEwma(PeakEwma::new(eligible)),
            Balance::Prequal => Policy::Prequal(Box::new(Prequal::new(eligible))),
            Balance::Random => Policy::Random(Random::new(eligible)),
            Balance::Maglev { size } => Policy::Maglev(Maglev::new(eligible, view, size)),
            Balance::BoundedHash { size, load_factor } => {
                Policy::BoundedHash(BoundedHash::new(eligible, view, size, load_factor))
            }
            Balance::Source { mask4, mask6 } => {
                Policy::Source(Source::new(eligible, view, mask4, mask6))
            }
        }
    }
}

/// What is looked up in a table.
#[inline]
fn key(ask: &Ask) -> u64 {
    ask.key.unwrap_or_else(|| hash::client(ask.client))
}
