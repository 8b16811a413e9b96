//! Load balancing: choosing a server. One policy per file, one interface for all.
//!
//! A `ServerPicker` belongs to one worker and one pool. `refresh` gives it each new snapshot; state that outlives a
//! snapshot stays, such as the position of round-robin. `pick` reads only what changes between snapshots: the shared
//! counters, times and loads. It counts nothing, reads no clock and does not allocate.

mod alias_table;
mod backup_choice;
mod bounded_hash;
pub mod eligible_servers;
mod fastest_server;
mod least_bandwidth;
mod least_connections;
mod least_loaded;
mod least_request;
pub mod maglev;
mod peak_ewma;
mod prequal;
mod request;
mod rng;
mod round_robin;
mod source_hash;
mod two_choices;
mod weighted_random;

pub use backup_choice::has_backup;
pub use request::{PickRequest, PickResult};
pub use rng::Rng;

use crate::config::BalancePolicy;
use crate::hash;
use crate::snapshot::PoolView;

use bounded_hash::BoundedHash;
use eligible_servers::EligibleServers;
use fastest_server::FastestServer;
use least_bandwidth::LeastBandwidth;
use least_loaded::LeastLoaded;
use least_request::LeastRequest;
use maglev::Maglev;
use peak_ewma::PeakEwma;
use prequal::Prequal;
use round_robin::RoundRobin;
use source_hash::SourceHash;
use weighted_random::WeightedRandom;

/// Servers that may get new work now, by index into the pool's servers, each with its weight: for planes that choose by
/// their own table.
pub fn eligible_servers(view: &PoolView) -> Vec<(usize, u16)> {
    EligibleServers::from_view(view).servers.iter().map(|slot| (slot.index, slot.weight)).collect()
}

/// The load balancing policy of one pool, with the state of one worker.
#[derive(Clone, Debug)]
pub struct ServerPicker {
    seed: u64,
    balance: BalancePolicy,
    eligible: EligibleServers,
    policy: BalancingPolicy,
}

#[derive(Clone, Debug)]
enum BalancingPolicy {
    RoundRobin(RoundRobin),
    LeastRequest(LeastRequest),
    LeastConnections,
    LeastBandwidth(LeastBandwidth),
    Fastest(FastestServer),
    LeastLoaded(LeastLoaded),
    PeakEwma(PeakEwma),
    Prequal(Box<Prequal>),
    Random(WeightedRandom),
    Maglev(Maglev),
    BoundedHash(BoundedHash),
    Source(SourceHash),
}

impl ServerPicker {
    /// A picker for the pool as in `view`. Every worker passes another `seed`, which sets where round-robin starts.
    pub fn new(view: &PoolView, seed: u64) -> ServerPicker {
        let eligible = EligibleServers::from_view(view);
        let balance = view.config.balance;
        let policy = BalancingPolicy::new(balance, &eligible, view, seed);
        ServerPicker { seed, balance, eligible, policy }
    }

    /// Applies a new snapshot of the pool. Called for every new `PoolView` before the next `pick`; unchanged servers
    /// keep their position. Cheap if nothing changed that concerns load balancing.
    pub fn refresh(&mut self, view: &PoolView) {
        let eligible = EligibleServers::from_view(view);
        let balance = view.config.balance;
        let changed = eligible != self.eligible;
        match (&mut self.policy, balance) {
            (BalancingPolicy::RoundRobin(policy), BalancePolicy::RoundRobin) if changed => {
                policy.refresh(&eligible);
            }
            (BalancingPolicy::Maglev(policy), BalancePolicy::Maglev { size }) => {
                policy.refresh(&eligible, view, size);
            }
            (
                BalancingPolicy::BoundedHash(policy),
                BalancePolicy::BoundedHash { size, load_factor },
            ) => {
                policy.refresh(&eligible, view, size, load_factor);
            }
            (BalancingPolicy::Source(policy), BalancePolicy::Source { mask4, mask6 }) => {
                policy.refresh(&eligible, view, mask4, mask6);
            }
            _ if changed || balance != self.balance => {
                self.policy = BalancingPolicy::new(balance, &eligible, view, self.seed);
            }
            _ => {}
        }
        self.balance = balance;
        self.eligible = eligible;
    }

    /// Chooses a server. `view` is the one of the last `new` or `refresh`.
    #[inline]
    pub fn pick(&mut self, view: &PoolView, ask: &PickRequest, rng: &mut Rng) -> PickResult {
        let eligible = &self.eligible;
        if let Some(choice) = backup_choice::choose_backup(eligible, view, ask, rng) {
            return choice;
        }
        match &mut self.policy {
            BalancingPolicy::RoundRobin(policy) => policy.pick(eligible, view, ask),
            BalancingPolicy::LeastRequest(policy) => policy.pick(eligible, view, ask, rng),
            BalancingPolicy::LeastConnections => least_connections::pick(eligible, view, ask, rng),
            BalancingPolicy::LeastBandwidth(policy) => policy.pick(eligible, view, ask, rng),
            BalancingPolicy::Fastest(policy) => policy.pick(eligible, view, ask, rng),
            BalancingPolicy::LeastLoaded(policy) => policy.pick(eligible, view, ask, rng),
            BalancingPolicy::PeakEwma(policy) => policy.pick(eligible, view, ask, rng),
            BalancingPolicy::Prequal(policy) => policy.pick(eligible, view, ask, rng),
            BalancingPolicy::Random(policy) => policy.pick(eligible, view, ask, rng),
            BalancingPolicy::Maglev(policy) => policy.pick(eligible, view, ask, hash_key(ask)),
            BalancingPolicy::BoundedHash(policy) => policy.pick(eligible, view, ask, hash_key(ask)),
            BalancingPolicy::Source(policy) => policy.pick(eligible, view, ask),
        }
    }
}

impl BalancingPolicy {
    fn new(
        balance: BalancePolicy,
        eligible: &EligibleServers,
        view: &PoolView,
        seed: u64,
    ) -> BalancingPolicy {
        match balance {
            BalancePolicy::RoundRobin => {
                BalancingPolicy::RoundRobin(RoundRobin::new(eligible, seed))
            }
            BalancePolicy::LeastRequest => {
                BalancingPolicy::LeastRequest(LeastRequest::new(eligible))
            }
            BalancePolicy::LeastConnections => BalancingPolicy::LeastConnections,
            BalancePolicy::LeastBandwidth => {
                BalancingPolicy::LeastBandwidth(LeastBandwidth::new(eligible))
            }
            BalancePolicy::Fastest => BalancingPolicy::Fastest(FastestServer::new(eligible)),
            BalancePolicy::LeastLoaded => BalancingPolicy::LeastLoaded(LeastLoaded::new(eligible)),
            BalancePolicy::PeakEwma => BalancingPolicy::PeakEwma(PeakEwma::new(eligible)),
            BalancePolicy::Prequal => BalancingPolicy::Prequal(Box::new(Prequal::new(eligible))),
            BalancePolicy::Random => BalancingPolicy::Random(WeightedRandom::new(eligible)),
            BalancePolicy::Maglev { size } => {
                BalancingPolicy::Maglev(Maglev::new(eligible, view, size))
            }
            BalancePolicy::BoundedHash { size, load_factor } => {
                BalancingPolicy::BoundedHash(BoundedHash::new(eligible, view, size, load_factor))
            }
            BalancePolicy::Source { mask4, mask6 } => {
                BalancingPolicy::Source(SourceHash::new(eligible, view, mask4, mask6))
            }
        }
    }
}

/// The key for table lookups.
#[inline]
fn hash_key(ask: &PickRequest) -> u64 {
    ask.hash_key.unwrap_or_else(|| hash::hash_client(ask.client))
}
