//! A worker's own state of services, pools and servers: the snapshot, and what only this worker has (balancers, idle
//! connections, waiting tasks).
//!
//! `install` changes from one snapshot to the next and preserves the state of objects that remain.

mod affinity_index;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use model::affinity::cookie::AffinitySecrets;
use model::hedging::HedgeDelayEstimator;
use model::id::{PoolId, ServerId, ServiceId};
use model::load_balancing::ServerPicker;
use model::monotonic_time::MonotonicTime;
use model::snapshot::{
    OpaqueMaterial, PoolView, ServerState, ServerView, ServiceView, WorkerSnapshot,
};

use rustls::ClientConfig;

use crate::conn::http2::connection_pool::Http2ConnectionPool;
use crate::rt::NetDriver;
use crate::servers::idle_pool::IdleConnectionPool;
use crate::servers::wait_queue::WaitQueue;
pub use affinity_index::AffinityIndex;

/// A server's state in one worker.
pub struct LocalServer<N: NetDriver> {
    pub id: ServerId,
    /// The name of its pool.
    pub pool: String,
    /// The server's view in the snapshot.
    pub view: RefCell<ServerView>,
    pub idle_pool: RefCell<IdleConnectionPool<N>>,
    /// The server's HTTP/2 connections.
    pub http2_pool: Http2ConnectionPool<N>,
    /// The TLS configuration for the server, with the sessions that this worker has stored.
    pub tls: RefCell<Option<Arc<ClientConfig>>>,
    /// Whether this worker's last connect failed.
    pub failing: Cell<bool>,
    /// How often health checks have marked the server as down.
    pub falls: Cell<u32>,
    /// The server was removed from the configuration or takes no new work: its connections do not return to the idle
    /// pool.
    pub retired: Cell<bool>,
    /// The progress of the server's draining.
    draining: Cell<DrainProgress>,
}

/// A pool's state in one worker.
pub struct LocalPool<N: NetDriver> {
    /// The pool's view in the snapshot.
    pub view: RefCell<Arc<PoolView>>,
    /// Chooses a server of the pool.
    pub chooser: RefCell<ServerPicker>,
    /// The servers, in the order of the view.
    pub servers: RefCell<Vec<Rc<LocalServer<N>>>>,
    /// Tasks that wait for a server below its cap.
    pub queue: WaitQueue,
    /// Recent response latencies, if requests are hedged.
    pub recent_latencies: RefCell<Option<Box<HedgeDelayEstimator>>>,
    /// The next source address.
    pub next_source: Cell<usize>,
    /// The servers by affinity cookie value; built on first use.
    affinity_index: RefCell<Option<Rc<AffinityIndex>>>,
}

/// A service's state in one worker.
pub struct LocalService<N: NetDriver> {
    /// The service's view in the snapshot.
    pub view: RefCell<Arc<ServiceView>>,
    pub pool: RefCell<Rc<LocalPool<N>>>,
    /// The pools of the rules, in the order of the rule table.
    pub rule_pools: RefCell<Vec<Rc<LocalPool<N>>>>,
    /// The service was removed from the configuration: its connections end after their current exchanges.
    pub removed: Cell<bool>,
    /// When the remaining connections are reset.
    pub cut_at: Cell<MonotonicTime>,
}

/// Everything that one worker serves.
pub struct LocalState<N: NetDriver> {
    pub services: HashMap<ServiceId, Rc<LocalService<N>>>,
    pools: HashMap<PoolId, Rc<LocalPool<N>>>,
    /// The pools that objects of authentication name.
    pub auth_pools: HashMap<String, Rc<LocalPool<N>>>,
    seed: u64,
}

/// Changes of a new snapshot that tasks must handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstallChanges {
    /// A service was removed.
    pub service_removed: bool,
    /// A server was marked as down.
    pub server_fell: bool,
}

impl<N: NetDriver> LocalState<N> {
    /// An empty state. `seed` differs between workers, so that they choose different servers.
    pub fn new(seed: u64) -> Self {
        LocalState {
            services: HashMap::new(),
            pools: HashMap::new(),
            auth_pools: HashMap::new(),
            seed,
        }
    }

    /// Calls `care` for every server, to sweep idle connections.
    pub fn each_server(&self, mut care: impl FnMut(&PoolView, &Rc<LocalServer<N>>)) {
        for pool in self.pools.values() {
            let view = pool.view.borrow().clone();
            for server in pool.servers.borrow().iter() {
                care(&view, server);
            }
        }
    }

    /// Changes to this snapshot.
    pub fn install(&mut self, snapshot: &WorkerSnapshot, now: MonotonicTime) -> InstallChanges {
        let mut fell = false;
        for (id, view) in &snapshot.pools {
            match self.pools.get(id) {
                Some(pool) => fell |= pool.refresh(view, now),
                None => {
                    self.pools
                        .insert(*id, Rc::new(LocalPool::new(view, self.seed ^ u64::from(id.0))));
                }
            }
        }
        for (id, view) in &snapshot.services {
            let Some(pool) = self.pools.get(&view.pool).cloned() else { continue };
            let of_rules = view.rules.iter().flat_map(|ruling| &ruling.pools);
            // The snapshot contains every pool of the rules, so positions match those of the table.
            let of_rules = of_rules.filter_map(|id| self.pools.get(id).cloned()).collect();
            match self.services.get(id) {
                Some(service) => {
                    *service.view.borrow_mut() = view.clone();
                    *service.pool.borrow_mut() = pool;
                    *service.rule_pools.borrow_mut() = of_rules;
                }
                None => {
                    let service = LocalService {
                        view: RefCell::new(view.clone()),
                        pool: RefCell::new(pool),
                        rule_pools: RefCell::new(of_rules),
                        removed: Cell::new(false),
                        cut_at: Cell::new(MonotonicTime::NEVER),
                    };
                    self.services.insert(*id, Rc::new(service));
                }
            }
        }
        let of_auth = snapshot.auth_pools.iter();
        let of_auth =
            of_auth.filter_map(|(name, id)| Some((name.clone(), self.pools.get(id)?.clone())));
        self.auth_pools = of_auth.collect();
        let before = self.services.len();
        self.services.retain(|id, service| {
            let stays = snapshot.services.contains_key(id);
            if !stays {
                service.removed.set(true);
                service.cut_at.set(now + service.view.borrow().config.timeout.drain);
            }
            stays
        });
        self.pools.retain(|id, pool| {
            let stays = snapshot.pools.contains_key(id);
            if !stays {
                pool.servers.borrow().iter().for_each(|server| server.retire());
            }
            stays
        });
        InstallChanges { service_removed: self.services.len() < before, server_fell: fell }
    }
}

impl<N: NetDriver> LocalPool<N> {
    fn new(view: &Arc<PoolView>, seed: u64) -> Self {
        LocalPool {
            view: RefCell::new(view.clone()),
            chooser: RefCell::new(ServerPicker::new(view, seed)),
            servers: RefCell::new(
                view.servers.iter().map(|one| LocalServer::new(&view.config.name, one)).collect(),
            ),
            queue: WaitQueue::default(),
            recent_latencies: RefCell::default(),
            next_source: Cell::new(0),
            affinity_index: RefCell::default(),
        }
    }

    /// The servers by affinity cookie value. `share`: the name that services with shared affinity have in common.
    pub fn affinity_index(
        &self,
        share: Option<&str>,
        secrets: &Arc<AffinitySecrets>,
    ) -> Rc<AffinityIndex> {
        let mut names = self.affinity_index.borrow_mut();
        match &*names {
            Some(known) if known.is_built_for(share, secrets) => known.clone(),
            _ => {
                let made = Rc::new(AffinityIndex::new(&self.view.borrow(), share, secrets));
                *names = Some(made.clone());
                made
            }
        }
    }

    /// The name of a server of this pool.
    pub fn server_name(&self, id: ServerId) -> Option<String> {
        let view = self.view.borrow();
        view.servers.iter().find(|one| one.id == id).map(|one| one.config.name.clone())
    }

    /// The value that stands for one of the servers in an application's cookies.
    pub fn server_cookie_value(&self, id: ServerId) -> Option<String> {
        let view = self.view.borrow();
        let server = view.servers.iter().find(|one| one.id == id);
        server.map(|server| server.config.cookie_value().to_owned())
    }

    /// Whether a server may continue to serve a client with affinity to it. `drain`: how long a draining server may.
    pub fn may_keep_client(&self, id: ServerId, drain: Duration, now: MonotonicTime) -> bool {
        let servers = self.servers.borrow();
        let Some(server) = servers.iter().find(|server| server.id == id) else { return false };
        let view = server.view.borrow();
        let state = match view.state {
            ServerState::Up | ServerState::Unknown => true,
            ServerState::Drain if view.keeps_sticky_clients => true,
            ServerState::Drain => match server.draining.get() {
                DrainProgress::Since(since) => now < since + drain,
                DrainProgress::No | DrainProgress::Finished => false,
            },
            ServerState::Down | ServerState::Disabled => false,
        };
        state && view.address.is_some()
    }

    /// Installs a new view; returns whether a server was marked as down.
    fn refresh(&self, view: &Arc<PoolView>, now: MonotonicTime) -> bool {
        if Arc::ptr_eq(&self.view.borrow(), view) {
            return false;
        }
        let mut fell = false;
        let same_tls = is_same_material(&self.view.borrow().tls, &view.tls)
            && self.view.borrow().config.http2 == view.config.http2;
        let mut servers = self.servers.borrow_mut();
        let mut before: HashMap<ServerId, Rc<LocalServer<N>>> =
            servers.drain(..).map(|server| (server.id, server)).collect();
        for server in &view.servers {
            servers.push(match before.remove(&server.id) {
                Some(stays) => {
                    fell |= stays.refresh(server, now);
                    if !same_tls {
                        // Idle connections were verified with other TLS settings.
                        stays.clear();
                        *stays.tls.borrow_mut() = None;
                    }
                    stays
                }
                None => LocalServer::new(&view.config.name, server),
            });
        }
        before.values().for_each(|server| server.retire());
        self.chooser.borrow_mut().refresh(view);
        *self.view.borrow_mut() = view.clone();
        *self.affinity_index.borrow_mut() = None;
        fell
    }
}

fn is_same_material(a: &Option<OpaqueMaterial>, b: &Option<OpaqueMaterial>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => a.is_same(b),
        _ => false,
    }
}

/// The progress of a server's draining.
#[derive(Clone, Copy)]
enum DrainProgress {
    No,
    Since(MonotonicTime),
    /// The time limit of an operator's drain command for sticky clients is over.
    Finished,
}

impl<N: NetDriver> LocalServer<N> {
    fn new(pool: &str, view: &ServerView) -> Rc<Self> {
        Rc::new(LocalServer {
            id: view.id,
            pool: pool.to_owned(),
            view: RefCell::new(view.clone()),
            idle_pool: RefCell::default(),
            http2_pool: Http2ConnectionPool::default(),
            tls: RefCell::default(),
            failing: Cell::new(false),
            falls: Cell::new(0),
            retired: Cell::new(false),
            draining: Cell::new(match view.state {
                ServerState::Drain => DrainProgress::Since(MonotonicTime(0)),
                _ => DrainProgress::No,
            }),
        })
    }

    /// Installs a new view; returns whether the server was marked as down.
    fn refresh(&self, view: &ServerView, now: MonotonicTime) -> bool {
        let fell = view.state == ServerState::Down && self.view.borrow().state != view.state;
        self.falls.set(self.falls.get().wrapping_add(u32::from(fell)));
        let ordered = self.view.borrow().keeps_sticky_clients;
        self.draining.set(match (view.state, self.draining.get()) {
            // The time limit of an operator's command replaces the service's.
            (ServerState::Drain, _) if ordered && !view.keeps_sticky_clients => {
                DrainProgress::Finished
            }
            (ServerState::Drain, DrainProgress::No) => DrainProgress::Since(now),
            (ServerState::Drain, before) => before,
            _ => DrainProgress::No,
        });
        let takes_none =
            matches!(view.state, ServerState::Down | ServerState::Disabled | ServerState::Drain);
        let moved = self.view.replace(view.clone()).address != view.address;
        self.retired.set(takes_none);
        if takes_none || moved {
            self.clear();
        }
        fell
    }

    fn retire(&self) {
        self.retired.set(true);
        self.clear();
    }

    /// Closes everything that is stored for later requests.
    pub fn clear(&self) {
        self.idle_pool.borrow_mut().clear();
        self.http2_pool.retire();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rt::epoll::Epoll;
    use crate::simulation::fixture;

    const HOUR: Duration = Duration::from_secs(3_600);

    fn at(seconds: u64) -> MonotonicTime {
        MonotonicTime(0) + Duration::from_secs(seconds)
    }

    #[test]
    fn a_draining_server_keeps_clients_by_order_or_as_long_as_the_service_says() {
        let view = fixture::snapshot(&[([192, 0, 2, 1], 80).into()]).pools[&PoolId(0)].clone();
        let id = view.servers[0].id;
        let pool = LocalPool::<Epoll>::new(&view, 1);
        let becomes = |state, keeps, now| {
            let mut next = (*view).clone();
            next.servers[0].state = state;
            next.servers[0].keeps_sticky_clients = keeps;
            pool.refresh(&Arc::new(next), now);
        };
        assert!(pool.may_keep_client(id, Duration::ZERO, at(0)), "it is up");
        becomes(ServerState::Drain, false, at(100));
        assert!(!pool.may_keep_client(id, Duration::ZERO, at(100)));
        assert!(
            pool.may_keep_client(id, HOUR, at(3_699)) && !pool.may_keep_client(id, HOUR, at(3_700))
        );
        becomes(ServerState::Up, false, at(200));
        becomes(ServerState::Drain, true, at(200));
        assert!(pool.may_keep_client(id, Duration::ZERO, at(9_000)), "until the order ends");
        becomes(ServerState::Drain, false, at(300));
        assert!(
            !pool.may_keep_client(id, HOUR, at(300)),
            "the order's limit stands instead of the service's"
        );
        becomes(ServerState::Up, false, at(400));
        becomes(ServerState::Drain, false, at(500));
        assert!(pool.may_keep_client(id, HOUR, at(600)), "a new drain");
        becomes(ServerState::Down, true, at(700));
        assert!(!pool.may_keep_client(id, HOUR, at(700)));
    }
}
