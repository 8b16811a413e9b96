//! The thread that maintains the zone data: follows the snapshots, has the sockets that the configuration wants,
//! accepts connections.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use files::plain_error::plain_error_text;
use model::config::{Config, NameServerConfig};
use names::responder::DnsResponder;
use names::zone_data::ZoneData;
use names::zone_plan::ZonePlans;
use rustix::rand::{GetRandomFlags, getrandom};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::bind;
use super::connection_limit::{ClientConnectionLimit, ConnectionLimitError};
use super::shared::{DnsClockReading, NameServerState, clock_now};
use super::worker_mailbox::{WorkerMailbox, WorkerOrder};
use super::{tcp_connection, udp_worker};
use crate::state::{ControlHandle, StateSnapshot};
use crate::util::event::EventLog;

/// Between two tries for an address that is not had.
/// An address that appears is served within a second.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);
/// The pause after a failed accept, for example without descriptors. A tenth of a second prevents a busy loop.
const PAUSE: Duration = Duration::from_millis(100);

/// Follows snapshots until it is stopped.
pub(super) async fn run(
    control: ControlHandle,
    shared: Arc<NameServerState>,
    settle: watch::Sender<bool>,
    mut end: watch::Receiver<bool>,
) {
    let mut snapshots = control.watch();
    let mut life = NameServerTask::new(shared, control.events().clone());
    let mut alive = true;
    loop {
        let snapshot = snapshots.borrow_and_update().clone();
        life.apply_state(&snapshot);
        settle.send_replace(true);
        tokio::select! {
            changed = snapshots.changed(), if alive => alive = changed.is_ok(),
            () = tokio::time::sleep(RETRY_INTERVAL), if life.is_missing_address => {}
            Some(_) = life.accepting.join_next() => {}
            _ = end.wait_for(|end| *end) => break,
        }
    }
    life.shut_down().await;
}

/// The sockets of one address.
struct AddressSockets {
    udp: Vec<Arc<socket2::Socket>>,
    accept: tokio::task::AbortHandle,
}

/// A thread that answers over UDP.
struct UdpWorkerThread {
    mailbox: Arc<WorkerMailbox>,
    thread: std::thread::JoinHandle<()>,
}

struct NameServerTask {
    state: Arc<NameServerState>,
    events: EventLog,
    sockets: BTreeMap<SocketAddr, AddressSockets>,
    accepting: JoinSet<()>,
    settings: watch::Sender<NameServerConfig>,
    responder: Arc<Mutex<DnsResponder>>,
    connections: Arc<ClientConnectionLimit>,
    udp_workers: Vec<UdpWorkerThread>,
    secret: [u8; 16],
    config: Option<Arc<Config>>,
    plan: Option<Arc<ZonePlans>>,
    version: u64,
    reported_errors: BTreeMap<SocketAddr, String>,
    /// Some address is not had.
    is_missing_address: bool,
}

impl NameServerTask {
    fn new(shared: Arc<NameServerState>, events: EventLog) -> NameServerTask {
        let secret = secret();
        let none = NameServerConfig {
            listen: Vec::new(),
            threads: 1,
            udp_size: 512,
            rate: None,
            slip: None,
            client_subnet: false,
            cookies: false,
            connections: 1,
            idle: RETRY_INTERVAL,
        };
        NameServerTask {
            state: shared,
            events,
            sockets: BTreeMap::new(),
            accepting: JoinSet::new(),
            settings: watch::channel(none).0,
            responder: Arc::new(Mutex::new(DnsResponder::new(secret, seed(&secret, u64::MAX)))),
            connections: Arc::default(),
            udp_workers: Vec::new(),
            secret,
            config: None,
            plan: None,
            version: 0,
            reported_errors: BTreeMap::new(),
            is_missing_address: false,
        }
    }

    /// Serves this snapshot from now on. Zone data is published first, so that a new socket never answers from old
    /// data.
    fn apply_state(&mut self, snapshot: &StateSnapshot) {
        let config = &snapshot.config;
        let same = self.config.as_ref().is_some_and(|old| Arc::ptr_eq(old, config));
        if config.name_server.listen.is_empty() && self.sockets.is_empty() {
            self.state.set_sockets(BTreeMap::new());
            return;
        }
        let version = snapshot.snapshot.version;
        if !same || version != self.version {
            if !same || self.plan.is_none() {
                let serial = u32::try_from(snapshot.generation).unwrap_or(u32::MAX);
                self.plan = Some(Arc::new(ZonePlans::new(config, serial, self.plan.as_deref())));
            }
            if let Some(plan) = &self.plan {
                let book = ZoneData::new(Arc::clone(plan), config, &snapshot.snapshot);
                self.state.publish_zone_data(Arc::new(book));
            }
            self.config = Some(Arc::clone(config));
            self.version = version;
        }
        if !same || self.is_missing_address {
            self.settings.send_replace(config.name_server.clone());
            self.start_udp_workers(config.name_server.threads);
            self.open(config);
        }
    }

    /// The threads that answer over UDP; their number stays.
    fn start_udp_workers(&mut self, threads: usize) {
        while self.udp_workers.len() < threads && self.sockets.is_empty() {
            let Ok(mailbox) = WorkerMailbox::new().map(Arc::new) else { return };
            let number = self.udp_workers.len() as u64;
            let desk = DnsResponder::new(self.secret, seed(&self.secret, number));
            let own = Arc::clone(&mailbox);
            let shared = Arc::clone(&self.state);
            let events = self.events.clone();
            let thread = std::thread::Builder::new().name(format!("names-{number}"));
            let thread = thread.spawn(move || {
                if let Err(error) = udp_worker::run(&own, &shared, desk) {
                    events.error("names-failed", format!("a thread ended: {error}"));
                }
            });
            match thread {
                Ok(thread) => self.udp_workers.push(UdpWorkerThread { mailbox, thread }),
                Err(error) => {
                    self.events.error("names-failed", format!("no thread for queries: {error}"));
                    return;
                }
            }
        }
    }

    /// Has a post at each address that is wanted, and at no other.
    fn open(&mut self, config: &Config) {
        let wanted: BTreeSet<SocketAddr> = config.name_server.listen.iter().copied().collect();
        let shared: BTreeSet<IpAddr> =
            config.vrrp.values().flat_map(|group| group.addresses.iter().copied()).collect();
        let gone: Vec<SocketAddr> =
            self.sockets.keys().filter(|at| !wanted.contains(at)).copied().collect();
        for at in gone {
            if let Some(post) = self.sockets.remove(&at) {
                post.accept.abort();
            }
        }
        let mut states = BTreeMap::new();
        for at in wanted {
            if !self.sockets.contains_key(&at) {
                match self.bind_address(at, shared.contains(&at.ip())) {
                    Ok(post) => drop(self.sockets.insert(at, post)),
                    Err(error) => {
                        states.insert(at, Err(plain_error_text(error.to_string())));
                        continue;
                    }
                }
            }
            states.insert(at, Ok(()));
        }
        self.is_missing_address = states.values().any(Result::is_err);
        self.report_bind_errors(&states);
        self.state.set_sockets(states);
        self.assign_sockets(false);
    }

    fn bind_address(&mut self, at: SocketAddr, held: bool) -> io::Result<AddressSockets> {
        let udp = self.udp_workers.iter().map(|_| bind::bind_udp(at, held).map(Arc::new));
        let udp = udp.collect::<io::Result<Vec<_>>>()?;
        let listener = TcpListener::from_std(bind::bind_tcp(at, held)?.into())?;
        let door = DnsTcpAcceptor {
            listener,
            state: Arc::clone(&self.state),
            settings: self.settings.subscribe(),
            responder: Arc::clone(&self.responder),
            connections: Arc::clone(&self.connections),
        };
        Ok(AddressSockets { udp, accept: self.accepting.spawn(door.accept()) })
    }

    /// Assigns each thread its sockets.
    fn assign_sockets(&self, end: bool) {
        for (number, worker) in self.udp_workers.iter().enumerate() {
            let own = |(at, post): (&SocketAddr, &AddressSockets)| {
                Some((*at, Arc::clone(post.udp.get(number)?)))
            };
            let sockets = self.sockets.iter().filter_map(own).collect();
            worker.mailbox.send(WorkerOrder { sockets, end });
        }
    }

    /// Logs once which sockets could not be bound, and why.
    fn report_bind_errors(&mut self, states: &BTreeMap<SocketAddr, Result<(), String>>) {
        for (at, state) in states {
            let Err(why) = state else {
                self.reported_errors.remove(at);
                continue;
            };
            if self.reported_errors.get(at) != Some(why) {
                let text = format!(
                    "queries at {at} are not answered: {why}; it is tried again each second"
                );
                self.events.warn("names-not-listening", text);
                self.reported_errors.insert(*at, why.clone());
            }
        }
    }

    /// Answers pending queries and ends.
    async fn shut_down(mut self) {
        self.sockets.clear();
        self.assign_sockets(true);
        self.accepting.shutdown().await;
        for UdpWorkerThread { thread, .. } in self.udp_workers {
            // Fails only if the thread panicked, which it has reported on standard error.
            let _ = thread.join();
        }
    }
}

/// The acceptor of one address.
struct DnsTcpAcceptor {
    listener: TcpListener,
    state: Arc<NameServerState>,
    settings: watch::Receiver<NameServerConfig>,
    responder: Arc<Mutex<DnsResponder>>,
    connections: Arc<ClientConnectionLimit>,
}

impl DnsTcpAcceptor {
    async fn accept(self) {
        loop {
            let Ok((stream, from)) = self.listener.accept().await else {
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            let tcp = &self.state.tcp;
            tcp.accepted.fetch_add(1, Ordering::Relaxed);
            let (most, idle) = {
                let settings = self.settings.borrow();
                (settings.connections, settings.idle)
            };
            let client = from.ip().to_canonical();
            let place = match self.connections.acquire(client, most) {
                Ok(place) => place,
                Err(ConnectionLimitError::TotalReached) => {
                    tcp.full.fetch_add(1, Ordering::Relaxed);
                    continue;
                }
                Err(ConnectionLimitError::PerClientReached) => {
                    tcp.client_limit_reached.fetch_add(1, Ordering::Relaxed);
                    continue;
                }
            };
            // Without TCP_NODELAY an answer may wait for the client's acknowledgement; it is still correct.
            let _ = stream.set_nodelay(true);
            let shared = Arc::clone(&self.state);
            let desk = Arc::clone(&self.responder);
            tokio::spawn(async move {
                shared.tcp.open.fetch_add(1, Ordering::Relaxed);
                tcp_connection::serve(stream, client, &shared, &desk, idle).await;
                shared.tcp.open.fetch_sub(1, Ordering::Relaxed);
                drop(place);
            });
        }
    }
}

/// Of this process, for cookies.
fn secret() -> [u8; 16] {
    let mut secret = [0; 16];
    let filled = getrandom(&mut secret[..], GetRandomFlags::empty()).unwrap_or(0);
    if filled < secret.len() {
        // Names are served only after the kernel has entropy; if that fails, the time is still better than a fixed
        // secret.
        let DnsClockReading { now: moment, unix_seconds: seconds } = clock_now();
        secret[..8].copy_from_slice(&moment.0.to_ne_bytes());
        secret[8..12].copy_from_slice(&seconds.to_ne_bytes());
    }
    secret
}

/// A different number for each worker.
fn seed(secret: &[u8; 16], number: u64) -> u64 {
    let whole = u128::from_ne_bytes(*secret);
    // Both halves are mixed, so that the result reveals neither.
    (whole as u64 ^ (whole >> 64) as u64).rotate_left(17).wrapping_mul(number.wrapping_mul(2) | 1)
}
