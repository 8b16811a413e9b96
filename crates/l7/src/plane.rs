//! The request plane as its owner sees it: worker threads and orders to them.
//!
//! Orders are closures that a worker runs between turns. The plane opens no sockets and reads no configuration: it
//! is given listeners and snapshots.

mod figures;
mod host;
mod mailbox;

use std::cell::Cell;
use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use model::admission::Holders;
use model::attribute::WORDS;
use model::id::{ListenerId, ServerId, ServiceId};
use model::live::Shared;
use model::live::ring::Ring;
use model::moment::Moment;
use model::refused::RefusedRequests;
use model::snapshot::Snapshot;

use crate::accept::{self, Listening, Wanted};
use crate::account::Wall;
use crate::admission::eviction_requests::{EvictionRequests, WorkerWaker};
use crate::http3::serve;
use crate::kept::Kept;
use crate::outside::{Outside, PlaneOptions};
use crate::ports::{AllPorts, Ports, Resting, Use};
use crate::quic::endpoint;
use crate::rt::epoll::Epoll;
use crate::rt::{Net, Readiness};
use crate::socket;
use crate::stream::Stream;
use crate::worker::{Published, Worker};
pub use figures::{Open, PortUse};
use host::{pin, port_range};
use mailbox::{Listeners, Mailbox};

/// The running workers.
pub struct Plane {
    seats: Vec<Seat>,
    ports: Arc<AllPorts>,
    origin: Instant,
}

struct Seat {
    mailbox: Arc<Mailbox>,
    published: Published,
    thread: Option<JoinHandle<()>>,
}

/// Why the plane could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// No worker was asked for.
    #[error("a request plane needs at least one worker")]
    NoWorkers,
    /// A worker's epoll or its bell could not be made, or its thread not started.
    #[error("worker {worker} could not start: {source}")]
    Worker {
        /// Which.
        worker: usize,
        /// Why.
        #[source]
        source: io::Error,
    },
}

impl Plane {
    /// Starts the workers.
    ///
    /// # Errors
    /// When the kernel gives no epoll, eventfd or thread.
    pub fn start(options: PlaneOptions, outside: Arc<dyn Outside>) -> Result<Plane, StartError> {
        if options.workers == 0 {
            return Err(StartError::NoWorkers);
        }
        let options = Arc::new(options);
        let (origin, kept) = (Instant::now(), Kept::of_this_process());
        let all_open = Arc::new(Shared::default());
        let (holders, eviction_requests) =
            (Arc::new(Holders::default()), Arc::new(EvictionRequests::new(options.workers)));
        let spare_missing = Arc::new(Shared::default());
        let refused = Arc::new(RefusedRequests::default());
        let ports = Arc::new(AllPorts::new(port_range(), outside.clone()));
        let started =
            SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64;
        let mut seats = Vec::new();
        for index in 0..options.workers {
            let failed = |source| StartError::Worker { worker: index, source };
            let start = Start {
                index,
                seed: crate::random::number(),
                wall: Wall { origin_nanos: started },
                options: options.clone(),
                outside: outside.clone(),
                published: Published {
                    all_open: all_open.clone(),
                    holders: holders.clone(),
                    eviction_requests: eviction_requests.clone(),
                    ports: Ports::of(ports.clone()),
                    spare_missing: spare_missing.clone(),
                    refused: refused.clone(),
                    ..Published::default()
                },
                origin,
                kept,
            };
            seats.push(Seat::start(start).map_err(failed)?);
        }
        eviction_requests.set_wakers(seats.iter().map(Seat::eviction_waker).collect());
        Ok(Plane { seats, ports, origin })
    }

    /// How many workers there are.
    pub fn workers(&self) -> usize {
        self.seats.len()
    }

    /// Puts a snapshot in force; `installed` tells when it is.
    pub fn install(&self, snapshot: Arc<Snapshot>) {
        for seat in &self.seats {
            let (snapshot, mailbox) = (snapshot.clone(), seat.mailbox.clone());
            seat.order(move |worker, _| {
                worker.install(&snapshot);
                mailbox.installed.store(snapshot.version, Ordering::Release);
            });
        }
    }

    /// The lowest version that is in force in every worker.
    pub fn installed(&self) -> u64 {
        self.seats
            .iter()
            .map(|seat| seat.mailbox.installed.load(Ordering::Acquire))
            .min()
            .unwrap_or(0)
    }

    /// Accepts for a service, whose snapshot must have been installed: of each kind (connections, and packets of QUIC)
    /// socket i goes to worker i modulo their number.
    pub fn listen(&self, id: ListenerId, service: ServiceId, sockets: Vec<OwnedFd>) {
        let (packets, connections): (Vec<_>, Vec<_>) =
            sockets.into_iter().partition(|socket| socket::takes_packets(socket.as_fd()));
        for sockets in [connections, packets] {
            for (i, socket) in sockets.into_iter().enumerate() {
                let seat = &self.seats[i % self.seats.len()];
                seat.order(move |worker, listeners| adopt(worker, listeners, id, service, socket));
            }
        }
    }

    /// Stops accepting. `accept_rest`: first takes what has been established; false when the sockets live on in
    /// another process.
    pub fn unlisten(&self, id: ListenerId, accept_rest: bool) {
        let wanted = if accept_rest { Wanted::Finish } else { Wanted::Drop };
        for seat in &self.seats {
            seat.order(move |worker, listeners| {
                for listening in listeners.remove(&id).unwrap_or_default() {
                    listening.wanted.set(wanted);
                    worker.rt.wake(listening.task);
                }
            });
        }
    }

    /// Lets every connection end after what it is doing; cuts what is left after `limit`.
    pub fn drain(&self, limit: Duration) {
        for seat in &self.seats {
            seat.order(move |worker, _| worker.drain(limit));
        }
    }

    /// Ends what is under way with a server whose `ServerLive::cuts` has risen, and what is kept idle, at once.
    pub fn cut(&self, server: ServerId) {
        for seat in &self.seats {
            seat.order(move |worker, _| worker.cut(server));
        }
    }

    /// What is open now.
    pub fn open(&self) -> Open {
        self.by_worker().into_iter().fold(Open::default(), |sum, one| Open {
            connections: sum.connections + one.connections,
            exchanges: sum.exchanges + one.exchanges,
            tunnels: sum.tunnels + one.tunnels,
            idle: sum.idle + one.idle,
            held_bytes: sum.held_bytes + one.held_bytes,
            piped_bytes: sum.piped_bytes + one.piped_bytes,
            now: Moment(0) + self.origin.elapsed(),
        })
    }

    /// What each worker has open.
    pub fn by_worker(&self) -> Vec<Open> {
        self.seats
            .iter()
            .map(|seat| Open {
                connections: seat.published.census.connections.get(),
                exchanges: seat.published.census.exchanges.get(),
                tunnels: seat.published.census.tunnels.get(),
                idle: seat.published.census.idle.get(),
                held_bytes: seat.published.census.held.get(),
                piped_bytes: seat.published.census.piped.get(),
                ..Open::default()
            })
            .collect()
    }

    /// Exchanges that the workers have measured; whoever takes them out is the only one.
    pub fn measured(&self) -> Vec<Arc<Ring<WORDS>>> {
        self.seats.iter().map(|seat| seat.published.measured.clone()).collect()
    }

    /// The last refused requests of all workers.
    pub fn refused(&self) -> Arc<RefusedRequests> {
        self.seats.first().map(|seat| seat.published.refused.clone()).unwrap_or_default()
    }

    /// Source ports in use over all workers.
    pub fn ports(&self) -> Vec<PortUse> {
        let mut sum: HashMap<_, Use> = HashMap::new();
        for seat in &self.seats {
            for (path, used) in seat.published.ports.all() {
                let entry = sum.entry(path).or_default();
                entry.open += used.open;
                entry.exhausted += used.exhausted;
                entry.resting = used.resting;
            }
        }
        let mut all: Vec<PortUse> = sum
            .into_iter()
            .map(|((source, destination), used)| {
                let in_use = used.open.saturating_add(used.resting);
                PortUse {
                    source,
                    destination,
                    in_use,
                    resting: used.resting,
                    left: self.ports.range().saturating_sub(in_use),
                    exhausted: used.exhausted,
                }
            })
            .collect();
        all.sort_by_key(|port| (port.destination, port.source));
        all
    }

    /// Takes up which source ports rest in TIME_WAIT now.
    pub fn rest(&self, resting: &Resting) {
        self.ports.rest(resting);
        self.seats.iter().for_each(|seat| seat.published.ports.tidy());
    }

    /// Ends the workers and whatever they still have open; returns what that was.
    pub fn stop(mut self) -> Open {
        let left = self.open();
        for seat in &self.seats {
            seat.mailbox.stop.store(true, Ordering::Release);
            seat.mailbox.ring();
        }
        for seat in &mut self.seats {
            if let Some(thread) = seat.thread.take() {
                // A worker that panicked has nothing left to end.
                let _ = thread.join();
            }
        }
        left
    }
}

impl Seat {
    fn start(start: Start) -> io::Result<Seat> {
        let mailbox = Arc::new(Mailbox::new()?);
        let bell = mailbox.bell()?;
        let poll = Epoll::descriptor()?;
        let (inbox, published) = (mailbox.clone(), start.published.clone());
        let thread = std::thread::Builder::new()
            .name(format!("worker-{}", start.index))
            .spawn(move || work(start, poll, inbox, bell))?;
        Ok(Seat { mailbox, published, thread: Some(thread) })
    }

    /// Has the worker look at the limits that others have met.
    fn eviction_waker(&self) -> WorkerWaker {
        let mailbox = self.mailbox.clone();
        Box::new(move || mailbox.post(|worker, _| worker.gives_places()))
    }

    fn order(&self, order: impl FnOnce(&Rc<Worker<Epoll>>, &mut Listeners) + Send + 'static) {
        self.mailbox.post(order);
    }
}

struct Start {
    index: usize,
    seed: u64,
    wall: Wall,
    options: Arc<PlaneOptions>,
    outside: Arc<dyn Outside>,
    published: Published,
    origin: Instant,
    kept: Kept,
}

/// A worker's thread.
fn work(start: Start, poll: OwnedFd, mailbox: Arc<Mailbox>, bell: OwnedFd) {
    if start.options.pin {
        pin(start.index);
    }
    let worker = Worker::new(
        Epoll::new(poll, start.origin, start.kept),
        start.index,
        start.seed,
        start.wall,
        start.options,
        start.outside,
        start.published,
    );
    let inbox = mailbox.clone();
    let follower = worker.clone();
    worker.rt.spawn(follow(follower, inbox, bell));
    while !mailbox.stop.load(Ordering::Acquire) {
        if worker.rt.turn(None).is_err() {
            // epoll_wait fails only for a descriptor or memory that is not ours any more: nothing can be served.
            break;
        }
    }
    worker.leave();
}

/// Carries out orders as they come.
async fn follow(worker: Rc<Worker<Epoll>>, mailbox: Arc<Mailbox>, bell: OwnedFd) {
    let mut listeners = Listeners::new();
    let Ok(bell) = Stream::<Epoll>::new(&worker.rt, bell, false) else { return };
    loop {
        // Edge-triggered: every ring is a new edge, so the counter need not be read.
        bell.source().clear(Readiness::READ);
        let orders = mailbox.take();
        if orders.is_empty() {
            let _ = bell.readable(model::moment::Moment::NEVER).await;
        }
        for order in orders {
            order(&worker, &mut listeners);
        }
    }
}

fn adopt(
    worker: &Rc<Worker<Epoll>>,
    listeners: &mut Listeners,
    id: ListenerId,
    service: ServiceId,
    socket: OwnedFd,
) {
    let Some(service) = worker.local.borrow().services.get(&service).cloned() else { return };
    let local =
        rustix::net::getsockname(&socket).ok().and_then(|name| SocketAddr::try_from(name).ok());
    let local = local.unwrap_or_else(|| SocketAddr::from(([0, 0, 0, 0], 0)));
    let packets = socket::takes_packets(socket.as_fd());
    let Ok(socket) = worker.rt.net.adopt(socket) else { return };
    let wanted = Rc::new(Cell::new(Wanted::Open));
    let (to, worker_) = (wanted.clone(), worker.clone());
    let task = if packets {
        worker.rt.spawn(endpoint::listen(worker_, socket, local, service, to, serve::start))
    } else {
        worker.rt.spawn(accept::listen(worker_, socket, local, service, to))
    };
    listeners.entry(id).or_default().push(Listening { wanted, task });
}
