//! One worker: the state that its tasks share, and the maintenance of idle connections and log lines.
//!
//! `plane` runs the event loop. Accepting (`accept`) and serving connections are done elsewhere.

pub(crate) mod admission;
pub mod authentication;
pub(crate) mod buffers;
pub(crate) mod endpoint_tag;
mod refused_requests;
mod slow_exchanges;
mod spare_descriptors;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use model::admission::ClientConnectionCounts;
use model::affinity::cookie::AffinitySecrets;
use model::circuit_breaker::{BreakerResource, breaker_clock_ms};
use model::id::ServerId;
use model::load_balancing::Rng;
use model::monotonic_time::MonotonicTime;
use model::refused_requests::{RefusedRequestLog, RefusedRequestRing};
use model::snapshot::{AcmeProofs, OpaqueMaterial, ServiceView, WorkerSnapshot};
use model::stats::SharedGauge;
use model::stats::ring::SpscRing;
use model::time_attribution::WORDS;

use crate::accounting::gauges::{GaugeHandle, OpenGauges};
use crate::accounting::logged_request::LoggedRequest;
use crate::accounting::observer::{PlaneObserver, PlaneOptions};
use crate::accounting::{self, ExchangeRecord, LogBatch, LogDecision, RequestIds, WallOrigin};
use crate::conn::ports::WorkerPorts;
use crate::conn::sampling::ExchangeSampler;
use crate::conn::tls_state::TlsScratch;
use crate::rt::{NetDriver, WorkerRuntime};
use crate::servers::worker_state::{LocalServer, LocalState};
use crate::worker::admission::Admission;
use crate::worker::admission::eviction_requests::EvictionRequests;
use crate::worker::authentication::auth_object::{AuthObject, AuthObjects};
use crate::worker::authentication::password_checks::PasswordChecks;
use crate::worker::buffers::{Buffers, COPY_BYTES, Pipes, Scratch};
use crate::worker::endpoint_tag::EndpointTag;
use spare_descriptors::SpareDescriptors;

/// Interval of the sweeps of idle connections and the flushes of the log.
/// Ten sweeps a second: an idle connection is closed at most this late, and a log line is as old.
const MAINTENANCE_INTERVAL: Duration = Duration::from_millis(100);

/// After this share of the drain limit, and at most after `IDLE_GRACE`, idle connections are closed, so that a request
/// in flight still gets its response.
/// A quarter leaves three for requests that arrive on these connections.
const IDLE_SHARE: u32 = 4;
/// Long enough for a request in flight to arrive.
/// A round trip and a retransmission of the last request fit.
const IDLE_GRACE: Duration = Duration::from_secs(2);

/// State of a running worker that other threads may read.
#[derive(Clone, Default)]
pub struct SharedWorkerState {
    pub gauges: Arc<OpenGauges>,
    pub ports: WorkerPorts,
    /// Client connections over all workers.
    pub all_open: Arc<SharedGauge>,
    pub holders: Arc<ClientConnectionCounts>,
    /// Eviction requests between workers at a limit.
    pub eviction_requests: Arc<EvictionRequests>,
    /// Workers that have released their spare descriptors.
    pub spare_missing: Arc<SharedGauge>,
    /// Measurements of exchanges.
    pub samples: Arc<SpscRing<WORDS>>,
    /// Checks of passwords, for all workers.
    pub password_checks: Arc<PasswordChecks>,
    /// The latest refused requests of all workers.
    pub refused_requests: Arc<RefusedRequestLog>,
}

/// State that the tasks of one worker share.
pub struct Worker<N: NetDriver> {
    pub rt: Rc<WorkerRuntime<N>>,
    /// The worker's number: its slot in the live counters.
    pub index: usize,
    pub options: Arc<PlaneOptions>,
    pub local: RefCell<LocalState<N>>,
    /// Buffers for reading and writing within one step, never across a wait.
    pub scratch: RefCell<Scratch>,
    /// The buffers for TLS, within one read or write.
    pub tls_scratch: Rc<RefCell<TlsScratch>>,
    pub buffers: Buffers,
    pub pipes: Pipes<N>,
    pub rng: RefCell<Rng>,
    /// Receives the worker's observations.
    pub observer: Arc<dyn PlaneObserver>,
    pub ports: WorkerPorts,
    pub gauges: GaugeHandle,
    /// Decides which exchanges are measured.
    pub sampler: ExchangeSampler,
    pub samples: Arc<SpscRing<WORDS>>,
    /// Refused requests that are not published to all workers yet.
    refused: RefCell<RefusedRequestRing>,
    /// The latest refused requests of all workers.
    all_refused: Arc<RefusedRequestLog>,
    /// Creates request ids.
    pub ids: RequestIds,
    /// Admits and evicts this worker's client connections.
    pub admission: Rc<Admission>,
    /// Eviction requests between workers at a limit.
    pub eviction_requests: Arc<EvictionRequests>,
    /// Clients of this worker that wait for admission.
    pub pending_clients: Cell<u32>,
    /// Responses to ACME challenges.
    pub challenges: RefCell<Option<Arc<AcmeProofs>>>,
    /// The objects of authentication.
    auth: RefCell<Option<OpaqueMaterial>>,
    pub password_checks: Arc<PasswordChecks>,
    /// Secrets for affinity cookie values.
    pub cookie_secrets: RefCell<Arc<AffinitySecrets>>,
    /// The worker drains: every connection ends after its current exchange.
    pub draining: Cell<bool>,
    /// While draining: when idle connections are closed.
    pub idle_until: Cell<MonotonicTime>,
    /// Rejected clients that are being sent a response.
    pub refusing: Cell<u32>,
    /// Mirror copies in flight.
    pub mirroring: Cell<u32>,
    /// Server connections that wait for the server to close.
    pub closing_upstreams: Cell<u32>,
    pub compressing: Rc<Cell<u32>>,
    /// The share of recent time in which the worker was busy, in percent.
    pub busy: Cell<u8>,
    /// The newest QUIC endpoint at each address.
    pub endpoints: RefCell<HashMap<SocketAddr, EndpointTag>>,
    /// Descriptors that are released when no others are free, so that a client can get a response.
    pub spare: SpareDescriptors<N>,
    wall: WallOrigin,
    log: RefCell<LogBatch>,
}

impl<N: NetDriver> Worker<N> {
    /// A worker without services. `seed` differs between workers and starts; `wall` is the wall-clock origin.
    pub fn new(
        net: N,
        index: usize,
        seed: u64,
        wall: WallOrigin,
        options: Arc<PlaneOptions>,
        observer: Arc<dyn PlaneObserver>,
        shared: SharedWorkerState,
    ) -> Rc<Worker<N>> {
        let admission = Admission::new(
            shared.holders,
            shared.all_open.clone(),
            options.connections,
            shared.gauges.clone(),
            shared.eviction_requests.clone(),
            index,
        );
        let spare = SpareDescriptors::new(&net, shared.spare_missing);
        let worker = Rc::new(Worker {
            rt: Rc::new(WorkerRuntime::new(net)),
            index,
            local: RefCell::new(LocalState::new(seed)),
            scratch: RefCell::new(Scratch::new(COPY_BYTES)),
            tls_scratch: Rc::default(),
            buffers: Buffers::default(),
            pipes: Pipes::default(),
            rng: RefCell::new(Rng::new(seed)),
            observer,
            ports: shared.ports,
            gauges: GaugeHandle(shared.gauges),
            sampler: ExchangeSampler::new(options.sample),
            samples: shared.samples,
            refused: RefCell::default(),
            all_refused: shared.refused_requests,
            ids: RequestIds::new(index, wall.origin_nanos / 1000),
            wall,
            admission: Rc::new(admission),
            eviction_requests: shared.eviction_requests,
            pending_clients: Cell::default(),
            challenges: RefCell::default(),
            auth: RefCell::default(),
            password_checks: shared.password_checks,
            cookie_secrets: RefCell::default(),
            draining: Cell::new(false),
            idle_until: Cell::new(MonotonicTime::NEVER),
            refusing: Cell::new(0),
            mirroring: Cell::new(0),
            closing_upstreams: Cell::new(0),
            compressing: Rc::default(),
            busy: Cell::default(),
            endpoints: RefCell::default(),
            spare,
            log: RefCell::new(LogBatch::default()),
            options,
        });
        worker.rt.spawn(run_maintenance(worker.clone()));
        worker
    }

    /// Installs a snapshot.
    pub fn install(&self, snapshot: &WorkerSnapshot) {
        let now = self.rt.now();
        self.challenges.replace(snapshot.acme_proofs.clone());
        self.auth.replace(snapshot.auth.clone());
        self.cookie_secrets.replace(snapshot.cookie_secrets.clone());
        let installed = self.local.borrow_mut().install(snapshot, now);
        if installed.service_removed {
            self.idle_until.set(now + IDLE_GRACE);
        }
        if installed.service_removed || installed.server_fell {
            self.rt.wake_all();
        }
    }

    /// Closes every connection after its current exchange, and resets the remaining ones after `limit`.
    pub fn drain(&self, limit: Duration) {
        let now = self.rt.update_now();
        self.draining.set(true);
        self.idle_until.set(now + (limit / IDLE_SHARE).min(IDLE_GRACE));
        for service in self.local.borrow().services.values() {
            service.cut_at.set(service.cut_at.get().min(now + limit));
        }
        self.rt.wake_all();
    }

    /// Closes the server's idle connections, and wakes every task to check for an operator's order to close.
    pub fn abort_server(&self, id: ServerId) {
        self.local.borrow().each_server(|_, server| {
            if server.id == id {
                server.clear();
            }
        });
        self.rt.wake_all();
    }

    /// Evicts silent or stalled connections if any worker has reached a limit.
    pub fn answer_eviction_requests(&self) {
        self.admission.evict_for_requests(&self.rt, |id| {
            let local = self.local.borrow();
            local.services.get(&id).map(|service| service.view.borrow().clone())
        });
    }

    /// The object of authentication with this name.
    pub fn auth_object(&self, name: &str) -> Option<Arc<AuthObject>> {
        let auth = self.auth.borrow();
        auth.as_ref()?.downcast::<AuthObjects>()?.objects.get(name).cloned()
    }

    /// The wall-clock time in milliseconds since 1970.
    pub fn unix_ms(&self) -> u64 {
        self.wall.origin_nanos.saturating_add(self.rt.now().0) / 1_000_000
    }

    /// Hands over the last log lines and drops everything that is still open.
    pub fn leave(&self) {
        self.log.borrow_mut().flush(&*self.observer);
        self.publish_refused();
        self.rt.clear();
    }

    /// Closes the record of an exchange: histograms, counters, log. `server`: the server of the last attempt.
    pub fn close(
        &self,
        view: &ServiceView,
        server: Option<&LocalServer<N>>,
        record: &mut ExchangeRecord,
        request: &LoggedRequest,
    ) {
        record.close(self.rt.now());
        record.server = record.server.or(server.map(|server| server.id));
        let server = server.map(|server| (&server.pool, server.view.borrow()));
        let slot = &view.stats.slots[self.index];
        let of_server = server.as_ref().map(|(_, server)| &server.stats.slots[self.index]);
        accounting::count_exchange(record, slot, of_server);
        accounting::count_user_experience(record, view, self.index, request.client.ip());
        // A client that a proxy named has no port on the wire.
        let port = if request.origin.is_some() { 0 } else { request.client.port() };
        let client = SocketAddr::new(request.client.ip(), port);
        let slow = self.sample_exchange(view, record, client);
        let names = accounting::LogFields {
            service: &view.config.name,
            server: server
                .as_ref()
                .map(|(pool, server)| accounting::LoggedServer { pool, name: &server.config.name }),
            client: request.client,
            origin: request.origin,
            request_id: request.request_id,
            protocol: request.protocol,
            method: request.method,
            target: request.target,
            offence: request.offence,
            weight: None,
            slow,
            further: request.further,
        };
        self.record_refused(record, &names);
        let LogDecision::Logged { weight } = self.decide_log(view, record) else { return };
        let names = accounting::LogFields { weight, ..names };
        let access = &self.options.access;
        record.id(&self.ids);
        self.log.borrow_mut().add(&*self.observer, &view.stats, self.index, |out| {
            accounting::write_line(record, &names, access.format, &access.fields, self.wall, out);
        });
    }
}

/// The total time that a worker has waited for events, at one time.
#[derive(Clone, Copy)]
struct WaitedTimeReading {
    at: MonotonicTime,
    waited: Duration,
}

/// The busy share between two readings in percent, averaged with the previous share.
fn busy_share(from: WaitedTimeReading, to: WaitedTimeReading, before: u8) -> u8 {
    let span = to.at.since(from.at).as_micros().max(1);
    let idle = to.waited.saturating_sub(from.waited).as_micros().min(span);
    let now = 100 - u8::try_from(100 * idle / span).unwrap_or(100);
    // Rounded up, so that a fully busy worker reaches 100.
    (before + now).div_ceil(2)
}

/// Runs while something needs it, and sleeps without a deadline while nothing happens on this worker.
async fn run_maintenance<N: NetDriver>(worker: Rc<Worker<N>>) {
    let mut last = WaitedTimeReading { at: worker.rt.now(), waited: worker.rt.waited_time() };
    loop {
        worker.rt.sleep_until(worker.rt.now() + MAINTENANCE_INTERVAL).await;
        let now = worker.rt.now();
        let reading = WaitedTimeReading { at: now, waited: worker.rt.waited_time() };
        worker.busy.set(busy_share(last, reading, worker.busy.get()));
        last = reading;
        let has_idle = sweep_pools(&worker, now);
        worker.answer_eviction_requests();
        worker.spare.regain(&worker.rt.net);
        worker.log.borrow_mut().flush(&*worker.observer);
        worker.publish_refused();
        if !has_idle && !worker.spare.is_released() {
            worker.rt.parked.wait_others(worker.rt.current()).await;
            let resumed = worker.rt.now();
            // Of a short pause the next reading tells; after a long one, what was before says nothing.
            if resumed.since(now) > MAINTENANCE_INTERVAL {
                worker.busy.set(0);
                last = WaitedTimeReading { at: resumed, waited: worker.rt.waited_time() };
            }
        }
    }
}

/// Closes idle connections that are due. Returns whether any are left.
fn sweep_pools<N: NetDriver>(worker: &Worker<N>, now: MonotonicTime) -> bool {
    let mut has_idle = false;
    worker.local.borrow().each_server(|pool, server| {
        // With thousands of servers, most have no connection here most of the time.
        if server.idle_pool.borrow().is_empty() && server.http2_pool.is_empty() {
            return;
        }
        let mut idle = pool.config.timeout.idle;
        if pool
            .stats
            .breakers
            .get(BreakerResource::Connections)
            .state(breaker_clock_ms(worker.rt.now()))
            .is_open()
        {
            // While the breaker is open, unused connections block other workers' requests.
            idle = idle.min(MAINTENANCE_INTERVAL);
        }
        let swept = server.idle_pool.borrow_mut().sweep(now, idle);
        server.http2_pool.sweep();
        has_idle |= !server.idle_pool.borrow().is_empty() || !server.http2_pool.is_empty();
        let view = server.view.borrow();
        let counters = &view.stats.slots[worker.index].counters;
        counters.stale.add(swept.stale);
        counters.retired.add(swept.retired);
    });
    has_idle
}
