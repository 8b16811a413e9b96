//! The thread that keeps the book: follows the pictures, has the sockets that the configuration wants, accepts connections.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use model::config::{Config, NameServer};
use names::book::Book;
use names::desk::Desk;
use names::plan::Plan;
use rustix::rand::{GetRandomFlags, getrandom};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::bind;
use super::connections::{Connections, NoRoom};
use super::seat::{Seat, Sockets};
use super::shared::Shared;
use super::{stream, udp};
use crate::control::{Control, Picture};
use crate::event::Events;

/// Between two tries for an address that is not had.
const AGAIN: Duration = Duration::from_secs(1);
/// After a connection that could not be accepted, such as without descriptors.
const PAUSE: Duration = Duration::from_millis(100);

/// Follows the pictures until told to end.
pub(super) async fn run(
    control: Control,
    shared: Arc<Shared>,
    settle: watch::Sender<bool>,
    mut end: watch::Receiver<bool>,
) {
    let mut pictures = control.watch();
    let mut life = Life::new(shared, control.events().clone());
    let mut alive = true;
    loop {
        let picture = pictures.borrow_and_update().clone();
        life.follow(&picture);
        settle.send_replace(true);
        tokio::select! {
            changed = pictures.changed(), if alive => alive = changed.is_ok(),
            () = tokio::time::sleep(AGAIN), if life.lacks => {}
            Some(_) = life.accepting.join_next() => {}
            _ = end.wait_for(|end| *end) => break,
        }
    }
    life.end().await;
}

/// What answers at one address.
struct Post {
    udp: Vec<Arc<socket2::Socket>>,
    accept: tokio::task::AbortHandle,
}

struct Life {
    shared: Arc<Shared>,
    events: Events,
    posts: BTreeMap<SocketAddr, Post>,
    accepting: JoinSet<()>,
    settings: watch::Sender<NameServer>,
    desk: Arc<Mutex<Desk>>,
    connections: Arc<Connections>,
    seats: Vec<(Arc<Seat>, std::thread::JoinHandle<()>)>,
    secret: [u8; 16],
    config: Option<Arc<Config>>,
    plan: Option<Arc<Plan>>,
    version: u64,
    told: BTreeMap<SocketAddr, String>,
    /// Some address is not had.
    lacks: bool,
}

impl Life {
    fn new(shared: Arc<Shared>, events: Events) -> Life {
        let secret = secret();
        let none = NameServer {
            listen: Vec::new(),
            threads: 1,
            udp_size: 512,
            rate: None,
            slip: None,
            client_subnet: false,
            cookies: false,
            connections: 1,
            idle: AGAIN,
        };
        Life {
            shared,
            events,
            posts: BTreeMap::new(),
            accepting: JoinSet::new(),
            settings: watch::channel(none).0,
            desk: Arc::new(Mutex::new(Desk::new(secret, seed(&secret, u64::MAX)))),
            connections: Arc::default(),
            seats: Vec::new(),
            secret,
            config: None,
            plan: None,
            version: 0,
            told: BTreeMap::new(),
            lacks: false,
        }
    }

    /// Answers by this picture from now on: the book first, so that a new socket never answers by an old one.
    fn follow(&mut self, picture: &Picture) {
        let config = &picture.config;
        let same = self.config.as_ref().is_some_and(|old| Arc::ptr_eq(old, config));
        if config.name_server.listen.is_empty() && self.posts.is_empty() {
            self.shared.show(BTreeMap::new());
            return;
        }
        let version = picture.snapshot.version;
        if !same || version != self.version {
            if !same || self.plan.is_none() {
                let serial = u32::try_from(picture.generation).unwrap_or(u32::MAX);
                self.plan = Some(Arc::new(Plan::new(config, serial, self.plan.as_deref())));
            }
            if let Some(plan) = &self.plan {
                let book = Book::new(Arc::clone(plan), config, &picture.snapshot);
                self.shared.publish(Arc::new(book));
            }
            (self.config, self.version) = (Some(Arc::clone(config)), version);
        }
        if !same || self.lacks {
            self.settings.send_replace(config.name_server.clone());
            self.sit(config.name_server.threads);
            self.open(config);
        }
    }

    /// The threads that answer over UDP; their number stays.
    fn sit(&mut self, threads: usize) {
        while self.seats.len() < threads && self.posts.is_empty() {
            let Ok(seat) = Seat::new().map(Arc::new) else { return };
            let number = self.seats.len() as u64;
            let desk = Desk::new(self.secret, seed(&self.secret, number));
            let (own, shared, events) =
                (Arc::clone(&seat), Arc::clone(&self.shared), self.events.clone());
            let thread = std::thread::Builder::new().name(format!("names-{number}"));
            let thread = thread.spawn(move || {
                if let Err(error) = udp::run(&own, &shared, desk) {
                    events.error("names-failed", format!("a thread ended: {error}"));
                }
            });
            match thread {
                Ok(thread) => self.seats.push((seat, thread)),
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
            self.posts.keys().filter(|at| !wanted.contains(at)).copied().collect();
        for at in gone {
            if let Some(post) = self.posts.remove(&at) {
                post.accept.abort();
            }
        }
        let mut states = BTreeMap::new();
        for at in wanted {
            if !self.posts.contains_key(&at) {
                match self.post(at, shared.contains(&at.ip())) {
                    Ok(post) => drop(self.posts.insert(at, post)),
                    Err(error) => {
                        states.insert(at, Err(error.to_string()));
                        continue;
                    }
                }
            }
            states.insert(at, Ok(()));
        }
        self.lacks = states.values().any(Result::is_err);
        self.tell(&states);
        self.shared.show(states);
        self.seat(false);
    }

    fn post(&mut self, at: SocketAddr, held: bool) -> io::Result<Post> {
        let udp = self.seats.iter().map(|_| bind::udp(at, held).map(Arc::new));
        let udp = udp.collect::<io::Result<Vec<_>>>()?;
        let listener = TcpListener::from_std(bind::tcp(at, held)?.into())?;
        let door = Door {
            listener,
            shared: Arc::clone(&self.shared),
            settings: self.settings.subscribe(),
            desk: Arc::clone(&self.desk),
            connections: Arc::clone(&self.connections),
        };
        Ok(Post { udp, accept: self.accepting.spawn(door.accept()) })
    }

    /// Tells each thread its sockets.
    fn seat(&self, end: bool) {
        for (number, (seat, _)) in self.seats.iter().enumerate() {
            let own =
                |(at, post): (&SocketAddr, &Post)| Some((*at, Arc::clone(post.udp.get(number)?)));
            let sockets: Sockets = self.posts.iter().filter_map(own).collect();
            seat.tell(sockets, end);
        }
    }

    /// Says once what is not had, and why.
    fn tell(&mut self, states: &BTreeMap<SocketAddr, Result<(), String>>) {
        for (at, state) in states {
            let Err(why) = state else {
                self.told.remove(at);
                continue;
            };
            if self.told.get(at) != Some(why) {
                let text = format!(
                    "queries at {at} are not answered: {why}; it is tried again each second"
                );
                self.events.warn("names-not-listening", text);
                self.told.insert(*at, why.clone());
            }
        }
    }

    /// Answers what has come, and is gone.
    async fn end(mut self) {
        self.posts.clear();
        self.seat(true);
        self.accepting.shutdown().await;
        for (_, thread) in self.seats {
            let _ = thread.join();
        }
    }
}

/// What accepts at one address.
struct Door {
    listener: TcpListener,
    shared: Arc<Shared>,
    settings: watch::Receiver<NameServer>,
    desk: Arc<Mutex<Desk>>,
    connections: Arc<Connections>,
}

impl Door {
    async fn accept(self) {
        loop {
            let Ok((stream, from)) = self.listener.accept().await else {
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            let tcp = &self.shared.tcp;
            tcp.accepted.fetch_add(1, Ordering::Relaxed);
            let (most, idle) = {
                let settings = self.settings.borrow();
                (settings.connections, settings.idle)
            };
            let client = from.ip().to_canonical();
            let place = match self.connections.take(client, most) {
                Ok(place) => place,
                Err(NoRoom::Full) => {
                    tcp.full.fetch_add(1, Ordering::Relaxed);
                    continue;
                }
                Err(NoRoom::Client) => {
                    tcp.crowded.fetch_add(1, Ordering::Relaxed);
                    continue;
                }
            };
            let _ = stream.set_nodelay(true);
            let (shared, desk) = (Arc::clone(&self.shared), Arc::clone(&self.desk));
            tokio::spawn(async move {
                shared.tcp.open.fetch_add(1, Ordering::Relaxed);
                stream::serve(stream, client, &shared, &desk, idle).await;
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
        // Before the kernel has entropy nobody serves names; a guess still hides more than none.
        let (moment, seconds) = super::shared::now();
        secret[..8].copy_from_slice(&moment.0.to_ne_bytes());
        secret[8..12].copy_from_slice(&seconds.to_ne_bytes());
    }
    secret
}

/// Another number for each desk.
fn seed(secret: &[u8; 16], number: u64) -> u64 {
    let whole = u128::from_ne_bytes(*secret);
    // Both halves, so that neither shows.
    (whole as u64 ^ (whole >> 64) as u64).rotate_left(17).wrapping_mul(number.wrapping_mul(2) | 1)
}
