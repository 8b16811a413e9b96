//! Pools of a service as the maps have them: eligible servers, their order, and the family of clients. Pure.
//!
//! `nat` preserves the family of a packet. So a pool with servers of both families becomes two: IPv6 clients choose
//! from the second.

use std::collections::BTreeSet;

use model::config::{BalancePolicy, ForwardingMode, HashKey};
use model::load_balancing;
use model::load_balancing::maglev::{self, MaglevMember};
use model::snapshot::{PoolView, ServerView};

use super::encoding::{sticky_scope, ticks};
use super::schedule::{LeveledMember, SOURCE_TABLE, WeightedMember, level_turns, smooth_turns};
use super::source::PlanSource;
use crate::abi;
use crate::layout::{CapacityError, MapLayout, PoolKey};

/// Added to the position of a pool for the one of IPv6 clients.
const SECOND: u32 = 1 << 31;

/// The servers of a pool in the maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PoolFamily {
    Both,
    V4,
    V6,
}

/// A server that new connections may choose.
#[derive(Clone, Copy, Debug)]
struct EligibleMember {
    /// The server's position in its pool.
    position: usize,
    weight: u16,
}

/// A server that new connections may choose, with its index in the maps.
#[derive(Clone, Copy, Debug)]
struct PoolCandidate {
    /// The server's position in its pool.
    position: usize,
    index: u32,
    weight: u16,
}

/// The source of a pool in the maps.
struct PoolCandidates<'a> {
    view: &'a PoolView,
    indexes: &'a [Option<u32>],
    eligible: Vec<EligibleMember>,
}

/// The value of a pool with its schedule.
#[derive(Clone, Debug)]
pub struct ScheduledPool {
    /// Its region is not allocated before the schedule is written.
    pub pool: abi::Pool,
    pub entries: Vec<u32>,
}

/// A pool of the maps.
pub(super) struct PlannedPool {
    pub index: u32,
    pub scheduled: ScheduledPool,
    /// Servers by index, where the schedule follows their connections.
    pub members: Option<Vec<WeightedMember>>,
}

/// A pool of a service, by the service and the pool's position, or both where the families choose apart.
pub(super) fn plan_pools(
    service: u32,
    ordinal: u32,
    source: &PlanSource<'_>,
    view: &PoolView,
    indexes: &[Option<u32>],
    layout: &mut MapLayout,
) -> Result<Vec<PlannedPool>, CapacityError> {
    let scope = sticky_scope(&source.view.config.name, ordinal);
    let mut all: Vec<PlannedPool> = Vec::new();
    for (family, position) in
        pool_families(source, view).into_iter().zip([ordinal, ordinal | SECOND])
    {
        let at = layout.pools.allocate(&PoolKey { service, position })?;
        let choice =
            PoolCandidates { view, indexes, eligible: choose_servers(view, source, family) };
        let ScheduledPool { mut pool, entries } = pool_value(&choice, source);
        pool.sticky_scope = scope;
        let follows = view.config.balance == BalancePolicy::LeastConnections;
        let members = follows.then(|| choice.members());
        if let Some(first) = all.first_mut() {
            first.scheduled.pool.pool6 = at + 1;
        }
        all.push(PlannedPool { index: at, scheduled: ScheduledPool { pool, entries }, members });
    }
    Ok(all)
}

/// Positions of all servers that some client may choose.
pub(super) fn eligible_servers(view: &PoolView, source: &PlanSource<'_>) -> BTreeSet<usize> {
    let each = pool_families(source, view).into_iter();
    each.flat_map(|family| choose_servers(view, source, family)).map(|one| one.position).collect()
}

/// The families with separate pools: the listeners' families, if some server does not serve all of them.
fn pool_families(source: &PlanSource<'_>, view: &PoolView) -> Vec<PoolFamily> {
    let listens = |v4| source.packets.listen.iter().any(|span| span.address.is_ipv4() == v4);
    let both = |family| {
        view.servers.iter().enumerate().all(|(at, _)| serves_family(view, source, at, family))
    };
    if source.view.config.forward != ForwardingMode::Nat
        || both(PoolFamily::V4) && both(PoolFamily::V6)
    {
        return vec![PoolFamily::Both];
    }
    match (listens(true), listens(false)) {
        (true, true) => vec![PoolFamily::V4, PoolFamily::V6],
        (false, true) => vec![PoolFamily::V6],
        _ => vec![PoolFamily::V4],
    }
}

/// Whether a server serves packets of a family. A server on this host gets them unchanged.
fn serves_family(view: &PoolView, source: &PlanSource<'_>, at: usize, family: PoolFamily) -> bool {
    let Some(address) = view.servers.get(at).and_then(ServerView::socket_address) else {
        return true;
    };
    let own = || source.facts.local_addresses.contains(&address.ip());
    match family {
        PoolFamily::Both => true,
        PoolFamily::V4 => address.is_ipv4() || own(),
        PoolFamily::V6 => address.is_ipv6() || own(),
    }
}

/// Servers that may be chosen by a family's clients, with their weight: as if the pool had no others.
fn choose_servers(
    view: &PoolView,
    source: &PlanSource<'_>,
    family: PoolFamily,
) -> Vec<EligibleMember> {
    let member = |(position, weight)| EligibleMember { position, weight };
    if family == PoolFamily::Both {
        return load_balancing::eligible_servers(view).into_iter().map(member).collect();
    }
    let places: Vec<usize> =
        (0..view.servers.len()).filter(|at| serves_family(view, source, *at, family)).collect();
    let servers = places.iter().map(|at| view.servers[*at].clone()).collect();
    let among = PoolView { servers, ..view.clone() };
    let chosen = load_balancing::eligible_servers(&among);
    chosen.into_iter().map(|(at, weight)| member((places[at], weight))).collect()
}

impl PoolCandidates<'_> {
    fn iter(&self) -> impl Iterator<Item = PoolCandidate> {
        self.eligible.iter().filter_map(|EligibleMember { position, weight }| {
            let index = self.indexes.get(*position).copied().flatten()?;
            Some(PoolCandidate { position: *position, index, weight: *weight })
        })
    }

    /// Servers by index, with their weights.
    fn members(&self) -> Vec<WeightedMember> {
        let member =
            |one: PoolCandidate| WeightedMember { entry: one.index, weight: u32::from(one.weight) };
        self.iter().map(member).collect()
    }

    /// The Maglev table with this many entries, by servers' names.
    fn maglev_table(&self, size: u32) -> Vec<u32> {
        let name = |at: usize| self.view.servers[at].config.name.clone();
        let names: Vec<MaglevMember> = self
            .iter()
            .map(|one| MaglevMember { name: name(one.position), weight: one.weight })
            .collect();
        let targets: Vec<u32> = self.iter().map(|one| one.index).collect();
        let table = maglev::build_table(&names, size);
        table.into_iter().filter_map(|at| targets.get(at as usize).copied()).collect()
    }
}

/// The value of a pool and the entries of its schedule.
fn pool_value(choice: &PoolCandidates<'_>, source: &PlanSource<'_>) -> ScheduledPool {
    let mut pool = abi::Pool { mask4: 32, mask6: 128, ..abi::Pool::default() };
    if let Some(sticky) = source.packets.sticky {
        pool.sticky = ticks(sticky.time);
        pool.sticky_mask4 = sticky.mask4;
        pool.sticky_mask6 = sticky.mask6;
    }
    let entries = match choice.view.config.balance {
        BalancePolicy::Maglev { size } => {
            pool.choose = match choice.view.config.hash_on {
                HashKey::Symmetric => abi::Choose::Symmetric,
                HashKey::SourceMac => abi::Choose::LinkSource,
                _ => abi::Choose::Client,
            } as u32;
            choice.maglev_table(size)
        }
        BalancePolicy::Source { mask4, mask6 } => {
            pool.choose = abi::Choose::Client as u32;
            pool.mask4 = mask4;
            pool.mask6 = mask6;
            choice.maglev_table(SOURCE_TABLE)
        }
        BalancePolicy::LeastConnections => {
            let flows = |entry: u32| source.flows.get(&entry).copied().unwrap_or(0);
            let member = |WeightedMember { entry, weight }| LeveledMember {
                entry,
                weight,
                flows: flows(entry),
            };
            let all: Vec<LeveledMember> = choice.members().into_iter().map(member).collect();
            level_turns(&all, 0)
        }
        _ => smooth_turns(&choice.members()),
    };
    pool.length = u32::try_from(entries.len()).unwrap_or(u32::MAX);
    ScheduledPool { pool, entries }
}
