//! Admission of a worker's client connections: which clients are admitted, and which connections are evicted for them.
//!
//! `model::admission` makes the decisions, which are applied here. An evicted connection is no longer counted from then
//! on; its task is woken to close it.

pub mod eviction_requests;

use std::cell::{Cell, RefCell};
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;

use model::admission::{
    AdmissionPhase, AdmissionTable, ClientConnectionCounts, ClientKey, ClientShare,
    ConnectionHandle, ConnectionScope, HandshakeAdmission,
};
use model::cause::Cause;
use model::id::ServiceId;
use model::monotonic_time::MonotonicTime;
use model::snapshot::ServiceView;
use model::stats::{ServiceCounters, ServiceStats, SharedGauge};

use crate::accounting::gauges::OpenGauges;
use crate::rt::{NetDriver, TaskId, WorkerRuntime};
use eviction_requests::EvictionRequests;

/// Attempts to get a slot: another worker may take a slot that was freed.
/// Another worker takes a released slot rarely; after three attempts the limit is really reached.
const ATTEMPTS: usize = 3;

/// After a limit was reached, evictions of silent or stalled connections keep 1/`RESERVED` of it free, up to `RESERVE`.
const RESERVED: u32 = 32;
const RESERVE: u32 = 64;

/// Which connections may be evicted for a new client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvictionScope {
    /// Only silent or stalled ones, as long as another worker may have one.
    IdleOnly,
    /// Any connection without an exchange.
    Any,
}

pub struct Admission {
    table: RefCell<AdmissionTable<AdmittedConnection>>,
    /// Connections per client, over all workers.
    holders: Arc<ClientConnectionCounts>,
    /// The number of connections, over all workers; `limit` is its maximum.
    all: Arc<SharedGauge>,
    limit: u32,
    gauges: Arc<OpenGauges>,
    eviction_requests: Arc<EvictionRequests>,
    /// For the last rejected client, this worker had no connection to evict.
    found_no_victim: Cell<bool>,
    /// The worker's slot in the live counters.
    index: usize,
}

/// An open client connection. Dropping it closes the connection's record.
pub struct OpenConnection {
    admission: Rc<Admission>,
    place: ConnectionHandle,
}

/// State attached to an admitted connection.
struct AdmittedConnection {
    live: Arc<ServiceStats>,
    task: Cell<Option<TaskId>>,
}

/// The client at this address; `None`: a trusted proxy, whose connections are not limited per client.
fn client_for_address(view: &ServiceView, address: IpAddr) -> Option<ClientKey> {
    let exempt = view.trusts(address)
        || view.config.accept_proxy.as_ref().is_some_and(|accept| accept.trusts(address));
    (!exempt).then(|| ClientKey::from_address(address))
}

fn count_evicted(phase: AdmissionPhase, counters: &ServiceCounters) {
    let counter = match phase {
        AdmissionPhase::Silent => &counters.evicted_silent,
        AdmissionPhase::Hello | AdmissionPhase::Handshake | AdmissionPhase::Head => {
            &counters.evicted_stalled
        }
        AdmissionPhase::Fresh
        | AdmissionPhase::Idle
        | AdmissionPhase::Busy
        | AdmissionPhase::Leaving => &counters.evicted_idle,
    };
    counter.add(1);
}

impl Admission {
    /// No connections yet. `holders` and `all` are shared by all workers, whose total limit is `limit`.
    pub fn new(
        holders: Arc<ClientConnectionCounts>,
        all: Arc<SharedGauge>,
        limit: u32,
        gauges: Arc<OpenGauges>,
        eviction_requests: Arc<EvictionRequests>,
        index: usize,
    ) -> Admission {
        Admission {
            table: RefCell::default(),
            holders,
            all,
            limit,
            gauges,
            eviction_requests,
            found_no_victim: Cell::default(),
            index,
        }
    }

    /// Whether, for the last rejected client, this worker had no connection to evict.
    pub fn found_no_victim(&self) -> bool {
        self.found_no_victim.get()
    }

    /// Handshakes in progress for a service.
    pub fn handshakes(&self, service: ServiceId) -> u32 {
        self.table.borrow().handshake_count(service)
    }

    /// Admits a connection, and evicts another one if no slot is free. `address` is `None` until the client has proven
    /// its address: otherwise others could use up the client's share.
    ///
    /// # Errors
    /// The limit that was reached.
    pub fn admit<N: NetDriver>(
        self: &Rc<Self>,
        rt: &WorkerRuntime<N>,
        view: &ServiceView,
        address: Option<IpAddr>,
        eviction: EvictionScope,
    ) -> Result<OpenConnection, Cause> {
        let client = address.and_then(|address| client_for_address(view, address));
        if let Some(client) = client {
            self.check_client_share(rt, view, client)?;
        }
        self.reserve_slot(rt, view, eviction)?;
        self.gauges.connections.increment();
        let connection = AdmittedConnection { live: view.stats.clone(), task: Cell::default() };
        let place = self.table.borrow_mut().insert(view.id, client, rt.now(), connection);
        if let Some(client) = client {
            self.holders.add(client);
            view.stats.client_connections.add(client);
        }
        let open = OpenConnection { admission: self.clone(), place };
        if let Some(tls) = &view.config.tls {
            let beyond = self.table.borrow_mut().oldest_silent_beyond(view.id, tls.handshakes);
            if let Some(place) = beyond {
                self.evict(rt, place, AdmissionPhase::Silent);
            }
        }
        Ok(open)
    }

    /// Admits a client's handshake; a stalled one may be evicted for it.
    ///
    /// # Errors
    /// The limit that was reached.
    pub fn check_handshake<N: NetDriver>(
        &self,
        rt: &WorkerRuntime<N>,
        view: &ServiceView,
        address: Option<IpAddr>,
    ) -> Result<(), Cause> {
        let Some(tls) = &view.config.tls else { return Ok(()) };
        let client = address.and_then(|address| client_for_address(view, address));
        let share = ClientShare::from_limit(tls.handshakes_per_client);
        let most = tls.handshakes;
        let mut table = self.table.borrow_mut();
        let entrance = table.admit_handshake(view.id, client, most, share, rt.now());
        drop(table);
        match entrance {
            HandshakeAdmission::Admit => Ok(()),
            HandshakeAdmission::AdmitAfterClosing(place) => {
                self.evict(rt, place, AdmissionPhase::Handshake);
                Ok(())
            }
            HandshakeAdmission::Full => Err(Cause::TlsHandshakeLimit),
            HandshakeAdmission::ClientOverShare => Err(Cause::ClientLimit),
        }
    }

    /// If any worker has reached a limit: evicts silent connections of this worker. Also evicts idle ones if a new
    /// client's own worker has none to evict.
    pub fn evict_for_requests<N: NetDriver>(
        &self,
        rt: &WorkerRuntime<N>,
        view: impl Fn(ServiceId) -> Option<Arc<ServiceView>>,
    ) {
        let now = rt.now();
        for scope in self.eviction_requests.watched_limits(now) {
            let service = match scope {
                ConnectionScope::Service(id) => view(id),
                ConnectionScope::All
                | ConnectionScope::Client(_)
                | ConnectionScope::ClientOf(..) => None,
            };
            let limit = service.as_ref().and_then(|view| view.config.limit.connections);
            let (open, limit) = match (&service, limit) {
                (Some(view), Some(limit)) => (&view.stats.open_connections, limit),
                _ if scope == ConnectionScope::All => (&*self.all, self.limit),
                _ => continue,
            };
            let reserve = self.eviction_requests.waiting.get().max((limit / RESERVED).min(RESERVE));
            while open.get().saturating_add(reserve) > limit && self.evict_silent(rt, scope) {}
            let left = self.table.borrow_mut().expendable_silent(scope, now).is_some();
            self.eviction_requests.record_answer(scope, self.index, left, now);
            let wanting = || self.eviction_requests.without_victim.get();
            let lacks = || wanting() > 0 && open.get().saturating_add(wanting()) > limit;
            while lacks() && self.make_room(rt, scope, EvictionScope::IdleOnly) {}
        }
    }

    /// Closes the connection that has been silent for longest; false: there is none.
    fn evict_silent<N: NetDriver>(&self, rt: &WorkerRuntime<N>, scope: ConnectionScope) -> bool {
        let mut table = self.table.borrow_mut();
        let Some(place) = table.expendable_silent(scope, rt.now()) else { return false };
        table.set_phase(place, AdmissionPhase::Leaving, rt.now());
        drop(table);
        self.evict(rt, place, AdmissionPhase::Silent);
        true
    }

    /// Checks a client's limits. If the client has reached its share, one of its own connections must be evicted.
    fn check_client_share<N: NetDriver>(
        &self,
        rt: &WorkerRuntime<N>,
        view: &ServiceView,
        client: ClientKey,
    ) -> Result<(), Cause> {
        let limit = &view.config.limit;
        let own = ClientShare::from_limit(limit.connections_per_client);
        let most = limit.connections.unwrap_or(u32::MAX);
        let at_service = (own, &view.stats.open_connections, most, &view.stats.client_connections);
        let at_all = (ClientShare::Auto, &*self.all, self.limit, &*self.holders);
        let scopes = [ConnectionScope::ClientOf(view.id, client), ConnectionScope::Client(client)];
        for ((share, open, limit, holders), scope) in [at_service, at_all].into_iter().zip(scopes) {
            let open = open.get();
            // A configured number also replaces the automatic share of all connections.
            let set_aside = own != ClientShare::Auto && share == ClientShare::Auto;
            if set_aside || !share.may_apply(open, limit) {
                continue;
            }
            let met = share.is_reached(holders.connections_of(client), open, limit);
            if met && !self.make_room(rt, scope, EvictionScope::Any) {
                return Err(Cause::ClientLimit);
            }
        }
        Ok(())
    }

    /// Increments the counts of all connections and of the service's.
    fn reserve_slot<N: NetDriver>(
        &self,
        rt: &WorkerRuntime<N>,
        view: &ServiceView,
        eviction: EvictionScope,
    ) -> Result<(), Cause> {
        let cap = view.config.limit.connections.unwrap_or(u32::MAX);
        for _ in 0..ATTEMPTS {
            let scope = if self.all.try_increment(self.limit) {
                if view.stats.open_connections.try_increment(cap) {
                    return Ok(());
                }
                self.all.decrement();
                ConnectionScope::Service(view.id)
            } else {
                ConnectionScope::All
            };
            if !self.make_room(rt, scope, eviction) {
                break;
            }
        }
        Err(Cause::ConnectionLimit)
    }

    /// Evicts an inactive connection. False: there is none, or another worker may have a silent or stalled one.
    fn make_room<N: NetDriver>(
        &self,
        rt: &WorkerRuntime<N>,
        scope: ConnectionScope,
        eviction: EvictionScope,
    ) -> bool {
        let now = rt.now();
        let mut table = self.table.borrow_mut();
        let victim =
            table.eviction_candidate(scope, now, |client| self.holders.connections_of(client));
        self.found_no_victim.set(victim.is_none());
        let useless = victim.is_some_and(|victim| victim.expendable);
        // Other workers are also asked if this worker has no connection to evict.
        let asks = !useless && eviction == EvictionScope::IdleOnly;
        let spares = asks && self.eviction_requests.request_eviction(scope, self.index, now);
        let Some(victim) = victim.filter(|_| !spares) else { return false };
        table.set_phase(victim.slot, AdmissionPhase::Leaving, now);
        drop(table);
        self.evict(rt, victim.slot, victim.phase);
        true
    }

    /// Evicts a connection: it is no longer counted, and its task closes it.
    fn evict<N: NetDriver>(
        &self,
        rt: &WorkerRuntime<N>,
        place: ConnectionHandle,
        phase: AdmissionPhase,
    ) {
        let table = self.table.borrow();
        let Some(connection) = table.attached(place) else { return };
        count_evicted(phase, &connection.live.slots[self.index].counters);
        self.close(&connection.live, table.client(place));
        if let Some(task) = connection.task.get() {
            rt.wake(task);
        }
    }

    /// Closes the record of a connection.
    fn close(&self, live: &ServiceStats, client: Option<ClientKey>) {
        if let Some(client) = client {
            self.forget_client(live, client);
        }
        self.gauges.connections.decrement();
        self.all.decrement();
        live.open_connections.decrement();
        live.slots[self.index].counters.closed.add(1);
    }

    fn forget_client(&self, live: &ServiceStats, client: ClientKey) {
        self.holders.remove(client);
        live.client_connections.remove(client);
    }
}

impl OpenConnection {
    /// Sets the task that serves the connection.
    pub fn set_task(&self, task: Option<TaskId>) {
        if let Some(connection) = self.admission.table.borrow().attached(self.place) {
            connection.task.set(task);
        }
    }

    /// Sets the connection's phase.
    #[inline]
    pub fn set_phase(&self, phase: AdmissionPhase, now: MonotonicTime) {
        self.admission.table.borrow_mut().set_phase(self.place, phase, now);
    }

    /// Whether the connection was evicted and must close.
    #[inline]
    pub fn is_evicted(&self) -> bool {
        self.admission.table.borrow().phase(self.place) == Some(AdmissionPhase::Leaving)
    }

    /// Counts the connection for another client address, after a PROXY header or a QUIC migration.
    ///
    /// # Errors
    /// That client has reached its limit.
    pub fn change_client<N: NetDriver>(
        &self,
        rt: &WorkerRuntime<N>,
        view: &ServiceView,
        address: IpAddr,
    ) -> Result<(), Cause> {
        let Admission { table, holders, .. } = &*self.admission;
        if self.is_evicted() {
            return Ok(());
        }
        let client = client_for_address(view, address);
        if client == table.borrow().client(self.place) {
            return Ok(());
        }
        if let Some(client) = client {
            self.admission.check_client_share(rt, view, client)?;
        }
        let mut table = table.borrow_mut();
        let before = table.reassign_client(self.place, client);
        let Some(connection) = table.attached(self.place) else { return Ok(()) };
        if let Some(client) = client {
            holders.add(client);
            connection.live.client_connections.add(client);
        }
        if let Some(before) = before {
            self.admission.forget_client(&connection.live, before);
        }
        Ok(())
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        let left = self.admission.table.borrow_mut().remove(self.place);
        if let Some(left) = left
            && left.phase != AdmissionPhase::Leaving
        {
            self.admission.close(&left.attached.live, left.client);
        }
    }
}
