//! The data plane from its owner's perspective: worker threads and commands to them.
//!
//! Commands are closures that a worker runs between turns. The plane opens no sockets and reads no configuration: its
//! owner passes in listeners and snapshots.

mod command_queue;
mod host;
mod listener;
mod open_counts;

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use model::admission::ClientConnectionCounts;
use model::id::{ListenerId, ServerId, ServiceId};
use model::monotonic_time::MonotonicTime;
use model::refused_requests::RefusedRequestLog;
use model::snapshot::WorkerSnapshot;
use model::stats::SharedGauge;
use model::stats::ring::SpscRing;
use model::time_attribution::WORDS;

use crate::accounting::WallOrigin;
use crate::accounting::observer::{PlaneObserver, PlaneOptions};
use crate::conn::ports::{
    PathUsage, PortPath, PortTotals, TimeWaitPorts, UsedPortPath, WorkerPorts,
};
use crate::conn::stream::ProxyStream;
use crate::downstream::accept::ListenerMode;
use crate::rt::Readiness;
use crate::rt::epoll::Epoll;
use crate::rt::reserved_descriptors::ReservedDescriptors;
use crate::rt::socket;
use crate::worker::admission::eviction_requests::{EvictionRequests, WorkerWaker};
use crate::worker::authentication::password_checks::{PasswordChecks, WorkerTaskWaker};
use crate::worker::{SharedWorkerState, Worker};
use command_queue::{CommandQueue, WorkerListeners};
use host::{pin, port_range};
use listener::open_listener;
pub use open_counts::{OpenCounts, PortUse};

pub struct RequestPlane {
    workers: Vec<WorkerHandle>,
    ports: Arc<PortTotals>,
    origin: Instant,
}

struct WorkerHandle {
    mailbox: Arc<CommandQueue>,
    published: SharedWorkerState,
    thread: Option<JoinHandle<()>>,
}

/// Why the plane could not start.
#[derive(Debug, thiserror::Error)]
pub enum PlaneStartError {
    /// The number of workers is 0.
    #[error("a request plane needs at least one worker")]
    NoWorkers,
    /// A worker's epoll or eventfd could not be created, or its thread not started.
    #[error("worker {worker} could not start: {source}")]
    Worker {
        worker: usize,
        #[source]
        source: io::Error,
    },
}

impl RequestPlane {
    /// Starts the workers.
    ///
    /// # Errors
    /// The kernel cannot create an epoll, an eventfd or a thread.
    pub fn start(
        options: PlaneOptions,
        outside: Arc<dyn PlaneObserver>,
    ) -> Result<RequestPlane, PlaneStartError> {
        if options.workers == 0 {
            return Err(PlaneStartError::NoWorkers);
        }
        let options = Arc::new(options);
        let origin = Instant::now();
        let kept = ReservedDescriptors::for_this_process();
        let all_open = Arc::new(SharedGauge::default());
        let holders = Arc::new(ClientConnectionCounts::default());
        let eviction_requests = Arc::new(EvictionRequests::new(options.workers));
        let spare_missing = Arc::new(SharedGauge::default());
        let refused = Arc::new(RefusedRequestLog::default());
        let password_checks = Arc::new(PasswordChecks::default());
        let ports = Arc::new(PortTotals::new(port_range(), outside.clone()));
        let started =
            SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64;
        let mut seats = Vec::new();
        for index in 0..options.workers {
            let failed = |source| PlaneStartError::Worker { worker: index, source };
            let start = WorkerSetup {
                index,
                seed: crate::rt::random::number(),
                wall: WallOrigin { origin_nanos: started },
                options: options.clone(),
                observer: outside.clone(),
                published: SharedWorkerState {
                    all_open: all_open.clone(),
                    holders: holders.clone(),
                    eviction_requests: eviction_requests.clone(),
                    ports: WorkerPorts::new(ports.clone()),
                    spare_missing: spare_missing.clone(),
                    refused_requests: refused.clone(),
                    password_checks: password_checks.clone(),
                    ..SharedWorkerState::default()
                },
                origin,
                reserved_descriptors: kept,
            };
            seats.push(WorkerHandle::start(start).map_err(failed)?);
        }
        eviction_requests.set_wakers(seats.iter().map(WorkerHandle::eviction_waker).collect());
        password_checks.set_wakers(seats.iter().map(WorkerHandle::task_waker).collect());
        Ok(RequestPlane { workers: seats, ports, origin })
    }

    /// The number of workers.
    pub fn workers(&self) -> usize {
        self.workers.len()
    }

    /// Activates a snapshot; `installed_version` shows when every worker has it.
    pub fn install(&self, snapshot: Arc<WorkerSnapshot>) {
        for handle in &self.workers {
            let snapshot = snapshot.clone();
            let mailbox = handle.mailbox.clone();
            handle.send_command(move |worker, _| {
                worker.install(&snapshot);
                // Release pairs with the Acquire load of `installed_version`: its reader also sees what `install`
                // changed.
                mailbox.installed.store(snapshot.version, Ordering::Release);
            });
        }
    }

    /// The lowest version that is active in every worker.
    pub fn installed_version(&self) -> u64 {
        self.workers
            .iter()
            .map(|handle| handle.mailbox.installed.load(Ordering::Acquire))
            .min()
            .unwrap_or(0)
    }

    /// Starts to accept connections for a service, whose snapshot must be installed. For each kind of socket (TCP, and
    /// UDP for QUIC), socket i goes to worker i modulo the number of workers.
    pub fn listen(&self, id: ListenerId, service: ServiceId, sockets: Vec<Arc<OwnedFd>>) {
        let (packets, connections): (Vec<_>, Vec<_>) =
            sockets.into_iter().partition(|socket| socket::takes_packets(socket.as_fd()));
        for sockets in [connections, packets] {
            for (i, socket) in sockets.into_iter().enumerate() {
                let handle = &self.workers[i % self.workers.len()];
                handle.send_command(move |worker, listeners| {
                    open_listener(worker, listeners, id, service, socket)
                });
            }
        }
    }

    /// Stops accepting. `accept_rest`: first accepts the established connections; false if another process continues
    /// with the sockets.
    pub fn unlisten(&self, id: ListenerId, accept_rest: bool) {
        let wanted = if accept_rest { ListenerMode::Finish } else { ListenerMode::Drop };
        for handle in &self.workers {
            handle.send_command(move |worker, listeners| {
                for listening in listeners.remove(&id).unwrap_or_default() {
                    listening.mode.set(wanted);
                    worker.rt.wake(listening.task);
                }
            });
        }
    }

    /// Closes every connection after its current exchange, and resets the remaining ones after `limit`.
    pub fn drain(&self, limit: Duration) {
        for handle in &self.workers {
            handle.send_command(move |worker, _| worker.drain(limit));
        }
    }

    /// Resets the exchanges of a server whose abort count has risen, and closes its idle connections, at once.
    pub fn abort_server(&self, server: ServerId) {
        for handle in &self.workers {
            handle.send_command(move |worker, _| worker.abort_server(server));
        }
    }

    /// The open connections and exchanges over all workers.
    pub fn open_counts(&self) -> OpenCounts {
        self.open_counts_by_worker().into_iter().fold(OpenCounts::default(), |sum, one| {
            OpenCounts {
                connections: sum.connections + one.connections,
                exchanges: sum.exchanges + one.exchanges,
                tunnels: sum.tunnels + one.tunnels,
                idle: sum.idle + one.idle,
                held_bytes: sum.held_bytes + one.held_bytes,
                piped_bytes: sum.piped_bytes + one.piped_bytes,
                now: MonotonicTime(0) + self.origin.elapsed(),
            }
        })
    }

    /// The open connections and exchanges of each worker.
    pub fn open_counts_by_worker(&self) -> Vec<OpenCounts> {
        self.workers
            .iter()
            .map(|handle| OpenCounts {
                connections: handle.published.gauges.connections.get(),
                exchanges: handle.published.gauges.exchanges.get(),
                tunnels: handle.published.gauges.tunnels.get(),
                idle: handle.published.gauges.idle.get(),
                held_bytes: handle.published.gauges.held_bytes.get(),
                piped_bytes: handle.published.gauges.piped_bytes.get(),
                ..OpenCounts::default()
            })
            .collect()
    }

    /// The rings with the workers' exchange measurements. A ring has one consumer.
    pub fn take_samples(&self) -> Vec<Arc<SpscRing<WORDS>>> {
        self.workers.iter().map(|handle| handle.published.samples.clone()).collect()
    }

    /// The latest refused requests of all workers.
    pub fn refused_requests(&self) -> Arc<RefusedRequestLog> {
        self.workers
            .first()
            .map(|handle| handle.published.refused_requests.clone())
            .unwrap_or_default()
    }

    /// Source ports in use, over all workers.
    pub fn port_usage(&self) -> Vec<PortUse> {
        let mut sum: HashMap<_, PathUsage> = HashMap::new();
        for handle in &self.workers {
            for UsedPortPath { path, usage: used } in handle.published.ports.all() {
                let entry = sum.entry(path).or_default();
                entry.open += used.open;
                entry.exhausted += used.exhausted;
                entry.time_wait = used.time_wait;
            }
        }
        let mut all: Vec<PortUse> = sum
            .into_iter()
            .map(|(PortPath { source, destination }, used)| {
                let in_use = used.open.saturating_add(used.time_wait);
                PortUse {
                    source,
                    destination,
                    in_use,
                    resting: used.time_wait,
                    left: self.ports.range().saturating_sub(in_use),
                    exhausted: used.exhausted,
                }
            })
            .collect();
        all.sort_by_key(|port| (port.destination, port.source));
        all
    }

    /// Updates the numbers of source ports in TIME_WAIT.
    pub fn set_time_wait(&self, resting: &TimeWaitPorts) {
        self.ports.set_time_wait(resting);
        self.workers.iter().for_each(|handle| handle.published.ports.forget_idle());
    }

    /// Stops the workers and everything that is still open; returns the counts of that.
    pub fn stop(mut self) -> OpenCounts {
        let left = self.open_counts();
        for handle in &self.workers {
            handle.published.password_checks.stop();
            // Release pairs with the Acquire load of the worker's loop.
            handle.mailbox.stop.store(true, Ordering::Release);
            handle.mailbox.wake();
        }
        for handle in &mut self.workers {
            if let Some(thread) = handle.thread.take() {
                // A worker that panicked has nothing left to stop.
                let _ = thread.join();
            }
        }
        left
    }
}

impl WorkerHandle {
    fn start(start: WorkerSetup) -> io::Result<WorkerHandle> {
        let mailbox = Arc::new(CommandQueue::new()?);
        let wake_event = mailbox.wake_descriptor()?;
        let poll = Epoll::descriptor()?;
        let inbox = mailbox.clone();
        let published = start.published.clone();
        let thread = std::thread::Builder::new()
            .name(format!("worker-{}", start.index))
            .spawn(move || run_worker(start, poll, inbox, wake_event))?;
        Ok(WorkerHandle { mailbox, published, thread: Some(thread) })
    }

    /// Wakes the worker to evict connections for limits that other workers have reached.
    fn eviction_waker(&self) -> WorkerWaker {
        let mailbox = self.mailbox.clone();
        Box::new(move || mailbox.send(|worker, _| worker.answer_eviction_requests()))
    }

    /// Wakes a task of the worker.
    fn task_waker(&self) -> WorkerTaskWaker {
        let mailbox = self.mailbox.clone();
        Box::new(move |task| mailbox.send(move |worker, _| worker.rt.wake(task)))
    }

    fn send_command(
        &self,
        order: impl FnOnce(&Rc<Worker<Epoll>>, &mut WorkerListeners) + Send + 'static,
    ) {
        self.mailbox.send(order);
    }
}

struct WorkerSetup {
    index: usize,
    seed: u64,
    wall: WallOrigin,
    options: Arc<PlaneOptions>,
    observer: Arc<dyn PlaneObserver>,
    published: SharedWorkerState,
    origin: Instant,
    reserved_descriptors: ReservedDescriptors,
}

fn run_worker(start: WorkerSetup, poll: OwnedFd, mailbox: Arc<CommandQueue>, wake_event: OwnedFd) {
    if start.options.pin {
        pin(start.index);
    }
    let worker = Worker::new(
        Epoll::new(poll, start.origin, start.reserved_descriptors),
        start.index,
        start.seed,
        start.wall,
        start.options,
        start.observer,
        start.published,
    );
    let inbox = mailbox.clone();
    worker.rt.spawn(run_commands(worker.clone(), inbox, wake_event));
    while !mailbox.stop.load(Ordering::Acquire) {
        match worker.rt.turn(None) {
            Ok(true) => worker.observer.turn_ended(),
            Ok(false) => {}
            // epoll_wait fails only for an invalid descriptor or invalid memory: the worker cannot continue.
            Err(_) => break,
        }
    }
    worker.leave();
}

/// Runs commands as they arrive.
async fn run_commands(worker: Rc<Worker<Epoll>>, mailbox: Arc<CommandQueue>, wake_event: OwnedFd) {
    let mut listeners = WorkerListeners::new();
    let Ok(wake_event) = ProxyStream::<Epoll>::new(&worker.rt, wake_event.into(), false) else {
        return;
    };
    loop {
        // Edge-triggered: every write causes a new event, so the counter need not be read.
        wake_event.source().clear(Readiness::READ);
        let orders = mailbox.take_commands();
        if orders.is_empty() {
            // An eventfd reports no error, so only a new command ends the wait.
            let _ = wake_event.readable(model::monotonic_time::MonotonicTime::NEVER).await;
        }
        for order in orders {
            order(&worker, &mut listeners);
        }
    }
}
