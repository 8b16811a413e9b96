//! One worker: the state that its tasks share, and the maintenance of idle connections and log lines.
//!
//! It has no loop of its own: `plane` turns the runtime. It accepts nothing (`accept`) and serves nothing.

pub(crate) mod admission;
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
use model::snapshot::{AcmeProofs, ServiceView, WorkerSnapshot};
use model::stats::SharedGauge;
use model::stats::ring::SpscRing;
use model::time_attribution::WORDS;

use crate::accounting::gauges::{GaugeHandle, OpenGauges};
use crate::accounting::logged_request::LoggedRequest;
use crate::accounting::observer::{PlaneObserver, PlaneOptions};
use crate::accounting::{self, ExchangeRecord, LogBatch, RequestIds, WallOrigin};
use crate::conn::ports::WorkerPorts;
use crate::conn::sampling::ExchangeSampler;
use crate::conn::tls_state::TlsScratch;
use crate::rt::{NetDriver, WorkerRuntime};
use crate::servers::worker_state::{LocalServer, LocalState};
use crate::worker::admission::Admission;
use crate::worker::admission::eviction_requests::EvictionRequests;
use crate::worker::buffers::{Buffers, COPY_BYTES, Pipes, Scratch};
use crate::worker::endpoint_tag::EndpointTag;
use spare_descriptors::SpareDescriptors;

/// Between two sweeps of idle connections and flushes of the log.
const MAINTENANCE_INTERVAL: Duration = Duration::from_millis(100);

/// Idle connections are closed this share of the drain limit after draining began, at most `IDLE_GRACE`: a request
/// that is on its way gets its answer.
const IDLE_SHARE: u32 = 4;
/// Long enough for a request that is on its way.
const IDLE_GRACE: Duration = Duration::from_secs(2);

/// State of a running worker that other threads may read.
#[derive(Clone, Default)]
pub struct SharedWorkerState {
    pub gauges: Arc<OpenGauges>,
    /// Source ports in use.
    pub ports: WorkerPorts,
    /// Client connections over all workers.
    pub all_open: Arc<SharedGauge>,
    pub holders: Arc<ClientConnectionCounts>,
    /// Eviction requests between workers at a limit.
    pub eviction_requests: Arc<EvictionRequests>,
    /// Workers that have given up the descriptors that they keep back.
    pub spare_missing: Arc<SharedGauge>,
    /// Exchanges that were measured.
    pub samples: Arc<SpscRing<WORDS>>,
    /// The last refused requests of all workers.
    pub refused_requests: Arc<RefusedRequestLog>,
}

/// State that the tasks of one worker share.
pub struct Worker<N: NetDriver> {
    pub rt: Rc<WorkerRuntime<N>>,
    /// Its number: its slot in the live counters.
    pub index: usize,
    /// Options of the plane.
    pub options: Arc<PlaneOptions>,
    pub local: RefCell<LocalState<N>>,
    /// Read into and composed in, never across a wait.
    pub scratch: RefCell<Scratch>,
    /// The same for connections under TLS, within one read or write.
    pub tls_scratch: Rc<RefCell<TlsScratch>>,
    pub buffers: Buffers,
    pub pipes: Pipes<N>,
    pub rng: RefCell<Rng>,
    /// Receives the worker's observations.
    pub observer: Arc<dyn PlaneObserver>,
    /// Source ports in use.
    pub ports: WorkerPorts,
    pub gauges: GaugeHandle,
    /// Which exchanges are measured.
    pub sampler: ExchangeSampler,
    pub samples: Arc<SpscRing<WORDS>>,
    /// Refused requests that the others have not got yet.
    refused: RefCell<RefusedRequestRing>,
    /// The last refused requests of all workers.
    all_refused: Arc<RefusedRequestLog>,
    /// Makes ids of exchanges.
    pub ids: RequestIds,
    /// The places of this worker's.
    pub admission: Rc<Admission>,
    /// Eviction requests between workers at a limit.
    pub eviction_requests: Arc<EvictionRequests>,
    /// Clients of this worker that wait for a place.
    pub pending_clients: Cell<u32>,
    /// Responses to ACME challenges.
    pub challenges: RefCell<Option<Arc<AcmeProofs>>>,
    /// Secrets that affinity cookie values are made with.
    pub cookie_secrets: RefCell<Arc<AffinitySecrets>>,
    /// The worker drains: every connection ends after its current exchange.
    pub draining: Cell<bool>,
    /// While draining: idle connections end at this moment.
    pub idle_until: Cell<MonotonicTime>,
    /// Clients above a limit that are being answered.
    pub refusing: Cell<u32>,
    /// Copies of requests under way.
    pub mirroring: Cell<u32>,
    /// Connections to servers that wait for their server to close.
    pub closing_upstreams: Cell<u32>,
    pub compressing: Rc<Cell<u32>>,
    /// The share of the last moments in which it had something to do, percent.
    pub busy: Cell<u8>,
    /// The newest endpoint of QUIC at each address.
    pub endpoints: RefCell<HashMap<SocketAddr, EndpointTag>>,
    /// Descriptors given up when there are none left, so that a client can be answered.
    pub spare: SpareDescriptors<N>,
    wall: WallOrigin,
    log: RefCell<LogBatch>,
}

impl<N: NetDriver> Worker<N> {
    /// A worker without services. `seed` differs between workers and starts; `wall` tells the time of day.
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

    /// Moves to a snapshot.
    pub fn install(&self, snapshot: &WorkerSnapshot) {
        let now = self.rt.now();
        self.challenges.replace(snapshot.acme_proofs.clone());
        self.cookie_secrets.replace(snapshot.cookie_secrets.clone());
        let installed = self.local.borrow_mut().install(snapshot, now);
        if installed.service_removed {
            self.idle_until.set(now + IDLE_GRACE);
        }
        if installed.service_removed || installed.server_fell {
            self.rt.wake_all();
        }
    }

    /// Lets every connection end after what it is doing, and cuts what is left after `limit`.
    pub fn drain(&self, limit: Duration) {
        let now = self.rt.update_now();
        self.draining.set(true);
        self.idle_until.set(now + (limit / IDLE_SHARE).min(IDLE_GRACE));
        for service in self.local.borrow().services.values() {
            service.cut_at.set(service.cut_at.get().min(now + limit));
        }
        self.rt.wake_all();
    }

    /// Lets everything look whether its server's connections were ordered to be cut, and closes the idle ones.
    pub fn abort_server(&self, id: ServerId) {
        self.local.borrow().each_server(|_, server| {
            if server.id == id {
                server.clear();
            }
        });
        self.rt.wake_all();
    }

    /// Evicts silent or stalled connections where any worker has reached a limit.
    pub fn answer_eviction_requests(&self) {
        self.admission.evict_for_requests(&self.rt, |id| {
            let local = self.local.borrow();
            local.services.get(&id).map(|service| service.view.borrow().clone())
        });
    }

    /// The time of day, milliseconds since 1970.
    pub fn unix_ms(&self) -> u64 {
        self.wall.origin_nanos.saturating_add(self.rt.now().0) / 1_000_000
    }

    /// Gives the last log lines away and drops what is still open.
    pub fn leave(&self) {
        self.log.borrow_mut().flush(&*self.observer);
        self.publish_refused();
        self.rt.clear();
    }

    /// Closes the account of an exchange: histograms, counters, log. `server`: that of the last attempt.
    pub fn close(
        &self,
        view: &ServiceView,
        server: Option<&LocalServer<N>>,
        record: &mut ExchangeRecord,
        request: &LoggedRequest,
    ) {
        record.close(self.rt.now());
        let server = server.map(|server| (&server.pool, server.view.borrow()));
        let slot = &view.stats.slots[self.index];
        let of_server = server.as_ref().map(|(_, server)| &server.stats.slots[self.index]);
        accounting::count_exchange(record, slot, of_server);
        accounting::count_user_experience(record, view, self.index, request.client.ip());
        let slow = self.sample_exchange(view, record, request.client);
        let names = accounting::LogFields {
            service: &view.config.name,
            server: server
                .as_ref()
                .map(|(pool, server)| (pool.as_str(), server.config.name.as_str())),
            client: request.client,
            protocol: request.protocol,
            method: request.method,
            target: request.target,
            offence: request.offence,
            slow,
        };
        self.record_refused(record, &names);
        let access = &self.options.access;
        if !access.enabled || !(access.all || record.cause.is_some()) {
            return;
        }
        record.id(&self.ids);
        self.log.borrow_mut().add(&*self.observer, &view.stats, self.index, |out| {
            accounting::write_line(record, &names, access.format, self.wall, out);
        });
    }
}

/// How long a worker has waited for readiness in all, at one moment.
#[derive(Clone, Copy)]
struct WaitedTimeReading {
    at: MonotonicTime,
    waited: Duration,
}

/// The busy share of the time between two readings, percent, smoothed with the share before.
fn busy_share(from: WaitedTimeReading, to: WaitedTimeReading, before: u8) -> u8 {
    let span = to.at.since(from.at).as_micros().max(1);
    let idle = to.waited.saturating_sub(from.waited).as_micros().min(span);
    let now = 100 - u8::try_from(100 * idle / span).unwrap_or(100);
    // At the end of a full rise it is full: rounded up.
    (before + now).div_ceil(2)
}

async fn run_maintenance<N: NetDriver>(worker: Rc<Worker<N>>) {
    let mut last = WaitedTimeReading { at: worker.rt.now(), waited: worker.rt.waited_time() };
    loop {
        worker.rt.sleep_until(worker.rt.now() + MAINTENANCE_INTERVAL).await;
        let now = worker.rt.now();
        let reading = WaitedTimeReading { at: now, waited: worker.rt.waited_time() };
        worker.busy.set(busy_share(last, reading, worker.busy.get()));
        last = reading;
        worker.local.borrow().each_server(|pool, server| {
            // Of thousands of servers most have nothing here most of the time.
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
                // What is not used at once is in the way of other workers' requests.
                idle = idle.min(MAINTENANCE_INTERVAL);
            }
            let swept = server.idle_pool.borrow_mut().sweep(now, idle);
            server.http2_pool.sweep(&worker.rt);
            let view = server.view.borrow();
            let counters = &view.stats.slots[worker.index].counters;
            counters.stale.add(swept.stale);
            counters.retired.add(swept.retired);
        });
        worker.answer_eviction_requests();
        worker.spare.regain(&worker.rt.net);
        worker.log.borrow_mut().flush(&*worker.observer);
        worker.publish_refused();
    }
}
