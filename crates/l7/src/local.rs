//! A worker's own view of services, pools and servers: what the snapshot says, plus what only this worker has
//! (choosers, shelves, waiting tasks).
//!
//! `install` moves from one snapshot to the next and keeps everything of objects that stay. It chooses nothing and
//! connects nowhere.

mod names;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use model::affinity::cookie::Secrets;
use model::hedge::Recent;
use model::id::{PoolId, ServerId, ServiceId};
use model::moment::Moment;
use model::pick::Chooser;
use model::snapshot::{Material, PoolView, ServerState, ServerView, ServiceView, Snapshot};

use rustls::ClientConfig;

use crate::http2::mux::Mux;
use crate::queue::Queue;
use crate::rt::Net;
use crate::shelf::Shelf;
pub use names::Names;

/// A server, as one worker knows it.
pub struct LocalServer<N: Net> {
    /// Its id.
    pub id: ServerId,
    /// The name of its pool.
    pub pool: String,
    /// What the snapshot says of it.
    pub view: RefCell<ServerView>,
    /// Its idle connections.
    pub shelf: RefCell<Shelf<N>>,
    /// Its connections that carry many requests at once.
    pub mux: Mux,
    /// TLS towards it, with the sessions that this worker remembers.
    pub tls: RefCell<Option<Arc<ClientConfig>>>,
    /// The last connect from this worker failed.
    pub failing: Cell<bool>,
    /// How often it was judged to be down.
    pub falls: Cell<u32>,
    /// No longer in the configuration, or it may not take new work: its connections are not shelved again.
    pub retired: Cell<bool>,
    /// How far it is in finishing what it has.
    draining: Cell<Draining>,
}

/// A pool, as one worker knows it.
pub struct LocalPool<N: Net> {
    /// What the snapshot says of it.
    pub view: RefCell<Arc<PoolView>>,
    /// Chooses among its servers.
    pub chooser: RefCell<Chooser>,
    /// Its servers, in the order of the view.
    pub servers: RefCell<Vec<Rc<LocalServer<N>>>>,
    /// Tasks that wait for a server below its cap.
    pub queue: Queue,
    /// What its answers took lately, where a second server may be asked.
    pub recent: RefCell<Option<Box<Recent>>>,
    /// Which source address comes next.
    pub next_source: Cell<usize>,
    /// Its servers by what clients that are kept have of them; made when first asked for.
    names: RefCell<Option<Rc<Names>>>,
}

/// A service, as one worker knows it.
pub struct LocalService<N: Net> {
    /// What the snapshot says of it.
    pub view: RefCell<Arc<ServiceView>>,
    /// Its pool.
    pub pool: RefCell<Rc<LocalPool<N>>>,
    /// Pools that its rules mean, in the order of the rules' table.
    pub rule_pools: RefCell<Vec<Rc<LocalPool<N>>>>,
    /// No longer in the configuration: its connections end after what they are doing.
    pub gone: Cell<bool>,
    /// When what is left of it is cut.
    pub cut_at: Cell<Moment>,
}

/// Everything that one worker serves.
pub struct Local<N: Net> {
    /// Services by id.
    pub services: HashMap<ServiceId, Rc<LocalService<N>>>,
    pools: HashMap<PoolId, Rc<LocalPool<N>>>,
    seed: u64,
}

/// What a new snapshot brought that tasks must look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Installed {
    /// A service went away.
    pub service_gone: bool,
    /// A server was judged to be down.
    pub server_fell: bool,
}

impl<N: Net> Local<N> {
    /// Nothing yet; `seed` differs between workers so that their choosers do.
    pub fn new(seed: u64) -> Self {
        Local { services: HashMap::new(), pools: HashMap::new(), seed }
    }

    /// Every server, for the care of shelves.
    pub fn each_server(&self, mut care: impl FnMut(&PoolView, &Rc<LocalServer<N>>)) {
        for pool in self.pools.values() {
            let view = pool.view.borrow().clone();
            for server in pool.servers.borrow().iter() {
                care(&view, server);
            }
        }
    }

    /// Moves to this snapshot.
    pub fn install(&mut self, snapshot: &Snapshot, now: Moment) -> Installed {
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
            // Every pool of the snapshot is here, so that positions are those of the table.
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
                        gone: Cell::new(false),
                        cut_at: Cell::new(Moment::NEVER),
                    };
                    self.services.insert(*id, Rc::new(service));
                }
            }
        }
        let before = self.services.len();
        self.services.retain(|id, service| {
            let stays = snapshot.services.contains_key(id);
            if !stays {
                service.gone.set(true);
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
        Installed { service_gone: self.services.len() < before, server_fell: fell }
    }
}

impl<N: Net> LocalPool<N> {
    fn new(view: &Arc<PoolView>, seed: u64) -> Self {
        LocalPool {
            view: RefCell::new(view.clone()),
            chooser: RefCell::new(Chooser::new(view, seed)),
            servers: RefCell::new(
                view.servers.iter().map(|one| LocalServer::new(&view.config.name, one)).collect(),
            ),
            queue: Queue::default(),
            recent: RefCell::default(),
            next_source: Cell::new(0),
            names: RefCell::default(),
        }
    }

    /// Its servers by what clients have of them; `share`: the word of services that share it.
    pub fn names(&self, share: Option<&str>, secrets: &Arc<Secrets>) -> Rc<Names> {
        let mut names = self.names.borrow_mut();
        match &*names {
            Some(known) if known.are_by(share, secrets) => known.clone(),
            _ => {
                let made = Rc::new(Names::of(&self.view.borrow(), share, secrets));
                *names = Some(made.clone());
                made
            }
        }
    }

    /// The name of one of its servers.
    pub fn name_of(&self, id: ServerId) -> Option<String> {
        let view = self.view.borrow();
        view.servers.iter().find(|one| one.id == id).map(|one| one.config.name.clone())
    }

    /// Whether a server may go on with a client that it has; `drain`: so long while it finishes what it has.
    pub fn keeps(&self, id: ServerId, drain: Duration, now: Moment) -> bool {
        let servers = self.servers.borrow();
        let Some(server) = servers.iter().find(|server| server.id == id) else { return false };
        let view = server.view.borrow();
        let state = match view.state {
            ServerState::Up | ServerState::Unknown => true,
            ServerState::Drain if view.keeps => true,
            ServerState::Drain => match server.draining.get() {
                Draining::Since(since) => now < since + drain,
                Draining::No | Draining::Over => false,
            },
            ServerState::Down | ServerState::Disabled => false,
        };
        state && view.address.is_some()
    }

    /// Takes a new picture; says whether one of its servers was judged to be down.
    fn refresh(&self, view: &Arc<PoolView>, now: Moment) -> bool {
        if Arc::ptr_eq(&self.view.borrow(), view) {
            return false;
        }
        let mut fell = false;
        let same_tls = same(&self.view.borrow().tls, &view.tls)
            && self.view.borrow().config.http2 == view.config.http2;
        let mut servers = self.servers.borrow_mut();
        let mut before: HashMap<ServerId, Rc<LocalServer<N>>> =
            servers.drain(..).map(|server| (server.id, server)).collect();
        for server in &view.servers {
            servers.push(match before.remove(&server.id) {
                Some(stays) => {
                    fell |= stays.refresh(server, now);
                    if !same_tls {
                        // What is kept was verified by other words.
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
        *self.names.borrow_mut() = None;
        fell
    }
}

fn same(a: &Option<Material>, b: &Option<Material>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => a.is(b),
        _ => false,
    }
}

/// How far a server is in finishing what it has.
#[derive(Clone, Copy)]
enum Draining {
    No,
    Since(Moment),
    /// The time that an order gave its clients is over.
    Over,
}

impl<N: Net> LocalServer<N> {
    fn new(pool: &str, view: &ServerView) -> Rc<Self> {
        Rc::new(LocalServer {
            id: view.id,
            pool: pool.to_owned(),
            view: RefCell::new(view.clone()),
            shelf: RefCell::default(),
            mux: Mux::default(),
            tls: RefCell::default(),
            failing: Cell::new(false),
            falls: Cell::new(0),
            retired: Cell::new(false),
            draining: Cell::new(match view.state {
                ServerState::Drain => Draining::Since(Moment(0)),
                _ => Draining::No,
            }),
        })
    }

    /// Takes a new picture; says whether it was judged to be down.
    fn refresh(&self, view: &ServerView, now: Moment) -> bool {
        let fell = view.state == ServerState::Down && self.view.borrow().state != view.state;
        self.falls.set(self.falls.get().wrapping_add(u32::from(fell)));
        let ordered = self.view.borrow().keeps;
        self.draining.set(match (view.state, self.draining.get()) {
            // A limit that was set stands instead of the service's own.
            (ServerState::Drain, _) if ordered && !view.keeps => Draining::Over,
            (ServerState::Drain, Draining::No) => Draining::Since(now),
            (ServerState::Drain, before) => before,
            _ => Draining::No,
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

    /// Nothing is kept for later requests.
    pub fn clear(&self) {
        self.shelf.borrow_mut().clear();
        self.mux.retire();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::rt::epoll::Epoll;

    const HOUR: Duration = Duration::from_secs(3_600);

    fn at(seconds: u64) -> Moment {
        Moment(0) + Duration::from_secs(seconds)
    }

    #[test]
    fn a_draining_server_keeps_clients_by_order_or_as_long_as_the_service_says() {
        let view = fixture::snapshot(&[([192, 0, 2, 1], 80).into()]).pools[&PoolId(0)].clone();
        let id = view.servers[0].id;
        let pool = LocalPool::<Epoll>::new(&view, 1);
        let becomes = |state, keeps, now| {
            let mut next = (*view).clone();
            (next.servers[0].state, next.servers[0].keeps) = (state, keeps);
            pool.refresh(&Arc::new(next), now);
        };
        assert!(pool.keeps(id, Duration::ZERO, at(0)), "it is up");
        becomes(ServerState::Drain, false, at(100));
        assert!(!pool.keeps(id, Duration::ZERO, at(100)));
        assert!(pool.keeps(id, HOUR, at(3_699)) && !pool.keeps(id, HOUR, at(3_700)));
        becomes(ServerState::Up, false, at(200));
        becomes(ServerState::Drain, true, at(200));
        assert!(pool.keeps(id, Duration::ZERO, at(9_000)), "until the order ends");
        becomes(ServerState::Drain, false, at(300));
        assert!(
            !pool.keeps(id, HOUR, at(300)),
            "the order's limit stands instead of the service's"
        );
        becomes(ServerState::Up, false, at(400));
        becomes(ServerState::Drain, false, at(500));
        assert!(pool.keeps(id, HOUR, at(600)), "a new drain");
        becomes(ServerState::Down, true, at(700));
        assert!(!pool.keeps(id, HOUR, at(700)));
    }
}
