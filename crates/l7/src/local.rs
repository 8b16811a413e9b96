//! A worker's own view of services, pools and servers: what the snapshot says, plus what only this worker has
//! (choosers, shelves, waiting tasks).
//!
//! `install` moves from one snapshot to the next and keeps everything of objects that stay. It chooses nothing and
//! connects nowhere.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use model::id::{PoolId, ServerId, ServiceId};
use model::moment::Moment;
use model::pick::Chooser;
use model::snapshot::{Material, PoolView, ServerState, ServerView, ServiceView, Snapshot};

use rustls::ClientConfig;

use crate::http2::mux::Mux;
use crate::queue::Queue;
use crate::rt::Net;
use crate::shelf::Shelf;

/// A server, as one worker knows it.
pub struct LocalServer<N: Net> {
    /// Its id.
    pub id: ServerId,
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
    /// No longer in the configuration, or it may not take new work: its connections are not shelved again.
    pub retired: Cell<bool>,
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
    /// Which source address comes next.
    pub next_source: Cell<usize>,
}

/// A service, as one worker knows it.
pub struct LocalService<N: Net> {
    /// What the snapshot says of it.
    pub view: RefCell<Arc<ServiceView>>,
    /// Its pool.
    pub pool: RefCell<Rc<LocalPool<N>>>,
    /// No longer in the configuration: its connections end after what they are doing.
    pub gone: Cell<bool>,
    /// When what is left of it is cut.
    pub cut_at: Cell<Moment>,
    /// Handshakes under way.
    pub handshaking: Cell<u32>,
}

/// Everything that one worker serves.
pub struct Local<N: Net> {
    /// Services by id.
    pub services: HashMap<ServiceId, Rc<LocalService<N>>>,
    pools: HashMap<PoolId, Rc<LocalPool<N>>>,
    seed: u64,
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

    /// Moves to this snapshot. Returns whether a service went away.
    pub fn install(&mut self, snapshot: &Snapshot, now: Moment) -> bool {
        for (id, view) in &snapshot.pools {
            match self.pools.get(id) {
                Some(pool) => pool.refresh(view),
                None => {
                    self.pools
                        .insert(*id, Rc::new(LocalPool::new(view, self.seed ^ u64::from(id.0))));
                }
            }
        }
        for (id, view) in &snapshot.services {
            let Some(pool) = self.pools.get(&view.pool).cloned() else { continue };
            match self.services.get(id) {
                Some(service) => {
                    *service.view.borrow_mut() = view.clone();
                    *service.pool.borrow_mut() = pool;
                }
                None => {
                    let service = LocalService {
                        view: RefCell::new(view.clone()),
                        pool: RefCell::new(pool),
                        gone: Cell::new(false),
                        cut_at: Cell::new(Moment::NEVER),
                        handshaking: Cell::new(0),
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
        self.services.len() < before
    }
}

impl<N: Net> LocalPool<N> {
    fn new(view: &Arc<PoolView>, seed: u64) -> Self {
        LocalPool {
            view: RefCell::new(view.clone()),
            chooser: RefCell::new(Chooser::new(view, seed)),
            servers: RefCell::new(view.servers.iter().map(LocalServer::new).collect()),
            queue: Queue::default(),
            next_source: Cell::new(0),
        }
    }

    fn refresh(&self, view: &Arc<PoolView>) {
        if Arc::ptr_eq(&self.view.borrow(), view) {
            return;
        }
        let same_tls = same(&self.view.borrow().tls, &view.tls)
            && self.view.borrow().config.http2 == view.config.http2;
        let mut servers = self.servers.borrow_mut();
        let mut before: HashMap<ServerId, Rc<LocalServer<N>>> =
            servers.drain(..).map(|server| (server.id, server)).collect();
        for server in &view.servers {
            servers.push(match before.remove(&server.id) {
                Some(stays) => {
                    stays.refresh(server);
                    if !same_tls {
                        // What is kept was verified by other words.
                        stays.clear();
                        *stays.tls.borrow_mut() = None;
                    }
                    stays
                }
                None => LocalServer::new(server),
            });
        }
        before.values().for_each(|server| server.retire());
        self.chooser.borrow_mut().refresh(view);
        *self.view.borrow_mut() = view.clone();
    }
}

fn same(a: &Option<Material>, b: &Option<Material>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => a.is(b),
        _ => false,
    }
}

impl<N: Net> LocalServer<N> {
    fn new(view: &ServerView) -> Rc<Self> {
        Rc::new(LocalServer {
            id: view.id,
            view: RefCell::new(view.clone()),
            shelf: RefCell::default(),
            mux: Mux::default(),
            tls: RefCell::default(),
            failing: Cell::new(false),
            retired: Cell::new(false),
        })
    }

    fn refresh(&self, view: &ServerView) {
        let takes_none =
            matches!(view.state, ServerState::Down | ServerState::Disabled | ServerState::Drain);
        let moved = self.view.replace(view.clone()).address != view.address;
        self.retired.set(takes_none);
        if takes_none || moved {
            self.clear();
        }
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
