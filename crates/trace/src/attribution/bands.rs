//! Two views of the same time: where it was spent, and who owns it. Each view sums to the total.

use model::limit::{Limit, TimeOwner};

use super::transaction::{TracedTransaction, limit_owner};

/// Nanoseconds by place and by owner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeBands {
    /// While the request travelled, opening the connection included.
    pub request: i64,
    /// While the server worked.
    pub server: i64,
    /// While the answer travelled.
    pub response: i64,
    /// By owner: client, network, server, balancer.
    pub owners: [i64; 4],
    /// Of nobody, because packets are missing in the capture.
    pub unknown: i64,
}

impl TimeBands {
    pub fn from_transaction(transaction: &TracedTransaction) -> TimeBands {
        let mut bands = TimeBands::default();
        let half = transaction.latency_ns / 2;
        bands.request = transaction.setup_ns + transaction.request.ns + transaction.queue_ns + half;
        bands.server = transaction.server_ns + transaction.unknown_ns;
        bands.unknown = transaction.unknown_ns;
        bands.response = transaction.response.as_ref().map_or(0, |phase| phase.ns);
        bands.response += transaction.tail_ns + transaction.lost_ns + transaction.latency_ns - half;
        bands.add(TimeOwner::Network, transaction.setup_ns + transaction.latency_ns);
        let delays_ns = transaction.queue_ns + transaction.tail_ns + transaction.lost_ns;
        bands.add(TimeOwner::Network, delays_ns);
        bands.add(TimeOwner::Server, transaction.server_ns);
        for (sender, phase) in transaction.phases() {
            for cause in &phase.causes {
                if cause.limit == Limit::Unknown {
                    bands.unknown += cause.ns;
                } else {
                    bands.add(limit_owner(cause.limit, sender), cause.ns);
                }
            }
        }
        bands
    }

    /// Adds time of an owner.
    pub fn add(&mut self, owner: TimeOwner, ns: i64) {
        self.owners[owner as usize] += ns;
    }

    pub fn merge(&mut self, other: &TimeBands) {
        self.request += other.request;
        self.server += other.server;
        self.response += other.response;
        self.unknown += other.unknown;
        for (mine, theirs) in self.owners.iter_mut().zip(other.owners) {
            *mine += theirs;
        }
    }

    /// The total by place.
    pub fn by_place(&self) -> i64 {
        self.request + self.server + self.response
    }

    /// The total by owner.
    pub fn by_owner(&self) -> i64 {
        self.owners.iter().sum::<i64>() + self.unknown
    }
}
