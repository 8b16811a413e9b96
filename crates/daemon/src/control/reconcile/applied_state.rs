//! The applied state, and how the next one follows from it. Pure: a configuration and the time go in, a whole new state
//! comes out, in which every object that did not change is the same allocation as before.
//!
//! This module opens no socket and sends no notification: `listener_step` and `apply` do.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::SystemTime;

use model::affinity::cookie::AffinitySecrets;
use model::config::{Config, PoolConfig, ServerConfig, ServiceConfig, SocketOptions};
use model::id::{ListenerId, PoolId, ServerId, ServiceId};
use model::rules::edits::EditTable;
use model::snapshot::{
    AcmeProofs, OpaqueMaterial, PoolView, ServerView, ServiceView, WorkerSnapshot,
};
use model::stats::pool::PoolStats;
use model::stats::{ServerStats, ServiceStats};

use super::preserved;
use crate::state::saved_state::{self, SavedState};
use crate::state::server_state;
use crate::state::state_snapshot::{ServerFacts, WeightShareChange};

#[derive(Clone, Debug, Default)]
pub struct AppliedState {
    /// The configuration; none before the first.
    pub config: Option<Arc<Config>>,
    pub services: BTreeMap<String, Arc<ServiceView>>,
    pub pools: BTreeMap<String, Arc<PoolView>>,
    pub servers: HashMap<ServerId, ServerEntry>,
    /// Listeners by configured address.
    pub listeners: BTreeMap<SocketAddr, ListenerEntry>,
    /// Responses to ACME challenges.
    pub challenges: Option<Arc<AcmeProofs>>,
    /// Secrets that sign affinity cookies.
    pub cookie_secrets: Arc<AffinitySecrets>,
    /// The objects of authentication.
    pub auth: Option<OpaqueMaterial>,
    workers: usize,
    next: IdCounters,
    version: u64,
}

/// A server and its shared state.
#[derive(Clone, Debug)]
pub struct ServerEntry {
    pub facts: Arc<ServerFacts>,
    pub live: Arc<ServerStats>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenerEntry {
    pub id: ListenerId,
    pub service: ServiceId,
    pub service_name: String,
    /// How its sockets are set.
    pub options: SocketOptions,
    /// Whether UDP sockets for QUIC are open beside the TCP ones.
    pub quic: bool,
}

/// The result of a change of one server.
#[derive(Debug)]
pub struct ServerTransition {
    pub old: Arc<ServerFacts>,
    pub new: Arc<ServerFacts>,
    /// Servers of its pool that took work before.
    pub eligible_before: usize,
    /// Servers of its pool that take work now.
    pub eligible_after: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct IdCounters {
    service: u32,
    pool: u32,
    server: u32,
    listener: u32,
}

impl AppliedState {
    /// An empty state for `workers` worker threads.
    pub fn empty(workers: usize) -> AppliedState {
        AppliedState { workers, ..AppliedState::default() }
    }

    pub fn worker_count(&self) -> usize {
        self.workers
    }

    /// The state under `config`. `memory` is of the process before, for servers that are new to this one.
    pub fn with_config(
        &self,
        config: Config,
        memory: &SavedState,
        now: SystemTime,
    ) -> AppliedState {
        let config = match &self.config {
            Some(old) => config.reuse_unchanged(old),
            None => config,
        };
        let mut next = AppliedState {
            config: None,
            services: BTreeMap::new(),
            pools: BTreeMap::new(),
            servers: HashMap::new(),
            listeners: BTreeMap::new(),
            ..self.clone()
        };
        for (name, pool) in &config.pools {
            let view = next.pool(self.pools.get(name), self, pool, memory, now);
            next.pools.insert(name.clone(), view);
        }
        for (name, service) in &config.services {
            // `Config` is valid by construction: a service's pool exists.
            let Some(pool) = next.pools.get(&service.pool).map(|pool| pool.id) else { continue };
            let view = next.service(self, service, pool);
            for address in &service.listen {
                let listener = next.listener(self.listeners.get(address), &view);
                next.listeners.insert(*address, listener);
            }
            next.services.insert(name.clone(), view);
        }
        next.config = Some(Arc::new(config));
        next
    }

    /// Changes one server's facts; `None`: no such server, or nothing that shows. A pool that looks different then is
    /// another allocation than that of any copy made before, and the first change since such a copy alone costs it:
    /// thousands of verdicts between two copies take time by their number, not by its square.
    pub fn change_server(
        &mut self,
        id: ServerId,
        change: impl FnOnce(&ServerFacts) -> ServerFacts,
    ) -> Option<ServerTransition> {
        let entry = self.servers.get_mut(&id)?;
        let facts = change(&entry.facts);
        if facts == *entry.facts {
            return None;
        }
        let old = std::mem::replace(&mut entry.facts, Arc::new(facts));
        let new = Arc::clone(&entry.facts);
        let mut changed = ServerTransition { old, new, eligible_before: 0, eligible_after: 0 };
        let view = server_view(entry);
        let Some(pool) = self.pools.get_mut(&changed.new.pool_name) else { return Some(changed) };
        let takers = pool.servers.iter().filter(|server| server.takes_work()).count();
        changed.eligible_before = takers;
        changed.eligible_after = takers;
        let Some(at) = pool.servers.iter().position(|server| server.id == id) else {
            return Some(changed);
        };
        let before = pool.servers.get(at)?;
        changed.eligible_after =
            takers + usize::from(view.takes_work()) - usize::from(before.takes_work());
        if !same_view(before, &view)
            && let Some(place) = Arc::make_mut(pool).servers.get_mut(at)
        {
            *place = view;
        }
        Some(changed)
    }

    /// The state after the weight controller or slow start gave servers other shares; unknown servers are passed over.
    pub fn with_shares(&self, shares: &[WeightShareChange]) -> AppliedState {
        let mut next = self.clone();
        let mut pools = BTreeSet::new();
        for WeightShareChange { server, share } in shares {
            let Some(entry) = next.servers.get_mut(server) else { continue };
            entry.facts = Arc::new(ServerFacts { share: *share, ..(*entry.facts).clone() });
            pools.insert(entry.facts.pool_name.clone());
        }
        for name in pools {
            let Some(old) = self.pools.get(&name) else { continue };
            let views = old
                .servers
                .iter()
                .filter_map(|view| Some(server_view(next.servers.get(&view.id)?)));
            let view = pool_view(Some(old), old.id, self.workers, &old.config, views.collect());
            next.pools.insert(name, view);
        }
        next
    }

    /// Whether workers would see a difference between the two.
    pub fn is_same_for_workers(&self, other: &AppliedState) -> bool {
        let pools = self.pools.values().zip(other.pools.values());
        let services = self.services.values().zip(other.services.values());
        self.pools.len() == other.pools.len()
            && self.challenges == other.challenges
            && self.services.len() == other.services.len()
            && pools.into_iter().all(|(a, b)| Arc::ptr_eq(a, b))
            && services.into_iter().all(|(a, b)| Arc::ptr_eq(a, b))
            && Arc::ptr_eq(&self.cookie_secrets, &other.cookie_secrets)
            && self.auth == other.auth
    }

    /// Whether both have the same state of servers.
    pub fn has_same_facts(&self, other: &AppliedState) -> bool {
        let same = |(id, entry): (&ServerId, &ServerEntry)| {
            other
                .servers
                .get(id)
                .is_some_and(|other_entry| Arc::ptr_eq(&other_entry.facts, &entry.facts))
        };
        self.servers.len() == other.servers.len() && self.servers.iter().all(same)
    }

    /// A snapshot for workers, with a new version number.
    pub fn snapshot(&mut self, generation: u64) -> Arc<WorkerSnapshot> {
        self.version += 1;
        let services = self.services.values().map(|view| (view.id, Arc::clone(view))).collect();
        let pools = self.pools.values().map(|view| (view.id, Arc::clone(view))).collect();
        Arc::new(WorkerSnapshot {
            generation,
            version: self.version,
            services,
            pools,
            acme_proofs: self.challenges.clone(),
            cookie_secrets: Arc::clone(&self.cookie_secrets),
            auth: self.auth.clone(),
            auth_pools: self.auth_pools(),
        })
    }

    fn auth_pools(&self) -> BTreeMap<String, PoolId> {
        let objects = self.config.iter().flat_map(|config| config.auths.values());
        let pools = objects.filter_map(|object| self.pools.get_key_value(object.pool.as_ref()?));
        pools.map(|(name, view)| (name.clone(), view.id)).collect()
    }

    /// A new id for the listener at an address: its sockets are to be others.
    pub fn renew_listener(&mut self, address: &SocketAddr) {
        let id = self.listener_id();
        if let Some(listener) = self.listeners.get_mut(address) {
            listener.id = id;
        }
    }

    fn pool(
        &mut self,
        old: Option<&Arc<PoolView>>,
        before: &AppliedState,
        config: &Arc<PoolConfig>,
        memory: &SavedState,
        now: SystemTime,
    ) -> Arc<PoolView> {
        let id = old.map(|view| view.id).unwrap_or_else(|| {
            self.next.pool += 1;
            PoolId(self.next.pool)
        });
        let mut views = Vec::with_capacity(config.servers.len());
        for written in &config.servers {
            let known = old.and_then(|view| same_server(view, written));
            let known = known.and_then(|id| before.servers.get(&id));
            let entry = match known {
                Some(entry) => {
                    let facts = server_state::reconfigure(&entry.facts, config, written, now);
                    let same = facts == *entry.facts;
                    let facts = if same { Arc::clone(&entry.facts) } else { Arc::new(facts) };
                    ServerEntry { facts, live: Arc::clone(&entry.live) }
                }
                None => {
                    self.next.server += 1;
                    let server_id = ServerId(self.next.server);
                    let mut facts =
                        server_state::new_server_facts(server_id, id, config, written, now);
                    saved_state::restore_server(&mut facts, memory, now);
                    let live = Arc::new(ServerStats::new(self.workers));
                    ServerEntry { facts: Arc::new(facts), live }
                }
            };
            views.push(server_view(&entry));
            self.servers.insert(entry.facts.id, entry);
        }
        pool_view(old, id, self.workers, config, views)
    }

    fn service(
        &mut self,
        before: &AppliedState,
        config: &Arc<ServiceConfig>,
        pool: PoolId,
    ) -> Arc<ServiceView> {
        let old = before.services.get(&config.name);
        let affinity =
            preserved::preserve_affinity_table(config, &[&self.services, &before.services]);
        let users = preserved::preserve_slo_table(config, self.workers, old);
        let rules = preserved::preserve_rules(config, &self.pools, self.workers, old);
        if let Some(old) = old
            && old.config == *config
            && old.pool == pool
            && preserved::is_same_allocation(&old.rules, &rules)
            && preserved::is_same_allocation(&old.affinity, &affinity)
            && preserved::is_same_allocation(&old.slo, &users)
        {
            return Arc::clone(old);
        }
        let (id, tls, live) = match old {
            Some(old) => (old.id, old.tls.clone(), Arc::clone(&old.stats)),
            None => {
                self.next.service += 1;
                (ServiceId(self.next.service), None, Arc::new(ServiceStats::new(self.workers)))
            }
        };
        Arc::new(ServiceView {
            id,
            edits: EditTable::new(config).map(Arc::new),
            config: Arc::clone(config),
            pool,
            tls,
            error_pages: old.and_then(|old| old.error_pages.clone()),
            file_networks: old.and_then(|old| old.file_networks.clone()),
            stats: live,
            rules,
            affinity,
            slo: users,
        })
    }

    fn listener(&mut self, old: Option<&ListenerEntry>, service: &ServiceView) -> ListenerEntry {
        let id = match old {
            Some(old) if old.service == service.id => old.id,
            _ => self.listener_id(),
        };
        ListenerEntry {
            id,
            service: service.id,
            service_name: service.config.name.clone(),
            options: service.config.socket.clone(),
            quic: service.config.http3.offer,
        }
    }

    fn listener_id(&mut self) -> ListenerId {
        self.next.listener += 1;
        ListenerId(self.next.listener)
    }
}

/// The server of that pool that `written` is: same name, same address.
fn same_server(pool: &PoolView, written: &ServerConfig) -> Option<ServerId> {
    let same = |view: &&ServerView| {
        view.config.name == written.name && view.config.address == written.address
    };
    pool.servers.iter().find(same).map(|view| view.id)
}

fn server_view(entry: &ServerEntry) -> ServerView {
    ServerView {
        id: entry.facts.id,
        config: Arc::clone(&entry.facts.config),
        address: entry.facts.resolved.endpoint().cloned(),
        state: entry.facts.state,
        weight: entry.facts.active_weight(),
        keeps_sticky_clients: entry.facts.affinity_until.is_some(),
        stats: Arc::clone(&entry.live),
    }
}

/// Whether workers would see no difference.
fn same_view(a: &ServerView, b: &ServerView) -> bool {
    a.id == b.id
        && a.address == b.address
        && a.state == b.state
        && a.weight == b.weight
        && a.keeps_sticky_clients == b.keeps_sticky_clients
        && a.config == b.config
}

/// The old view if nothing in it has changed, so that unchanged pools stay shared.
fn pool_view(
    old: Option<&Arc<PoolView>>,
    id: PoolId,
    workers: usize,
    config: &Arc<PoolConfig>,
    servers: Vec<ServerView>,
) -> Arc<PoolView> {
    match old {
        Some(old)
            if old.config == *config
                && old.servers.len() == servers.len()
                && old.servers.iter().zip(&servers).all(|(a, b)| same_view(a, b)) =>
        {
            Arc::clone(old)
        }
        _ => {
            let config = Arc::clone(config);
            let tls = old.and_then(|old| old.tls.clone());
            let stats = old.map(|old| Arc::clone(&old.stats));
            let stats = stats.unwrap_or_else(|| Arc::new(PoolStats::new(workers)));
            Arc::new(PoolView { id, config, tls, stats, servers })
        }
    }
}
