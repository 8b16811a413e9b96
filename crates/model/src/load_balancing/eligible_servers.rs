//! The servers that may be chosen at all: the same for every policy and for both planes.
//!
//! Once per snapshot, servers are selected by state, weight and address. First the servers that are up, by rank: the
//! lowest priority, within it those of the balancer's own locality, then the next rank while too little capacity is up.
//! If none is up, servers without evidence (`unknown`), by rank too; then servers of last resort; then the pool's
//! all-down policy. Never draining or disabled servers.
//!
//! At each pick, servers tried before and servers at their connection cap are skipped. The policies order and weigh the
//! rest.

use std::collections::BTreeMap;

use crate::config::{AllDownPolicy, Priority};
use crate::id::ServerId;
use crate::snapshot::{PoolView, ServerState, ServerView};

use super::request::{PickRequest, PickResult};

/// A server that may be chosen. Policies refer to it by its position among the eligible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EligibleServer {
    pub index: usize,
    pub id: ServerId,
    /// The effective weight, never 0.
    pub weight: u16,
    /// The cap of concurrent connections; `None`: no cap.
    cap: Option<u32>,
}

/// The servers of a snapshot that may get work, in the order of the view.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EligibleServers {
    /// In the order of the view.
    pub servers: Vec<EligibleServer>,
    pub tier: EligibleTier,
}

/// Which servers of a pool are eligible, and why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EligibleTier {
    #[default]
    Empty,
    /// Servers that are up, to this priority.
    Up(Priority),
    /// No server is up: servers without evidence, to this priority.
    Unknown(Priority),
    /// No other server may get work: servers of last resort.
    LastResort,
    /// No server may get work: every enabled server, because of `all-down = "spread"`.
    AllDown,
}

/// Priority, then whether the server is in another locality.
pub(super) type FailoverLevel = (Priority, bool);

impl EligibleServers {
    /// Selects the servers of a snapshot of the pool that may get work.
    pub fn from_view(view: &PoolView) -> EligibleServers {
        for state in [ServerState::Up, ServerState::Unknown] {
            if let Some((priority, slots)) = servers_by_level(view, state) {
                let turn = if state == ServerState::Up {
                    EligibleTier::Up(priority)
                } else {
                    EligibleTier::Unknown(priority)
                };
                return EligibleServers { servers: slots, tier: turn };
            }
        }
        let reserve = |server: &ServerView| {
            server.config.priority == Priority::LAST_RESORT
                && matches!(server.state, ServerState::Up | ServerState::Unknown)
        };
        let slots = matching_servers(view, reserve);
        if !slots.is_empty() {
            return EligibleServers { servers: slots, tier: EligibleTier::LastResort };
        }
        if view.config.all_down == AllDownPolicy::Spread {
            let slots = self::matching_servers(view, |server| server.state == ServerState::Down);
            if !slots.is_empty() {
                return EligibleServers { servers: slots, tier: EligibleTier::AllDown };
            }
        }
        EligibleServers::default()
    }

    /// Whether the server at this position may take this exchange now.
    #[inline]
    pub fn may_take(&self, view: &PoolView, ask: &PickRequest, at: usize) -> bool {
        let Some(slot) = self.servers.get(at) else { return false };
        !ask.tried.contains(&slot.id) && below_cap(view, slot)
    }

    /// The result that selects the server at this position.
    #[inline]
    pub fn choice(&self, at: usize) -> PickResult {
        self.servers.get(at).map_or(PickResult::None, |slot| PickResult::Server(slot.index))
    }

    /// The first server from position `from` on that may get this exchange. It is the fallback of every policy, and
    /// distinguishes a full pool from an empty one.
    ///
    /// A server that was tried is chosen only if every eligible one was tried. A server at its connection limit is
    /// worth waiting for, but one that just failed is not.
    pub fn first_available(&self, view: &PoolView, ask: &PickRequest, from: usize) -> PickResult {
        let count = self.servers.len();
        if count == 0 {
            return PickResult::None;
        }
        let mut retry = None;
        let mut full = false;
        for step in 0..count {
            let at = (from % count + step) % count;
            let slot = &self.servers[at];
            let tried = ask.tried.contains(&slot.id);
            match (tried, below_cap(view, slot)) {
                (false, true) => return self.choice(at),
                (false, false) => full = true,
                (true, true) => retry = retry.or(Some(at)),
                (true, false) => {}
            }
        }
        match retry {
            Some(at) if !full => self.choice(at),
            _ => PickResult::AllAtCap,
        }
    }
}

/// Servers in a state, level by level until their capacity is enough; with the last priority that was needed.
fn servers_by_level(
    view: &PoolView,
    state: ServerState,
) -> Option<(Priority, Vec<EligibleServer>)> {
    // The effective weight may come from the weight controller: capacity is the configured weight.
    let capacity = |server: &ServerView| u64::from(server.config.weight.get()).max(1);
    let mut able: BTreeMap<FailoverLevel, u64> = BTreeMap::new();
    for server in view.servers.iter().filter(|server| server.state == state && takes_work(server)) {
        if server.config.priority != Priority::LAST_RESORT {
            *able.entry(failover_level(view, server)).or_default() += capacity(server);
        }
    }
    let first = view.servers.iter().map(|server| failover_level(view, server)).min()?;
    let whole: u64 = view
        .servers
        .iter()
        .filter(|server| failover_level(view, server) == first)
        .map(capacity)
        .sum();
    let percent = u64::from(view.config.spill_over.unwrap_or(0));
    let mut sum = 0;
    let mut last = None;
    for (level, capacity) in able {
        sum += capacity;
        last = Some(level);
        if sum * 100 >= whole * percent {
            break;
        }
    }
    let last = last?;
    let chosen =
        |server: &ServerView| server.state == state && failover_level(view, server) <= last;
    Some((last.0, matching_servers(view, chosen)))
}

pub(super) fn failover_level(view: &PoolView, server: &ServerView) -> FailoverLevel {
    let here = view.config.locality.as_ref();
    let elsewhere = match (&server.config.locality, here) {
        (Some(there), Some(here)) => there != here,
        _ => false,
    };
    (server.config.priority, elsewhere)
}

fn matching_servers(view: &PoolView, wanted: impl Fn(&ServerView) -> bool) -> Vec<EligibleServer> {
    let able = view.servers.iter().enumerate();
    let able = able.filter(|(_, server)| takes_work(server) && wanted(server));
    able.map(|(index, server)| EligibleServer {
        index,
        id: server.id,
        weight: server.weight.get(),
        cap: server.config.connections,
    })
    .collect()
}

pub(super) fn takes_work(server: &ServerView) -> bool {
    server.weight.get() > 0 && server.address.is_some()
}

/// An exchange in flight uses one connection. Idle pooled connections do not count: they can be reused or closed.
#[inline]
fn below_cap(view: &PoolView, slot: &EligibleServer) -> bool {
    let Some(cap) = slot.cap else { return true };
    view.servers.get(slot.index).is_some_and(|server| server.stats.in_flight.get() < cap)
}
