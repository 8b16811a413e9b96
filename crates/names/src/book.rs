//! What is answered now: the plan with the state of everything that a name stands for, encoded. Made anew for each
//! verdict and each configuration, and changed by nobody.

use std::net::IpAddr;
use std::sync::Arc;

use model::config::{Config, NameFallback, NamePolicy, NameServer};
use model::snapshot::Snapshot;

use super::candidate::{Candidate, Pools, candidates};
use super::domain::Domain;
use super::plan::{NamePlan, Plan};
use super::record;
use super::set::Set;

/// Everything that may be answered.
#[derive(Debug)]
pub struct Book {
    /// What there is.
    pub plan: Arc<Plan>,
    /// The state of each name of the plan, in its order.
    pub states: Vec<State>,
    /// The record that ANY gets.
    pub minimal: Vec<u8>,
    /// The largest answer over UDP, bytes.
    pub udp_size: u16,
    /// Answers of one kind a second to one network, of this thread; with how many above it are told.
    pub rate: Option<(u32, Option<u32>)>,
    /// Subnets of clients are believed.
    pub client_subnet: bool,
    /// Cookies are given.
    pub cookies: bool,
}

/// How a name stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// What it may be answered with.
    pub candidates: Vec<Candidate>,
    /// None is up: the fallback counts.
    pub fallen: bool,
    /// For clients of no region.
    pub all: Families,
    /// For clients of each region.
    pub regions: Vec<Families>,
    /// SRV, in the order of the candidates that are given.
    pub srv: Vec<Target>,
}

/// Addresses by family.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Families {
    /// IPv4.
    pub v4: Set,
    /// IPv6.
    pub v6: Set,
}

/// A target of SRV.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The record's data.
    pub data: Vec<u8>,
    /// Its candidate.
    pub who: usize,
    /// Its name.
    pub domain: Domain,
}

impl Book {
    /// As things stand in this snapshot.
    pub fn new(plan: Arc<Plan>, config: &Config, snapshot: &Snapshot) -> Book {
        let pools = Pools::of(snapshot);
        let state = |name: &NamePlan| State::new(name, candidates(&name.config, config, &pools));
        let states = plan.names.iter().map(state).collect();
        let NameServer { udp_size, client_subnet, cookies, .. } = config.name_server;
        let threads = u32::try_from(config.name_server.threads).unwrap_or(1).max(1);
        // A network's queries are spread over the threads by their ports.
        let rate =
            config.name_server.rate.map(|rate| (rate.div_ceil(threads), config.name_server.slip));
        let minimal = record::minimal().unwrap_or_default();
        Book { plan, states, minimal, udp_size, rate, client_subnet, cookies }
    }
}

impl State {
    /// A name with these candidates.
    pub fn new(name: &NamePlan, candidates: Vec<Candidate>) -> State {
        let up = |candidate: &Candidate| candidate.up && !candidate.addresses.is_empty();
        let mut chosen: Vec<usize> =
            (0..candidates.len()).filter(|at| candidates.get(*at).is_some_and(up)).collect();
        let fallen = chosen.is_empty();
        if fallen {
            match &name.config.fallback {
                NameFallback::All => chosen = (0..candidates.len()).collect(),
                NameFallback::None => {}
                NameFallback::LastResort(addresses) => {
                    let all = families([(usize::MAX, &last(addresses))].into_iter(), name, true);
                    return State { candidates, fallen, all, ..State::default() };
                }
            }
        }
        let of = |list: &[usize]| {
            let list = list.iter().filter_map(|at| Some((*at, candidates.get(*at)?)));
            families(list, name, fallen)
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
        let srv = targets(name, &candidates, &chosen);
        State { fallen, all, regions, srv, candidates }
    }

    /// How many candidates may be answered with.
    pub fn up(&self) -> usize {
        self.candidates.iter().filter(|it| it.up && !it.addresses.is_empty()).count()
    }
}

impl Families {
    /// One of the two.
    #[inline]
    pub fn of(&self, v6: bool) -> &Set {
        if v6 { &self.v6 } else { &self.v4 }
    }
}

fn families<'c>(
    chosen: impl Iterator<Item = (usize, &'c Candidate)> + Clone,
    name: &NamePlan,
    even: bool,
) -> Families {
    Families {
        v4: Set::new(chosen.clone(), false, name.ttl, even),
        v6: Set::new(chosen, true, name.ttl, even),
    }
}

/// The addresses of last resort as one more candidate.
fn last(addresses: &[IpAddr]) -> Candidate {
    Candidate {
        name: "last-resort".to_owned(),
        addresses: addresses.to_vec(),
        port: 0,
        weight: 1,
        up: false,
        why: "none is up".to_owned(),
    }
}

/// Priorities of SRV follow the order for `failover`, and are equal otherwise.
fn targets(name: &NamePlan, candidates: &[Candidate], chosen: &[usize]) -> Vec<Target> {
    let ranked = name.config.policy == NamePolicy::Failover;
    let one = |(rank, who): (usize, &usize)| {
        let candidate = candidates.get(*who)?;
        let domain = name.targets.get(*who)?.clone()?;
        let priority = if ranked { u16::try_from(rank).unwrap_or(u16::MAX) } else { 0 };
        let data = record::srv(priority, candidate.weight, candidate.port, &domain);
        Some(Target { data, who: *who, domain })
    };
    chosen.iter().enumerate().filter_map(one).collect()
}
