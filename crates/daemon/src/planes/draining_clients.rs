//! Clients that draining servers still have: one task that counts them in every plane, and reports quiesced servers
//! whose last client has left.
//!
//! It looks only while some server keeps clients.

pub mod counts;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use model::affinity::{self, AffinityCursor, AffinityTable};
use model::id::{PoolId, ServerId};
use model::monotonic_time::MonotonicTime;
use model::snapshot::{PoolView, ServerView, ServiceView};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::planes::packets::view::PacketPlaneView;
use crate::state::{ControlHandle, StateSnapshot};
use counts::{DrainingClients, RemainingClients};

/// Operators watch a drain in seconds; counting more often would only cost CPU time.
const LOOK: Duration = Duration::from_secs(1);
/// Counting clients in very large tables takes one part in this many of a core at most.
const CPU_SHARE: u32 = 20;
/// Slices of a table that are counted before others have their turn.
const SLICES: usize = 64;

/// Counts until the daemon stops. `clock`: the workers' clock, whose times the affinity tables store.
pub async fn run(
    control: ControlHandle,
    packets: watch::Receiver<Arc<PacketPlaneView>>,
    clock: impl Fn() -> MonotonicTime,
    counts: Arc<DrainingClients>,
) {
    let mut snapshots = control.watch();
    loop {
        let snapshot = snapshots.borrow_and_update().clone();
        let keeping = snapshot.servers.values().filter(|facts| facts.affinity_until.is_some());
        let keeping: BTreeSet<ServerId> = keeping.map(|facts| facts.id).collect();
        if keeping.is_empty() {
            counts.replace(HashMap::new());
            if snapshots.changed().await.is_err() {
                return;
            }
            continue;
        }
        let begun = Instant::now();
        let plane = Arc::clone(&packets.borrow());
        let mut asked = ClientCount::new(&snapshot, &keeping, &plane);
        let now = clock();
        while asked.step(now) {
            tokio::task::yield_now().await;
        }
        let left = asked.remaining;
        let quiesced = |id: &ServerId| {
            snapshot.servers.get(id).is_some_and(|facts| facts.overrides.quiesce.is_some())
        };
        let gone = left.iter().filter(|(id, left)| left.is_none() && quiesced(id));
        let gone: Vec<ServerId> = gone.map(|(id, _)| *id).collect();
        counts.replace(left);
        if !gone.is_empty() {
            control.report_clients_gone(gone).await;
        }
        let wait = LOOK.max(begun.elapsed().saturating_mul(CPU_SHARE));
        tokio::time::sleep(wait).await;
        if snapshots.has_changed().is_err() {
            return;
        }
    }
}

/// One count: the part that is available at once, and the tables that must still be read.
struct ClientCount {
    remaining: HashMap<ServerId, RemainingClients>,
    tables: Vec<TableCount>,
}

/// A draining server with the key by which a table knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct KeyedServer {
    /// The server's key in the affinity table, within its scope.
    key: u64,
    server: ServerId,
}

/// A table that is being counted: which of its servers are whose.
struct TableCount {
    table: Arc<AffinityTable>,
    place: AffinityCursor,
    servers: BTreeSet<KeyedServer>,
    clients: HashMap<u64, u64>,
}

impl ClientCount {
    fn new(
        snapshot: &StateSnapshot,
        keeping: &BTreeSet<ServerId>,
        plane: &PacketPlaneView,
    ) -> ClientCount {
        let mut asked = ClientCount { remaining: HashMap::new(), tables: Vec::new() };
        let pools: BTreeMap<PoolId, Vec<&ServerView>> = snapshot
            .snapshot
            .pools
            .values()
            .map(|pool| (pool.id, draining_servers(pool, keeping)))
            .filter(|(_, servers)| !servers.is_empty())
            .collect();
        for view in pools.values().flatten() {
            let flows = plane.loads.get(&view.id).map_or(0, |load| load.flows);
            let under_way = u64::from(view.stats.in_flight.get()) + u64::from(flows);
            asked.remaining.insert(
                view.id,
                RemainingClients { in_flight: under_way, ..RemainingClients::default() },
            );
        }
        // The plane's sum is over all services.
        let mut of_plane = BTreeSet::new();
        for service in snapshot.snapshot.services.values() {
            for pool in affinity_pools(service, snapshot) {
                for server in pools.get(&pool).into_iter().flatten() {
                    asked.add_server(service, pool, server);
                    let packets = service.config.packets.as_ref();
                    if packets.is_some_and(|packets| packets.sticky.is_some()) {
                        of_plane.insert(server.id);
                    }
                }
            }
        }
        for (id, left) in asked.remaining.iter_mut().filter(|(id, _)| of_plane.contains(id)) {
            match plane.loads.get(id).and_then(|load| load.sticky_clients) {
                Some(kept) => left.clients += u64::from(kept),
                None => left.uncounted = true,
            }
        }
        asked
    }

    fn add_server(&mut self, service: &ServiceView, pool: PoolId, server: &ServerView) {
        let Some(sticky) = &service.config.sticky else { return };
        let Some(table) = &service.affinity else {
            if let Some(left) = self.remaining.get_mut(&server.id) {
                left.uncounted = true;
            }
            return;
        };
        let scope = affinity::scope_key(sticky.share.as_deref(), service.id, pool);
        let held = affinity::scoped_server_key(affinity::server_key(&server.config.name), scope);
        let found = self.tables.iter().position(|one| Arc::ptr_eq(&one.table, table));
        let at = found.unwrap_or_else(|| {
            self.tables.push(TableCount {
                table: Arc::clone(table),
                place: AffinityCursor::default(),
                servers: BTreeSet::new(),
                clients: HashMap::new(),
            });
            self.tables.len() - 1
        });
        if let Some(counting) = self.tables.get_mut(at) {
            counting.servers.insert(KeyedServer { key: held, server: server.id });
            counting.clients.insert(held, 0);
        }
    }

    /// Counts some slices; false: that was all.
    fn step(&mut self, now: MonotonicTime) -> bool {
        let Some(counting) = self.tables.last_mut() else { return false };
        for _ in 0..SLICES {
            match counting.table.count_by_server(counting.place, now, &mut counting.clients) {
                Some(next) => counting.place = next,
                None => {
                    for KeyedServer { key, server } in &counting.servers {
                        let clients = counting.clients.get(key).copied().unwrap_or(0);
                        if let Some(left) = self.remaining.get_mut(server) {
                            left.clients += clients;
                        }
                    }
                    self.tables.pop();
                    return !self.tables.is_empty();
                }
            }
        }
        true
    }
}

fn draining_servers<'a>(pool: &'a PoolView, keeping: &BTreeSet<ServerId>) -> Vec<&'a ServerView> {
    pool.servers.iter().filter(|view| keeping.contains(&view.id)).collect()
}

/// The pools to which a service's clients may have affinity.
fn affinity_pools(service: &ServiceView, snapshot: &StateSnapshot) -> BTreeSet<PoolId> {
    let of_rules = service.rules.iter().flat_map(|ruling| ruling.pools.iter().copied());
    let packets = service.config.packets.iter().flat_map(|packets| &packets.rules);
    let named = |name: &str| {
        snapshot.snapshot.pools.values().find(|pool| pool.config.name == name).map(|pool| pool.id)
    };
    let of_packets = packets.filter_map(|rule| named(&rule.pool));
    of_rules.chain(of_packets).chain([service.pool]).collect()
}
