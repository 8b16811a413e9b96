//! The outlier detector: which servers are ejected for their responses, over all pools. Pure: snapshots, counters and
//! the time go in, ejections come out.
//!
//! Only pools that requests are proxied to are looked at.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use model::config::ForwardingMode;
use model::id::{PoolId, ServerId};
use model::monotonic_time::MonotonicTime;
use model::outlier_detection::{
    OutlierAction, OutlierCounts, OutlierDetector, OutlierEvaluation, OutlierObservation,
    ServerEligibility,
};
use model::snapshot::{PoolView, ServerState, ServerView};

use crate::state::{HealthState, ServerFacts, StateSnapshot};

/// The result of one check.
#[derive(Debug, Default)]
pub struct OutlierUpdate {
    pub orders: Vec<OutlierAction>,
    /// The newest arithmetic of every server that is looked at.
    pub sums: HashMap<ServerId, OutlierEvaluation>,
}

/// Every pool that ejects.
#[derive(Debug, Default)]
pub struct PoolOutlierDetectors {
    detectors: HashMap<PoolId, OutlierDetector>,
    servers: usize,
}

impl PoolOutlierDetectors {
    /// Looks at everything once.
    pub fn update(
        &mut self,
        snapshot: &StateSnapshot,
        now: MonotonicTime,
        mut draw: impl FnMut() -> u64,
    ) -> OutlierUpdate {
        let proxied = proxied_pools(snapshot);
        let pools = &snapshot.snapshot.pools;
        let wanted = |id: &PoolId, view: &PoolView| {
            view.config.eject.is_some() && view.servers.len() > 1 && proxied.contains(id)
        };
        self.detectors.retain(|id, _| pools.get(id).is_some_and(|view| wanted(id, view)));
        self.servers = 0;
        let mut ruled = OutlierUpdate::default();
        for (id, view) in pools {
            let Some(terms) = view.config.eject.as_ref().filter(|_| wanted(id, view)) else {
                readmit_orphans(snapshot, view, |_| false, &mut ruled.orders);
                continue;
            };
            self.servers += view.servers.len();
            let seen: Vec<OutlierObservation> = view
                .servers
                .iter()
                .filter_map(|server| self::sample_outcomes(snapshot, server))
                .collect();
            let court = self.detectors.entry(*id).or_default();
            ruled.orders.extend(court.evaluate_pool(terms, now, &seen, &mut draw));
            let out: HashSet<ServerId> = court.ejected_servers().collect();
            readmit_orphans(snapshot, view, |id| out.contains(&id), &mut ruled.orders);
            let sums = view.servers.iter().filter_map(|server| {
                court.evaluation(server.id).map(|sum| (server.id, sum.clone()))
            });
            ruled.sums.extend(sums);
        }
        ruled
    }

    pub fn has_ejected(&self) -> bool {
        self.detectors.values().any(|detector| detector.ejected_servers().next().is_some())
    }

    /// Servers that are looked at.
    pub fn servers(&self) -> usize {
        self.servers
    }
}

/// Pools of `http` services, and of their rules.
fn proxied_pools(snapshot: &StateSnapshot) -> HashSet<PoolId> {
    let services = snapshot.snapshot.services.values();
    let services = services.filter(|service| service.config.forward == ForwardingMode::Http);
    services
        .flat_map(|service| {
            let of_rules = service.rules.iter().flat_map(|ruling| ruling.pools.iter().copied());
            of_rules.chain([service.pool])
        })
        .collect()
}

/// Readmits servers that are ejected in the snapshot but unknown to this detector.
fn readmit_orphans(
    snapshot: &StateSnapshot,
    view: &PoolView,
    is_out: impl Fn(ServerId) -> bool,
    orders: &mut Vec<OutlierAction>,
) {
    let ordered: HashSet<ServerId> = orders
        .iter()
        .filter(|order| matches!(order, OutlierAction::Readmit { .. }))
        .map(OutlierAction::server)
        .collect();
    for server in &view.servers {
        let out = snapshot.servers.get(&server.id).is_some_and(|facts| facts.ejection.is_some());
        if out && !is_out(server.id) && !ordered.contains(&server.id) {
            orders.push(OutlierAction::Readmit {
                id: server.id,
                after: Duration::ZERO,
                needed: false,
            });
        }
    }
}

fn sample_outcomes(snapshot: &StateSnapshot, server: &ServerView) -> Option<OutlierObservation> {
    let facts = snapshot.servers.get(&server.id)?;
    let mut tally = OutlierCounts::default();
    for slot in &server.stats.slots {
        tally.successes += slot.counters.judged_good.get();
        tally.failures += slot.counters.judged_bad.get();
        tally.truncations += slot.counters.judged_cut.get();
    }
    let in_a_row = u64::from(server.stats.consecutive_failures.get());
    Some(OutlierObservation {
        id: server.id,
        eligibility: eligibility(facts, server),
        counts: tally,
        consecutive_failures: in_a_row,
    })
}

/// The state that a server would have if it were not ejected.
fn eligibility(facts: &ServerFacts, server: &ServerView) -> ServerEligibility {
    match facts.state {
        ServerState::Drain | ServerState::Disabled => ServerEligibility::Excluded,
        _ if server.config.weight.get() == 0 || facts.weight.get() == 0 => {
            ServerEligibility::Excluded
        }
        ServerState::Up | ServerState::Unknown => ServerEligibility::Available,
        ServerState::Down => {
            let alive = facts.health_status.health != HealthState::Down;
            let wants = facts.agent.as_ref().is_none_or(|wish| wish.state != ServerState::Down);
            let resolved = facts.resolved.endpoint().is_some();
            let may = facts.ejection.is_some() && alive && wants && resolved;
            if may { ServerEligibility::Available } else { ServerEligibility::Down }
        }
    }
}
