//! Measured failures by kind: which servers and which clients met them.

use std::collections::BTreeMap;

use super::client_prefix::ClientPrefix;
use super::exchange_measurement::ExchangeMeasurement;
use crate::exchange_failure::ExchangeFailure;

/// Failures of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct FailedExchangeGroup {
    pub failure: ExchangeFailure,
    /// How many there were: exact where all were measured.
    pub exchanges: f64,
    /// By server, the most first; `None`: no server was chosen.
    pub servers: Vec<FailureShare<Option<u32>>>,
    /// By network of clients, the most first.
    pub networks: Vec<FailureShare<ClientPrefix>>,
    /// End of the first and the last of the measured ones, nanoseconds on the workers' clock.
    pub first_at: u64,
    pub last_at: u64,
    /// The id of the last one.
    pub last_id: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct FailureShare<K> {
    pub key: K,
    pub exchanges: f64,
}

#[derive(Default)]
struct GroupSums {
    servers: BTreeMap<Option<u32>, f64>,
    networks: BTreeMap<ClientPrefix, f64>,
    exchanges: f64,
    first_at: Option<u64>,
    last_at: u64,
    last_id: u64,
}

/// Groups failures among sampled exchanges, each with the number that it represents; the most frequent first.
pub fn group_failures(sampled: &[(&ExchangeMeasurement, f64)]) -> Vec<FailedExchangeGroup> {
    let mut sums: BTreeMap<ExchangeFailure, GroupSums> = BTreeMap::new();
    for (facts, weight) in sampled {
        let Some(failure) = facts.failure() else { continue };
        let sum = sums.entry(failure).or_default();
        sum.exchanges += weight;
        *sum.servers.entry(facts.server).or_default() += weight;
        *sum.networks.entry(ClientPrefix::from_client(facts.client)).or_default() += weight;
        sum.first_at = Some(sum.first_at.unwrap_or(facts.ended_at).min(facts.ended_at));
        if facts.ended_at >= sum.last_at {
            (sum.last_at, sum.last_id) = (facts.ended_at, facts.id);
        }
    }
    let groups = sums.into_iter().map(|(failure, sum)| FailedExchangeGroup {
        failure,
        exchanges: sum.exchanges,
        servers: sorted(sum.servers),
        networks: sorted(sum.networks),
        first_at: sum.first_at.unwrap_or(0),
        last_at: sum.last_at,
        last_id: sum.last_id,
    });
    let mut groups: Vec<FailedExchangeGroup> = groups.collect();
    groups.sort_by(|a, b| b.exchanges.total_cmp(&a.exchanges));
    groups
}

fn sorted<K>(sums: BTreeMap<K, f64>) -> Vec<FailureShare<K>> {
    let each = sums.into_iter().map(|(key, exchanges)| FailureShare { key, exchanges });
    let mut shares: Vec<FailureShare<K>> = each.collect();
    shares.sort_by(|a, b| b.exchanges.total_cmp(&a.exchanges));
    shares
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;
    use crate::cause::Cause;

    #[test]
    fn failures_are_grouped_by_kind_server_and_client() {
        let one = |at: u64, cause: Option<Cause>, server| {
            let mut facts = ExchangeMeasurement::from_total(IpAddr::from([192, 0, 2, 1]), 1);
            (facts.ended_at, facts.id, facts.server) = (at, at, server);
            facts.cause = cause.map(|cause| cause as u8);
            facts
        };
        let all = [
            one(5, Some(Cause::ServerRefused), Some(1)),
            one(9, Some(Cause::ServerRefused), Some(2)),
            one(7, Some(Cause::ServerRefused), Some(2)),
            one(8, Some(Cause::NoServer), None),
            one(6, None, Some(1)),
        ];
        let weighed: Vec<_> = all.iter().map(|facts| (facts, 2.0)).collect();
        let groups = group_failures(&weighed);
        assert_eq!(groups.len(), 2);
        let refused = &groups[0];
        assert_eq!((refused.exchanges, refused.first_at, refused.last_at), (6.0, 5, 9));
        assert_eq!((refused.last_id, refused.networks.len()), (9, 1));
        let servers: Vec<_> = refused.servers.iter().map(|one| (one.key, one.exchanges)).collect();
        assert_eq!(servers, [(Some(2), 4.0), (Some(1), 2.0)]);
    }
}
