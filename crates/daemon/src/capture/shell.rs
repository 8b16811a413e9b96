//! The thread that has the packet socket: keeps what passes, and writes captures down. What is called for is decided by
//! `desk`, what is kept by `frame` and `ring`.
//!
//! It waits for nobody but the kernel; orders that find no room are counted by who gives them.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use socket2::{Domain, SockFilter, Socket, Type};

use super::desk::{Take, Watch};
use super::files;
use super::filter::filter;
use super::frame;
use super::ring::{Kept, Ring, Taking};
use crate::event::{Events, Level};
use crate::sys;

/// How late an order may be heard.
const LOOK: Duration = Duration::from_millis(20);
/// Packets that are read before orders are looked at again.
const BATCH: usize = 1_024;
/// Bytes of a packet that are read: the longest headers, and `payload` at most.
const ROOM: usize = 20 * 1_024;
/// Bytes that the kernel keeps for the thread.
const QUEUE: usize = 8 << 20;
/// Captures that are taken at a time.
const AT_ONCE: usize = 8;

/// What the thread is told.
#[derive(Debug)]
pub enum Order {
    /// To keep what passes there; nowhere: to close the socket.
    Watch(Watch),
    /// To take this.
    Take(Take),
    /// To write down now what it takes by this rule.
    Finish(String),
}

/// What the thread has done, for those who look.
#[derive(Debug, Default)]
pub struct Done {
    /// Packets kept in memory.
    pub kept: AtomicU64,
    /// Of those, such as went for later ones.
    pub evicted: AtomicU64,
    /// Packets that the kernel could not hand over in time.
    pub dropped: AtomicU64,
    /// Captures written down.
    pub made: AtomicU64,
    /// Captures that were called for and not made: nothing passed, too many at a time, or the disk refused.
    pub failed: AtomicU64,
    /// Why nothing is kept; `None`: it is, or nothing is to be.
    pub trouble: Mutex<Option<String>>,
    /// Rules that something is taken by now.
    pub taking: Mutex<Vec<String>>,
}

/// Runs until nobody gives orders any more.
pub fn run(orders: &Receiver<Order>, place: Option<PathBuf>, events: Events, done: Arc<Done>) {
    let mut life = Life {
        place,
        events,
        done,
        socket: None,
        watch: Watch::default(),
        ring: Ring::new(0),
        takings: BTreeMap::new(),
        room: vec![0; ROOM],
        lost: 0,
    };
    loop {
        let heard = match &life.socket {
            Some(socket) => {
                wait(socket);
                orders.try_recv()
            }
            None => orders.recv_timeout(LOOK * 10).map_err(|error| match error {
                RecvTimeoutError::Timeout => TryRecvError::Empty,
                RecvTimeoutError::Disconnected => TryRecvError::Disconnected,
            }),
        };
        life.read();
        match heard {
            Ok(order) => life.obey(order),
            Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => {
                life.finish(|_| true);
                return;
            }
        }
        let now = Instant::now();
        life.finish(|one| one.until <= now);
    }
}

/// Until something has passed, or for a while.
fn wait(socket: &Socket) {
    let mut one = [PollFd::new(socket, PollFlags::IN)];
    let limit = Timespec { tv_sec: 0, tv_nsec: i64::from(LOOK.subsec_nanos()) };
    // Whatever comes of it, the socket is looked at next.
    let _ = poll(&mut one, Some(&limit));
}

struct Life {
    place: Option<PathBuf>,
    events: Events,
    done: Arc<Done>,
    socket: Option<Socket>,
    watch: Watch,
    ring: Ring,
    takings: BTreeMap<String, UnderWay>,
    room: Vec<u8>,
    /// Packets that the kernel dropped so far.
    lost: u64,
}

struct UnderWay {
    taking: Taking,
    about: String,
    until: Instant,
    began: SystemTime,
    keep: usize,
    lost: u64,
}

impl Life {
    fn obey(&mut self, order: Order) {
        match order {
            Order::Watch(watch) => self.watch(watch),
            Order::Take(take) => self.take(take),
            Order::Finish(rule) => self.finish_of(&rule),
        }
    }

    fn watch(&mut self, watch: Watch) {
        self.ring.resize(watch.size);
        if watch.ports.is_empty() {
            self.socket = None;
            self.ring = Ring::new(0);
        }
        self.watch = watch;
        self.open();
    }

    /// Opens the socket, or gives it another filter.
    fn open(&mut self) {
        if self.watch.ports.is_empty() {
            self.trouble(None);
            return;
        }
        let ops = filter(&self.watch.ports, self.watch.payload);
        let ops: Vec<SockFilter> =
            ops.into_iter().map(|(code, yes, no, k)| SockFilter::new(code, yes, no, k)).collect();
        let opened = match &self.socket {
            Some(socket) => socket.attach_filter(&ops),
            None => open(&ops).map(|socket| self.socket = Some(socket)),
        };
        let why = opened.err().map(|error| {
            let right = match error.kind() {
                io::ErrorKind::PermissionDenied => ": it takes the right CAP_NET_RAW",
                _ => "",
            };
            format!("packets cannot be captured: {error}{right}")
        });
        self.trouble(why);
    }

    fn trouble(&self, why: Option<String>) {
        let mut known = self.done.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(text) = why.clone().filter(|_| *known != why) {
            self.events.error("capture-refused", text);
        }
        *known = why;
    }

    /// Takes what has passed, a batch at most.
    fn read(&mut self) {
        let Some(socket) = &self.socket else { return };
        let most = usize::try_from(self.watch.payload).unwrap_or(0);
        for _ in 0..BATCH {
            let Ok((length, at_ns)) = sys::packet(socket.as_fd(), &mut self.room) else { break };
            let bytes = self.room.get(..length).unwrap_or_default();
            let Some(ends) = frame::ends(bytes) else { continue };
            let at_ns = at_ns.unwrap_or_else(|| nanos(SystemTime::now()));
            let bytes = frame::kept(bytes, &ends, most);
            let frame::Ends { from, to, original, .. } = ends;
            let packet = Arc::new(Kept { at_ns, from, to, original, bytes });
            self.takings.values_mut().for_each(|one| one.taking.offer(&packet));
            self.ring.push(packet);
            self.done.kept.fetch_add(1, Ordering::Relaxed);
        }
        self.done.evicted.store(self.ring.evicted(), Ordering::Relaxed);
    }

    fn count_lost(&mut self) {
        let Some(socket) = &self.socket else { return };
        self.lost += sys::dropped(socket.as_fd()).map_or(0, u64::from);
        self.done.dropped.store(self.lost, Ordering::Relaxed);
    }

    fn take(&mut self, take: Take) {
        let Take { rule, about, flows, time, size, keep } = take;
        self.count_lost();
        if let Some(about) = about
            && !self.takings.contains_key(&rule)
        {
            if self.takings.len() >= AT_ONCE {
                self.failed(&rule, &format!("{AT_ONCE} captures are taken already"));
                return;
            }
            let until = Instant::now() + time;
            let (taking, began, lost) = (Taking::new(size), SystemTime::now(), self.lost);
            let one = UnderWay { taking, about, until, began, keep, lost };
            self.takings.insert(rule.clone(), one);
            self.tell_taking();
        }
        let Some(one) = self.takings.get_mut(&rule) else { return };
        flows.iter().for_each(|(flow, note)| one.taking.add(&self.ring, *flow, note));
    }

    fn finish_of(&mut self, rule: &str) {
        if let Some(one) = self.takings.remove(rule) {
            self.store(rule, one);
        }
        self.tell_taking();
    }

    /// Writes down what is over.
    fn finish(&mut self, over: impl Fn(&UnderWay) -> bool) {
        let due = self.takings.iter().filter(|(_, one)| over(one)).map(|(rule, _)| rule.clone());
        for rule in due.collect::<Vec<_>>() {
            self.finish_of(&rule);
        }
    }

    fn tell_taking(&self) {
        let now = self.takings.keys().cloned().collect();
        *self.done.taking.lock().unwrap_or_else(PoisonError::into_inner) = now;
    }

    fn store(&mut self, rule: &str, mut one: UnderWay) {
        self.count_lost();
        let packets = one.taking.packets();
        if packets.is_empty() {
            return self.failed(rule, "nothing of the connections concerned was in memory");
        }
        let Some(place) = &self.place else {
            return self.failed(rule, "this daemon keeps no state");
        };
        let left_out = one.taking.left_out();
        let about = match left_out {
            0 => one.about,
            _ => format!("{}; {left_out} packets or connections found no room", one.about),
        };
        let drops = self.lost - one.lost;
        let made = (rule, nanos(one.began) / 1_000_000);
        match files::store(place, made, (&about, drops), &packets, one.keep) {
            Ok(stored) => {
                self.done.made.fetch_add(1, Ordering::Relaxed);
                let file = stored.file.display().to_string();
                let text = format!("{file}: {} packets; {about}", packets.len());
                let about = [("capture", rule.to_owned()), ("file", file)];
                self.events.tell(Level::Info, "capture-made", text, &about);
            }
            Err(error) => self.failed(rule, &format!("{}: {error}", place.display())),
        }
    }

    fn failed(&self, rule: &str, why: &str) {
        self.done.failed.fetch_add(1, Ordering::Relaxed);
        let text = format!("no capture by {rule}: {why}");
        self.events.tell(Level::Warning, "capture-not-made", text, &[("capture", rule.to_owned())]);
    }
}

/// Nanoseconds since 1970; 0 for moments before.
fn nanos(at: SystemTime) -> u64 {
    let since = at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

fn open(ops: &[SockFilter]) -> io::Result<Socket> {
    // Without a protocol it gets nothing before it is bound, when the filter is there.
    let socket = Socket::new(Domain::PACKET, Type::DGRAM, None)?;
    socket.set_nonblocking(true)?;
    // Less is granted where the system allows no more.
    let _ = socket.set_recv_buffer_size(QUEUE);
    socket.attach_filter(ops)?;
    sys::with_times(socket.as_fd())?;
    sys::bind(socket.as_fd(), 0)?;
    Ok(socket)
}
