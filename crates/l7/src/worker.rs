//! One worker: everything that its tasks share, and the care of shelves and log lines between them.
//!
//! It has no loop of its own: `plane` turns the runtime. It accepts nothing (`accept`) and serves nothing.

mod refused;
mod slow;
mod spare;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use model::admission::Holders;
use model::affinity::cookie::Secrets;
use model::attribute::WORDS;
use model::breaker::{Bound, clock};
use model::id::ServerId;
use model::live::Shared;
use model::live::ring::Ring;
use model::moment::Moment;
use model::pick::Rng;
use model::refused::{RefusedRequests, RefusedRing};
use model::snapshot::{Proofs, ServiceView, Snapshot};

use crate::account::{self, Ids, LogBatch, Record, Wall};
use crate::admission::Admission;
use crate::admission::eviction_requests::EvictionRequests;
use crate::buffers::{Buffers, COPY, Pipes, Scratch};
use crate::census::{Census, Counting};
use crate::local::{Local, LocalServer};
use crate::measured::Lot;
use crate::outside::{Outside, PlaneOptions};
use crate::ports::Ports;
use crate::quic::id::Tag;
use crate::rt::{Net, Rt};
use crate::said::Said;
use crate::seal::SealedScratch;
use spare::Spare;

/// Between two looks at the shelves and the log.
const CARE: Duration = Duration::from_millis(100);

/// Idle connections are closed this share of the drain limit after draining began, at most `IDLE_GRACE`: a request
/// that is on its way gets its answer.
const IDLE_SHARE: u32 = 4;
/// See `IDLE_SHARE`.
const IDLE_GRACE: Duration = Duration::from_secs(2);

/// What others may read of a worker while it runs.
#[derive(Clone, Default)]
pub struct Published {
    /// What is open.
    pub census: Arc<Census>,
    /// Source ports in use.
    pub ports: Ports,
    /// Client connections over all workers.
    pub all_open: Arc<Shared>,
    /// Whose they are.
    pub holders: Arc<Holders>,
    /// What workers tell each other at limits.
    pub eviction_requests: Arc<EvictionRequests>,
    /// Workers that have given up the descriptors that they keep back.
    pub spare_missing: Arc<Shared>,
    /// Exchanges that were measured.
    pub measured: Arc<Ring<WORDS>>,
    /// The last refused requests of all workers.
    pub refused: Arc<RefusedRequests>,
}

/// What the tasks of one worker share.
pub struct Worker<N: Net> {
    /// Its runtime.
    pub rt: Rc<Rt<N>>,
    /// Its number: its slot in the live counters.
    pub index: usize,
    /// Options of the plane.
    pub options: Arc<PlaneOptions>,
    /// Services and pools.
    pub local: RefCell<Local<N>>,
    /// Read into and composed in, never across a wait.
    pub scratch: RefCell<Scratch>,
    /// The same for connections under TLS, within one read or write.
    pub sealed: Rc<RefCell<SealedScratch>>,
    /// Buffers to lend.
    pub buffers: Buffers,
    /// Pipes to lend.
    pub pipes: Pipes<N>,
    /// Draws for choosers.
    pub rng: RefCell<Rng>,
    /// Who hears what we see.
    pub outside: Arc<dyn Outside>,
    /// Source ports in use.
    pub ports: Ports,
    /// What is open.
    pub census: Counting,
    /// Which exchanges are measured.
    pub lot: Lot,
    /// Those that were.
    pub measured: Arc<Ring<WORDS>>,
    /// Refused requests that the others have not got yet.
    refused: RefCell<RefusedRing>,
    /// The last refused requests of all workers.
    all_refused: Arc<RefusedRequests>,
    /// Makes ids of exchanges.
    pub ids: Ids,
    /// The places of this worker's.
    pub admission: Rc<Admission>,
    /// What workers tell each other at limits.
    pub eviction_requests: Arc<EvictionRequests>,
    /// Clients of this worker that wait for a place.
    pub waiting: Cell<u32>,
    /// What authorities ask for to see that names are ours.
    pub proofs: RefCell<Option<Arc<Proofs>>>,
    /// What words of our cookies are made with.
    pub cookie_secrets: RefCell<Arc<Secrets>>,
    /// Every connection ends after what it is doing.
    pub draining: Cell<bool>,
    /// While draining: idle connections end at this moment.
    pub idle_until: Cell<Moment>,
    /// Clients beyond a limit that are being told so.
    pub refusing: Cell<u32>,
    /// Copies of requests under way.
    pub mirroring: Cell<u32>,
    /// Connections to servers that wait for their server to close.
    pub parting: Cell<u32>,
    /// Answers being compressed.
    pub coding: Rc<Cell<u32>>,
    /// The share of the last moments in which it had something to do, percent.
    pub busy: Cell<u8>,
    /// The newest endpoint of QUIC at each address.
    pub endpoints: RefCell<HashMap<SocketAddr, Tag>>,
    /// Descriptors given up when there are none left, so that a client can be told.
    pub spare: Spare<N>,
    wall: Wall,
    log: RefCell<LogBatch>,
}

impl<N: Net> Worker<N> {
    /// A worker without services. `seed` differs between workers and starts; `wall` tells the time of day.
    pub fn new(
        net: N,
        index: usize,
        seed: u64,
        wall: Wall,
        options: Arc<PlaneOptions>,
        outside: Arc<dyn Outside>,
        shared: Published,
    ) -> Rc<Worker<N>> {
        let all = (shared.all_open.clone(), options.connections);
        let census = shared.census.clone();
        let admission =
            Admission::new(shared.holders, all, census, shared.eviction_requests.clone(), index);
        let spare = Spare::new(&net, shared.spare_missing);
        let worker = Rc::new(Worker {
            rt: Rc::new(Rt::new(net)),
            index,
            local: RefCell::new(Local::new(seed)),
            scratch: RefCell::new(Scratch::new(COPY)),
            sealed: Rc::default(),
            buffers: Buffers::default(),
            pipes: Pipes::default(),
            rng: RefCell::new(Rng::new(seed)),
            outside,
            ports: shared.ports,
            census: Counting(shared.census),
            lot: Lot::new(options.sample),
            measured: shared.measured,
            refused: RefCell::default(),
            all_refused: shared.refused,
            ids: Ids::new(index, wall.origin_nanos / 1000),
            wall,
            admission: Rc::new(admission),
            eviction_requests: shared.eviction_requests,
            waiting: Cell::default(),
            proofs: RefCell::default(),
            cookie_secrets: RefCell::default(),
            draining: Cell::new(false),
            idle_until: Cell::new(Moment::NEVER),
            refusing: Cell::new(0),
            mirroring: Cell::new(0),
            parting: Cell::new(0),
            coding: Rc::default(),
            busy: Cell::default(),
            endpoints: RefCell::default(),
            spare,
            log: RefCell::new(LogBatch::default()),
            options,
        });
        worker.rt.spawn(care(worker.clone()));
        worker
    }

    /// Moves to a snapshot.
    pub fn install(&self, snapshot: &Snapshot) {
        let now = self.rt.now();
        self.proofs.replace(snapshot.proofs.clone());
        self.cookie_secrets.replace(snapshot.cookie_secrets.clone());
        let installed = self.local.borrow_mut().install(snapshot, now);
        if installed.service_gone {
            self.idle_until.set(now + IDLE_GRACE);
        }
        if installed.service_gone || installed.server_fell {
            self.rt.wake_all();
        }
    }

    /// Lets every connection end after what it is doing, and cuts what is left after `limit`.
    pub fn drain(&self, limit: Duration) {
        let now = self.rt.look();
        self.draining.set(true);
        self.idle_until.set(now + (limit / IDLE_SHARE).min(IDLE_GRACE));
        for service in self.local.borrow().services.values() {
            service.cut_at.set(service.cut_at.get().min(now + limit));
        }
        self.rt.wake_all();
    }

    /// Lets everything look whether its server's connections were ordered to be cut, and closes the idle ones.
    pub fn cut(&self, id: ServerId) {
        self.local.borrow().each_server(|_, server| {
            if server.id == id {
                server.clear();
            }
        });
        self.rt.wake_all();
    }

    /// Gives up silent or stalled connections where any worker has met a limit.
    pub fn gives_places(&self) {
        self.admission.give_places(&self.rt, |id| {
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
        self.log.borrow_mut().flush(&*self.outside);
        self.bring_refused();
        self.rt.clear();
    }

    /// Closes the account of an exchange: histograms, counters, log. `server`: that of the last attempt.
    pub fn close(
        &self,
        view: &ServiceView,
        server: Option<&LocalServer<N>>,
        record: &mut Record,
        said: &Said,
    ) {
        record.close(self.rt.now());
        let server = server.map(|server| (&server.pool, server.view.borrow()));
        let slot = &view.live.slots[self.index];
        let of_server = server.as_ref().map(|(_, server)| &server.live.slots[self.index]);
        account::close(record, slot, of_server);
        account::met(record, view, self.index, said.client.ip());
        let slow = self.hand_over(view, record, said.client);
        let names = account::Names {
            service: &view.config.name,
            server: server
                .as_ref()
                .map(|(pool, server)| (pool.as_str(), server.config.name.as_str())),
            client: said.client,
            protocol: said.protocol,
            method: said.method,
            target: said.target,
            offence: said.offence,
            slow,
        };
        self.keep_refused(record, &names);
        let access = &self.options.access;
        if !access.enabled || !(access.all || record.cause.is_some()) {
            return;
        }
        record.id(&self.ids);
        self.log.borrow_mut().add(&*self.outside, &view.live, self.index, |out| {
            account::line(record, &names, access.format, self.wall, out);
        });
    }
}

/// The busy share of the time between two looks, percent, evened out with the one before.
fn busy(
    (from, waited_then): (Moment, Duration),
    (to, waited): (Moment, Duration),
    before: u8,
) -> u8 {
    let span = to.since(from).as_micros().max(1);
    let idle = waited.saturating_sub(waited_then).as_micros().min(span);
    let now = 100 - u8::try_from(100 * idle / span).unwrap_or(100);
    // At the end of a full rise it is full: rounded up.
    (before + now).div_ceil(2)
}

async fn care<N: Net>(worker: Rc<Worker<N>>) {
    let mut looked = (worker.rt.now(), worker.rt.waited());
    loop {
        worker.rt.sleep_until(worker.rt.now() + CARE).await;
        let now = worker.rt.now();
        worker.busy.set(busy(looked, (now, worker.rt.waited()), worker.busy.get()));
        looked = (now, worker.rt.waited());
        worker.local.borrow().each_server(|pool, server| {
            // Of thousands of servers most have nothing here most of the time.
            if server.shelf.borrow().is_empty() && server.mux.is_empty() {
                return;
            }
            let mut idle = pool.config.timeout.idle;
            if pool.live.breakers.of(Bound::Connections).state(clock(worker.rt.now())).is_open() {
                // What is not used at once is in the way of other workers' requests.
                idle = idle.min(CARE);
            }
            let swept = server.shelf.borrow_mut().sweep(now, idle);
            server.mux.sweep(&worker.rt);
            let view = server.view.borrow();
            let counters = &view.live.slots[worker.index].counters;
            counters.stale.add(swept.stale);
            counters.retired.add(swept.retired);
        });
        worker.gives_places();
        worker.spare.regain(&worker.rt.net);
        worker.log.borrow_mut().flush(&*worker.outside);
        worker.bring_refused();
    }
}
