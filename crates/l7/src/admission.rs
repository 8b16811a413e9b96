//! A worker's client connections, each with its place: who is let in, and whose connection is closed for that.
//!
//! What is decided in `model::admission` is carried out here: a connection that loses its place is no longer counted at
//! once, and its task is woken to close it.

pub mod eviction_requests;

use std::cell::{Cell, RefCell};
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;

use model::admission::{Client, Entrance, Holders, Phase, Place, Scope, Share, Table};
use model::cause::Cause;
use model::id::ServiceId;
use model::live::{ServiceCounters, ServiceLive, Shared};
use model::moment::Moment;
use model::snapshot::ServiceView;

use crate::census::Census;
use crate::rt::{Net, Rt, TaskId};
use eviction_requests::EvictionRequests;

/// Attempts at a place: others may take what was made free.
const ATTEMPTS: usize = 3;

/// Where a limit was met, this share of it is kept free of silent or stalled connections, and at most `RESERVE` places.
const RESERVED: u32 = 32;
/// See `RESERVED`.
const RESERVE: u32 = 64;

/// Whose place a newcomer may get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Eviction {
    /// That of a silent or stalled connection, as long as another worker may have one.
    Useless,
    /// That of any connection that does nothing.
    Any,
}

/// One worker's connections.
pub struct Admission {
    table: RefCell<Table<Connection>>,
    /// Whose connections there are, over all workers.
    holders: Arc<Holders>,
    /// How many there are, over all workers, and how many there may be.
    all: Arc<Shared>,
    limit: u32,
    census: Arc<Census>,
    eviction_requests: Arc<EvictionRequests>,
    /// The last newcomer that was kept out found nothing here that could be closed for it.
    found_no_victim: Cell<bool>,
    /// The worker's slot in live counters.
    index: usize,
}

/// A client connection being open; dropping it closes the account of the connection.
pub struct OpenConnection {
    admission: Rc<Admission>,
    place: Place,
}

/// What is attached to a connection's place.
struct Connection {
    live: Arc<ServiceLive>,
    task: Cell<Option<TaskId>>,
}

/// The client at this address; `None`: one that has no share, since many stand behind it.
fn client_at(view: &ServiceView, address: IpAddr) -> Option<Client> {
    let exempt = view.config.trust.contains(address)
        || view.config.accept_proxy.as_ref().is_some_and(|accept| accept.trusts(address));
    (!exempt).then(|| Client::of(address))
}

fn evicted(phase: Phase, counters: &ServiceCounters) {
    let counter = match phase {
        Phase::Silent => &counters.evicted_silent,
        Phase::Hello | Phase::Handshake | Phase::Head => &counters.evicted_stalled,
        Phase::Fresh | Phase::Idle | Phase::Busy | Phase::Leaving => &counters.evicted_idle,
    };
    counter.add(1);
}

impl Admission {
    /// None yet; `holders` and `all` are those of all workers, which may have `limit` connections.
    pub fn new(
        holders: Arc<Holders>,
        (all, limit): (Arc<Shared>, u32),
        census: Arc<Census>,
        eviction_requests: Arc<EvictionRequests>,
        index: usize,
    ) -> Admission {
        Admission {
            table: RefCell::default(),
            holders,
            all,
            limit,
            census,
            eviction_requests,
            found_no_victim: Cell::default(),
            index,
        }
    }

    /// Whether the last newcomer that was kept out found no connection here that could be closed for it.
    pub fn found_no_victim(&self) -> bool {
        self.found_no_victim.get()
    }

    /// Handshakes of a service that are under way.
    pub fn handshakes(&self, service: ServiceId) -> u32 {
        self.table.borrow().handshakes(service)
    }

    /// Lets a connection in, in the place of another where there is none free. An address that the client has not proven
    /// is none: others could use up its share.
    ///
    /// # Errors
    /// The limit that keeps it out.
    pub fn admit<N: Net>(
        self: &Rc<Self>,
        rt: &Rt<N>,
        view: &ServiceView,
        address: Option<IpAddr>,
        eviction: Eviction,
    ) -> Result<OpenConnection, Cause> {
        let client = address.and_then(|address| client_at(view, address));
        if let Some(client) = client {
            self.within_share(rt, view, client)?;
        }
        self.take_place(rt, view, eviction)?;
        self.census.connections.up();
        let connection = Connection { live: view.live.clone(), task: Cell::default() };
        let place = self.table.borrow_mut().enter(view.id, client, rt.now(), connection);
        if let Some(client) = client {
            self.holders.add(client);
            view.live.holders.add(client);
        }
        let open = OpenConnection { admission: self.clone(), place };
        if let Some(tls) = &view.config.tls {
            let beyond = self.table.borrow_mut().silent_beyond(view.id, tls.handshakes);
            if let Some(place) = beyond {
                self.give_up(rt, place, Phase::Silent);
            }
        }
        Ok(open)
    }

    /// Whether a client may begin a handshake; one that has stalled may be given up for it.
    ///
    /// # Errors
    /// The limit that keeps it out.
    pub fn may_shake<N: Net>(
        &self,
        rt: &Rt<N>,
        view: &ServiceView,
        address: Option<IpAddr>,
    ) -> Result<(), Cause> {
        let Some(tls) = &view.config.tls else { return Ok(()) };
        let client = address.and_then(|address| client_at(view, address));
        let (share, most) = (Share::of(tls.handshakes_per_client), tls.handshakes);
        let mut table = self.table.borrow_mut();
        let entrance = table.handshake(view.id, client, most, share, rt.now());
        drop(table);
        match entrance {
            Entrance::Open => Ok(()),
            Entrance::Instead(place) => {
                self.give_up(rt, place, Phase::Handshake);
                Ok(())
            }
            Entrance::Full => Err(Cause::TlsHandshakeLimit),
            Entrance::Share => Err(Cause::ClientLimit),
        }
    }

    /// Where any worker has met a limit: evicts silent connections of this worker, and idle ones where a newcomer's own
    /// worker has none to evict.
    pub fn give_places<N: Net>(
        &self,
        rt: &Rt<N>,
        view: impl Fn(ServiceId) -> Option<Arc<ServiceView>>,
    ) {
        let now = rt.now();
        for scope in self.eviction_requests.watched_limits(now) {
            let service = match scope {
                Scope::Service(id) => view(id),
                Scope::All | Scope::Client(_) | Scope::ClientOf(..) => None,
            };
            let limit = service.as_ref().and_then(|view| view.config.limit.connections);
            let (open, limit) = match (&service, limit) {
                (Some(view), Some(limit)) => (&view.live.open, limit),
                _ if scope == Scope::All => (&*self.all, self.limit),
                _ => continue,
            };
            let reserve = self.eviction_requests.waiting.get().max((limit / RESERVED).min(RESERVE));
            while open.get().saturating_add(reserve) > limit && self.give_silent(rt, scope) {}
            let left = self.table.borrow_mut().useless_silent(scope, now).is_some();
            self.eviction_requests.record_look(scope, self.index, left, now);
            let wanting = || self.eviction_requests.without_victim.get();
            let lacks = || wanting() > 0 && open.get().saturating_add(wanting()) > limit;
            while lacks() && self.make_room(rt, scope, Eviction::Useless) {}
        }
    }

    /// Closes the connection that has been silent for longest; false: there is none.
    fn give_silent<N: Net>(&self, rt: &Rt<N>, scope: Scope) -> bool {
        let mut table = self.table.borrow_mut();
        let Some(place) = table.useless_silent(scope, rt.now()) else { return false };
        table.set(place, Phase::Leaving, rt.now());
        drop(table);
        self.give_up(rt, place, Phase::Silent);
        true
    }

    /// Whether a client may have one more; where it has its share, only in the place of one of its own.
    fn within_share<N: Net>(
        &self,
        rt: &Rt<N>,
        view: &ServiceView,
        client: Client,
    ) -> Result<(), Cause> {
        let limit = &view.config.limit;
        let own = Share::of(limit.connections_per_client);
        let most = limit.connections.unwrap_or(u32::MAX);
        let at_service = (own, &view.live.open, most, &view.live.holders);
        let at_all = (Share::Auto, &*self.all, self.limit, &*self.holders);
        let scopes = [Scope::ClientOf(view.id, client), Scope::Client(client)];
        for ((share, open, limit, holders), scope) in [at_service, at_all].into_iter().zip(scopes) {
            let open = open.get();
            // A number of its own stands for the automatic share of all connections too.
            let set_aside = own != Share::Auto && share == Share::Auto;
            if set_aside || !share.bites(open, limit) {
                continue;
            }
            let met = share.is_met(holders.held(client), open, limit);
            if met && !self.make_room(rt, scope, Eviction::Any) {
                return Err(Cause::ClientLimit);
            }
        }
        Ok(())
    }

    /// Raises the counts of all connections and of the service's.
    fn take_place<N: Net>(
        &self,
        rt: &Rt<N>,
        view: &ServiceView,
        eviction: Eviction,
    ) -> Result<(), Cause> {
        let cap = view.config.limit.connections.unwrap_or(u32::MAX);
        for _ in 0..ATTEMPTS {
            let scope = if self.all.up_within(self.limit) {
                if view.live.open.up_within(cap) {
                    return Ok(());
                }
                self.all.down();
                Scope::Service(view.id)
            } else {
                Scope::All
            };
            if !self.make_room(rt, scope, eviction) {
                break;
            }
        }
        Err(Cause::ConnectionLimit)
    }

    /// Closes a connection that does nothing; false: there is none, or another worker may have a silent or stalled one.
    fn make_room<N: Net>(&self, rt: &Rt<N>, scope: Scope, eviction: Eviction) -> bool {
        let now = rt.now();
        let mut table = self.table.borrow_mut();
        let victim = table.victim(scope, now, |client| self.holders.held(client));
        self.found_no_victim.set(victim.is_none());
        let useless = victim.is_some_and(|victim| victim.useless);
        // Others are asked too where there is nobody here at all.
        let asks = !useless && eviction == Eviction::Useless;
        let spares = asks && self.eviction_requests.ask_others(scope, self.index, now);
        let Some(victim) = victim.filter(|_| !spares) else { return false };
        table.set(victim.place, Phase::Leaving, now);
        drop(table);
        self.give_up(rt, victim.place, victim.phase);
        true
    }

    /// A connection has lost its place: it is counted no more, and its task closes it.
    fn give_up<N: Net>(&self, rt: &Rt<N>, place: Place, phase: Phase) {
        let table = self.table.borrow();
        let Some(connection) = table.attached(place) else { return };
        evicted(phase, &connection.live.slots[self.index].counters);
        self.close(&connection.live, table.client(place));
        if let Some(task) = connection.task.get() {
            rt.wake(task);
        }
    }

    /// Closes the account of a connection.
    fn close(&self, live: &ServiceLive, client: Option<Client>) {
        if let Some(client) = client {
            self.forget(live, client);
        }
        self.census.connections.down();
        self.all.down();
        live.open.down();
        live.slots[self.index].counters.closed.add(1);
    }

    fn forget(&self, live: &ServiceLive, client: Client) {
        self.holders.remove(client);
        live.holders.remove(client);
    }
}

impl OpenConnection {
    /// The task that serves it.
    pub fn belongs_to(&self, task: Option<TaskId>) {
        if let Some(connection) = self.admission.table.borrow().attached(self.place) {
            connection.task.set(task);
        }
    }

    /// What it does from now on.
    #[inline]
    pub fn set(&self, phase: Phase, now: Moment) {
        self.admission.table.borrow_mut().set(self.place, phase, now);
    }

    /// Whether it has lost its place and is to be closed.
    #[inline]
    pub fn is_given_up(&self) -> bool {
        self.admission.table.borrow().phase(self.place) == Some(Phase::Leaving)
    }

    /// Somebody else stands behind it than who connected.
    ///
    /// # Errors
    /// That client has its share already.
    pub fn rename<N: Net>(
        &self,
        rt: &Rt<N>,
        view: &ServiceView,
        address: IpAddr,
    ) -> Result<(), Cause> {
        let Admission { table, holders, .. } = &*self.admission;
        if self.is_given_up() {
            return Ok(());
        }
        let client = client_at(view, address);
        if client == table.borrow().client(self.place) {
            return Ok(());
        }
        if let Some(client) = client {
            self.admission.within_share(rt, view, client)?;
        }
        let mut table = table.borrow_mut();
        let before = table.rename(self.place, client);
        let Some(connection) = table.attached(self.place) else { return Ok(()) };
        if let Some(client) = client {
            holders.add(client);
            connection.live.holders.add(client);
        }
        if let Some(before) = before {
            self.admission.forget(&connection.live, before);
        }
        Ok(())
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        let left = self.admission.table.borrow_mut().leave(self.place);
        if let Some(left) = left
            && left.phase != Phase::Leaving
        {
            self.admission.close(&left.attached.live, left.client);
        }
    }
}
