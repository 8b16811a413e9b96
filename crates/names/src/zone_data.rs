//! The answers of now: the plan with the current state of all candidates, encoded. Immutable; rebuilt for each health
//! verdict and each configuration.

use std::net::IpAddr;
use std::sync::Arc;

use model::config::{Config, NameFallback, NamePolicy, NameServerConfig};
use model::snapshot::WorkerSnapshot;

use super::address_set::AddressSet;
use super::candidate::{AnswerCandidate, PoolIndex, name_candidates};
use super::domain::DomainName;
use super::record;
use super::zone_plan::{NamePlan, ZonePlans};
use crate::rate_limit::AnswerRate;

#[derive(Debug)]
pub struct ZoneData {
    pub plan: Arc<ZonePlans>,
    /// The state of each name, in the plan's order.
    pub states: Vec<NameState>,
    /// The record for questions of type ANY.
    pub minimal: Vec<u8>,
    /// The largest answer over UDP in bytes.
    pub udp_size: u16,
    /// Answers of one class to one network, for this thread; `None`: no limit.
    pub rate: Option<AnswerRate>,
    /// Whether the client subnets of resolvers are used.
    pub client_subnet: bool,
    pub cookies: bool,
}

/// The state of a name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NameState {
    pub candidates: Vec<AnswerCandidate>,
    /// No candidate is up: the fallback is used.
    pub uses_fallback: bool,
    /// Addresses for clients without a region.
    pub default_region: AddressFamilies,
    /// Addresses for the clients of each region.
    pub regions: Vec<AddressFamilies>,
    /// SRV records, in the order of the answered candidates.
    pub srv: Vec<SrvTarget>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddressFamilies {
    pub v4: AddressSet,
    pub v6: AddressSet,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SrvTarget {
    pub data: Vec<u8>,
    pub candidate: usize,
    pub domain: DomainName,
}

impl ZoneData {
    /// Builds the data from this snapshot.
    pub fn new(plan: Arc<ZonePlans>, config: &Config, snapshot: &WorkerSnapshot) -> ZoneData {
        let pools = PoolIndex::from_snapshot(snapshot);
        let state =
            |name: &NamePlan| NameState::new(name, name_candidates(&name.config, config, &pools));
        let states = plan.names.iter().map(state).collect();
        let NameServerConfig { udp_size, client_subnet, cookies, .. } = config.name_server;
        let threads = u32::try_from(config.name_server.threads).unwrap_or(1).max(1);
        // A network's queries spread over the threads by their ports, so each thread gets a part of the rate.
        let rate = config
            .name_server
            .rate
            .map(|rate| AnswerRate { rate: rate.div_ceil(threads), slip: config.name_server.slip });
        let minimal = record::any_data().unwrap_or_default();
        ZoneData { plan, states, minimal, udp_size, rate, client_subnet, cookies }
    }
}

impl NameState {
    /// Builds a name's state from these candidates.
    pub fn new(name: &NamePlan, candidates: Vec<AnswerCandidate>) -> NameState {
        let up = |candidate: &AnswerCandidate| candidate.up && !candidate.addresses.is_empty();
        let mut chosen: Vec<usize> =
            (0..candidates.len()).filter(|at| candidates.get(*at).is_some_and(up)).collect();
        let fallen = chosen.is_empty();
        if fallen {
            match &name.config.fallback {
                NameFallback::All => chosen = (0..candidates.len()).collect(),
                NameFallback::None => {}
                NameFallback::LastResort(addresses) => {
                    let all = build_families(
                        [(usize::MAX, &fallback_candidate(addresses))].into_iter(),
                        name,
                        true,
                    );
                    return NameState {
                        candidates,
                        uses_fallback: fallen,
                        default_region: all,
                        ..NameState::default()
                    };
                }
            }
        }
        let of = |list: &[usize]| {
            let list = list.iter().filter_map(|at| Some((*at, candidates.get(*at)?)));
            build_families(list, name, fallen)
        };
        let all = of(&chosen);
        let nearest = name.config.policy == NamePolicy::Nearest;
        let regions = name.config.near.iter().filter(|_| nearest).map(|region| {
            let prefers =
                |at: &usize| candidates.get(*at).is_some_and(|it| region.prefer.contains(&it.name));
            let near: Vec<usize> = chosen.iter().copied().filter(prefers).collect();
            if near.is_empty() { all.clone() } else { of(&near) }
        });
        let regions = regions.collect();
        let srv = srv_targets(name, &candidates, &chosen);
        NameState { uses_fallback: fallen, default_region: all, regions, srv, candidates }
    }

    pub fn up_candidates(&self) -> usize {
        self.candidates.iter().filter(|it| it.up && !it.addresses.is_empty()).count()
    }
}

impl AddressFamilies {
    #[inline]
    pub fn family(&self, v6: bool) -> &AddressSet {
        if v6 { &self.v6 } else { &self.v4 }
    }
}

fn build_families<'c>(
    chosen: impl Iterator<Item = (usize, &'c AnswerCandidate)> + Clone,
    name: &NamePlan,
    even: bool,
) -> AddressFamilies {
    AddressFamilies {
        v4: AddressSet::new(chosen.clone(), false, name.ttl, even),
        v6: AddressSet::new(chosen, true, name.ttl, even),
    }
}

/// The fallback addresses as one more candidate.
fn fallback_candidate(addresses: &[IpAddr]) -> AnswerCandidate {
    AnswerCandidate {
        name: "last-resort".to_owned(),
        addresses: addresses.to_vec(),
        port: 0,
        weight: 1,
        up: false,
        reason: "none is up".to_owned(),
    }
}

/// SRV priorities follow the order of candidates for `failover`, and are equal otherwise.
fn srv_targets(
    name: &NamePlan,
    candidates: &[AnswerCandidate],
    chosen: &[usize],
) -> Vec<SrvTarget> {
    let ranked = name.config.policy == NamePolicy::Failover;
    let one = |(rank, who): (usize, &usize)| {
        let candidate = candidates.get(*who)?;
        let domain = name.targets.get(*who)?.clone()?;
        let priority = if ranked { u16::try_from(rank).unwrap_or(u16::MAX) } else { 0 };
        let data = record::srv_data(priority, candidate.weight, candidate.port, &domain);
        Some(SrvTarget { data, candidate: *who, domain })
    };
    chosen.iter().enumerate().filter_map(one).collect()
}
