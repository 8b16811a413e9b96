//! A worker in a simulation: the world around it, listeners for clients, and the checks after every turn.
//!
//! Peers are scripts in other modules.

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use model::cause::Cause;
use model::config::{AccessLogFormat, PoolConfig, ServerEndpoint, ServiceConfig};
use model::id::{PoolId, ServiceId};
use model::snapshot::{ServerView, WorkerSnapshot};
use model::time_attribution::{ExchangeMeasurement, ExchangePhases, WaitReason, attribute_time};

use super::net::SimNet;
use super::world::{PeerFactory, ScriptedPeer};
use crate::accounting::WallOrigin;
use crate::accounting::observer::{
    AccessLogOptions, PlaneObservation, PlaneObserver, PlaneOptions,
};
use crate::downstream::accept::{self, ListenerMode};
use crate::simulation::fixture;
use crate::worker::{SharedWorkerState, Worker};

/// Virtual time in which every scenario must have ended.
pub const STORY_TIMEOUT: Duration = Duration::from_secs(600);

/// The longest turn of `until`: conditions are looked at that often.
const LONGEST_TURN: Duration = Duration::from_millis(100);

/// Most bytes that flows may buffer for one connection.
const HELD: u64 = 64 * 1024;

struct NonReadingPeer;

impl PlaneObserver for NonReadingPeer {
    fn observe(&self, _: PlaneObservation) {}

    fn log(&self, _: Vec<u8>) -> bool {
        true
    }
}

/// A worker and its world.
pub struct WorkerHarness {
    pub sim: SimNet,
    pub worker: Rc<Worker<SimNet>>,
    /// The snapshot that was installed last.
    pub snapshot: RefCell<Arc<WorkerSnapshot>>,
    published: SharedWorkerState,
    seed: u64,
}

/// A listener of the worker.
pub struct SimListener {
    listener: usize,
    /// The requested mode of the listener.
    pub wanted: Rc<Cell<ListenerMode>>,
}

pub fn addresses(count: u16) -> Vec<SocketAddr> {
    (1..=count).map(|n| SocketAddr::from(([10, 0, 0, 1], 9000 + n))).collect()
}

/// A snapshot of one service and one pool, after changes to their settings.
pub fn setting(
    servers: &[SocketAddr],
    service: impl FnOnce(&mut ServiceConfig),
    pool: impl FnOnce(&mut PoolConfig),
    each: impl Fn(&mut ServerView),
) -> WorkerSnapshot {
    let mut snapshot = fixture::snapshot(servers);
    let view = snapshot.services.get_mut(&ServiceId(0)).and_then(Arc::get_mut).unwrap();
    service(Arc::make_mut(&mut view.config));
    let view = snapshot.pools.get_mut(&PoolId(0)).and_then(Arc::get_mut).unwrap();
    pool(Arc::make_mut(&mut view.config));
    view.servers.iter_mut().for_each(each);
    snapshot
}

impl WorkerHarness {
    /// A worker with this snapshot installed, in a world with receive windows of `window` bytes.
    pub fn new(seed: u64, window: usize, snapshot: WorkerSnapshot) -> WorkerHarness {
        let sim = SimNet::new(seed ^ 0x5EED, window);
        let options = PlaneOptions {
            traces: false,
            sample: Some(2),
            workers: 1,
            pin: false,
            connections: 1000,
            access: AccessLogOptions {
                all: true,
                sample: None,
                format: AccessLogFormat::Json,
                fields: Vec::new(),
                enabled: true,
            },
            node: "sim".into(),
            utc_offset: |_| 0,
        };
        let wall = WallOrigin { origin_nanos: 1_700_000_000_000_000_000 };
        let published = SharedWorkerState::default();
        let worker = Worker::new(
            sim.clone(),
            0,
            seed,
            wall,
            Arc::new(options),
            Arc::new(NonReadingPeer),
            published.clone(),
        );
        worker.install(&snapshot);
        let snapshot = RefCell::new(Arc::new(snapshot));
        WorkerHarness { sim, worker, snapshot, published, seed }
    }

    /// Starts servers at an address.
    pub fn serve<P: ScriptedPeer + 'static>(
        &self,
        at: impl Into<ServerEndpoint>,
        mut make: impl FnMut() -> P + 'static,
    ) {
        let spawn: PeerFactory = Box::new(move || Some(Box::new(make())));
        self.sim.serve(at, spawn);
    }

    /// Opens a service's listener.
    pub fn open(&self, service: ServiceId) -> SimListener {
        let sock = self.sim.listener();
        let listener = sock.id;
        let service = self.worker.local.borrow().services[&service].clone();
        let local = SocketAddr::from(([192, 0, 2, 80], 80));
        let wanted = Rc::new(Cell::new(ListenerMode::Accept));
        let story = accept::listen(self.worker.clone(), sock, local, service, wanted.clone());
        self.worker.rt.spawn(story);
        SimListener { listener, wanted }
    }

    /// Client number `n` connects to a listener after a delay.
    pub fn client(
        &self,
        door: &SimListener,
        n: u64,
        delay: Duration,
        peer: impl ScriptedPeer + 'static,
    ) {
        let from = SocketAddr::from(([192, 0, 2, 1], 10_000 + n as u16));
        self.sim.client(door.listener, from, delay, Box::new(peer));
    }

    /// Installs another snapshot in the worker.
    pub fn install(&self, snapshot: WorkerSnapshot) {
        self.worker.install(&snapshot);
        *self.snapshot.borrow_mut() = Arc::new(snapshot);
    }

    /// Runs one turn, and checks the invariants after it.
    pub fn turn(&self, most: Option<Duration>) {
        self.worker.rt.turn(most).unwrap();
        let gauges = &self.published.gauges;
        let held = gauges.held_bytes.get();
        let open = gauges.connections.get();
        // Each stream of an HTTP/2 connection has its own buffers.
        let services = self.snapshot.borrow();
        let exchanges: u32 = services.services.values().map(|one| one.stats.in_flight.get()).sum();
        drop(services);
        let most = HELD * u64::from(open.max(exchanges));
        assert!(held <= most, "seed {}: {held} bytes held for {open} clients", self.seed);
        assert_eq!(open, self.published.all_open.get(), "seed {}: open connections", self.seed);
        for server in self.snapshot.borrow().pools.values().flat_map(|pool| &pool.servers) {
            let cap = server.config.connections;
            let now = server.stats.in_flight.get();
            assert!(
                cap.is_none_or(|cap| now <= cap),
                "seed {}: {now} in flight at {}",
                self.seed,
                server.config.name
            );
        }
        while let Some(words) = self.published.samples.pop() {
            self.sums(&ExchangeMeasurement::from_words(&words));
        }
    }

    /// Checks a measurement: phases and waits do not overlap, and all of the time is attributed.
    fn sums(&self, facts: &ExchangeMeasurement) {
        let ExchangePhases { accept, tls, head, queue, connect, .. } = facts.phases;
        let waited: u64 = WaitReason::ALL.iter().map(|whom| facts.wait_times.total(*whom)).sum();
        let sum = accept + tls + head + queue + connect + waited;
        assert!(sum <= facts.total, "seed {}: {sum} of {}: {facts:?}", self.seed, facts.total);
        assert_eq!(attribute_time(facts).total(), facts.total, "seed {}: {facts:?}", self.seed);
    }

    pub fn until(&self, done: impl Fn() -> bool) {
        let end = self.worker.rt.now() + STORY_TIMEOUT;
        while !done() {
            // A worker without deadlines would sleep past everything that the caller waits for.
            self.turn(Some(LONGEST_TURN));
            assert!(self.worker.rt.now() < end, "seed {}: stories did not end", self.seed);
        }
    }

    /// Runs turns for a while, and calls `look` after each.
    pub fn pass(&self, span: Duration, mut look: impl FnMut(&WorkerHarness)) {
        let end = self.worker.rt.update_now() + span;
        while self.worker.rt.update_now() < end {
            self.turn(Some(end.since(self.worker.rt.now())));
            look(self);
        }
    }

    /// Number of open client connections.
    pub fn connections(&self) -> u32 {
        self.published.gauges.connections.get()
    }

    /// Number of tasks that wait for a server of the first service below its cap.
    pub fn waiting(&self) -> usize {
        let local = self.worker.local.borrow();
        local.services.get(&ServiceId(0)).map_or(0, |service| service.pool.borrow().queue.len())
    }

    /// Number of free slots at servers with a cap.
    pub fn free_slots(&self) -> u32 {
        let snapshot = self.snapshot.borrow();
        let servers = snapshot.pools.values().flat_map(|pool| &pool.servers);
        let free = |server: &ServerView| {
            server
                .config
                .connections
                .map_or(0, |cap| cap.saturating_sub(server.stats.in_flight.get()))
        };
        servers.map(free).sum()
    }

    /// How often a cause was counted, over all services.
    pub fn cause_count(&self, cause: Cause) -> u64 {
        let snapshot = self.snapshot.borrow();
        let services = snapshot.services.values();
        services.map(|view| view.stats.slots[0].causes[cause as usize].get()).sum()
    }

    /// Every cause counted so far over all services, repeated as often as it was counted.
    pub fn causes(&self) -> Vec<Cause> {
        let times = |cause: &Cause| std::iter::repeat_n(*cause, self.cause_count(*cause) as usize);
        Cause::ALL.iter().flat_map(times).collect()
    }

    /// Number of client connections without an exchange.
    pub fn idle(&self) -> u32 {
        self.published.gauges.idle.get()
    }

    /// Ends the worker, and checks that every record is closed and every sum is consistent.
    pub fn finish(self) {
        let WorkerHarness { worker, snapshot, published, seed, .. } = self;
        worker.leave();
        // Idle connections close with the worker.
        drop(worker);
        let snapshot = snapshot.into_inner();
        for service in snapshot.services.values() {
            let c = &service.stats.slots[0].counters;
            let ended = c.answered.get() + c.answered_by_us.get() + c.aborted.get();
            assert_eq!(c.requests.get(), ended, "seed {seed}: the sums do not add up");
            assert_eq!(c.accepted.get(), c.closed.get(), "seed {seed}: connections");
            assert_eq!(service.stats.in_flight.get(), 0, "seed {seed}: in flight");
            let causes: u64 = service.stats.slots[0].causes.iter().map(|count| count.get()).sum();
            assert_eq!(causes, c.answered_by_us.get() + c.aborted.get(), "seed {seed}: causes");
        }
        for server in snapshot.pools.values().flat_map(|pool| &pool.servers) {
            let live = &server.stats;
            let name = &server.config.name;
            assert_eq!(live.in_flight.get(), 0, "seed {seed}: in flight at {name}");
            assert_eq!(live.connections.get(), 0, "seed {seed}: connections of {name}");
        }
        assert_eq!(published.gauges.held_bytes.get(), 0, "seed {seed}: bytes are still held");
        assert_eq!(
            published.gauges.connections.get(),
            0,
            "seed {seed}: clients are still connected"
        );
    }
}

/// The seeds to run: the one in the environment, or `count` from 1 on. The environment may also raise the number.
pub fn seeds(count: u64) -> impl Iterator<Item = u64> {
    let one = std::env::var("STEELYARD_SEED").ok().and_then(|seed| seed.parse().ok());
    let count = std::env::var("STEELYARD_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(count);
    match one {
        Some(seed) => seed..seed + 1,
        None => 1..1 + count,
    }
}
