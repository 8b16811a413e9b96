//! The thread that has the packet socket: buffers what passes, and writes captures.
//!
//! It waits for nothing but the kernel; requests that find no room are counted by their sender.

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

use model::config::EventLevel;

use super::files;
use super::filter::filter;
use super::frame;
use super::ring::{CaptureBuffer, CapturedPacket, PacketRing};
use super::triggers::{CaptureJob, WatchedTraffic};
use crate::util::event::{EventFields, EventLog};
use crate::util::packet_socket::{self, PacketReading};

/// The longest delay until a command is noticed.
const LOOK: Duration = Duration::from_millis(20);
/// Packets read between two checks for commands.
/// At a million packets a second, about a millisecond.
const BATCH: usize = 1_024;
/// Bytes of a packet that are read: the longest headers, and `payload` at most.
const ROOM: usize = 20 * 1_024;
/// The size of the kernel's buffer for the socket.
/// At 1 Gbit/s of full packets, 67 ms.
const QUEUE: usize = 8 << 20;
/// Bounds the captures that run at a time.
/// Each costs the kernel a copy of every matching packet.
const AT_ONCE: usize = 8;

/// A command for the thread.
#[derive(Debug)]
pub enum CaptureThreadCommand {
    /// Capture this traffic; an empty filter closes the socket.
    Watch(WatchedTraffic),
    Take(CaptureJob),
    /// Write the capture of this rule now.
    Finish(String),
}

/// The thread's state, for reports.
#[derive(Debug, Default)]
pub struct CaptureProgress {
    pub buffered: AtomicU64,
    /// Packets evicted by later ones.
    pub evicted: AtomicU64,
    /// Packets that the kernel could not hand over in time.
    pub dropped: AtomicU64,
    pub written: AtomicU64,
    /// Captures that were called for and not made: nothing passed, too many at a time, or the disk refused.
    pub failed: AtomicU64,
    /// Why capturing fails; `None`: it works, or is off.
    pub last_error: Mutex<Option<String>>,
    /// Rules with a running capture.
    pub active_rules: Mutex<Vec<String>>,
}

/// Runs until the command sender is dropped.
pub fn run(
    orders: &Receiver<CaptureThreadCommand>,
    place: Option<PathBuf>,
    events: EventLog,
    done: Arc<CaptureProgress>,
) {
    let mut life = CaptureThread {
        directory: place,
        events,
        progress: done,
        socket: None,
        watch: WatchedTraffic::default(),
        ring: PacketRing::new(0),
        captures: BTreeMap::new(),
        buffer: vec![0; ROOM],
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
            Ok(order) => life.handle_command(order),
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
    // The result does not matter: the socket is read next in any case.
    let _ = poll(&mut one, Some(&limit));
}

struct CaptureThread {
    directory: Option<PathBuf>,
    events: EventLog,
    progress: Arc<CaptureProgress>,
    socket: Option<Socket>,
    watch: WatchedTraffic,
    ring: PacketRing,
    captures: BTreeMap<String, ActiveCapture>,
    buffer: Vec<u8>,
    /// Packets that the kernel dropped so far.
    lost: u64,
}

struct ActiveCapture {
    buffer: CaptureBuffer,
    reason: String,
    until: Instant,
    began: SystemTime,
    max_files: usize,
    lost: u64,
}

impl CaptureThread {
    fn handle_command(&mut self, order: CaptureThreadCommand) {
        match order {
            CaptureThreadCommand::Watch(watch) => self.watch(watch),
            CaptureThreadCommand::Take(take) => self.start_capture(take),
            CaptureThreadCommand::Finish(rule) => self.finish_rule(&rule),
        }
    }

    fn watch(&mut self, watch: WatchedTraffic) {
        self.ring.resize(watch.size);
        if watch.ports.is_empty() {
            self.socket = None;
            self.ring = PacketRing::new(0);
        }
        self.watch = watch;
        self.open();
    }

    /// Opens the socket, or gives it another filter.
    fn open(&mut self) {
        if self.watch.ports.is_empty() {
            self.set_last_error(None);
            return;
        }
        let ops = filter(&self.watch.ports, self.watch.payload);
        let ops: Vec<SockFilter> =
            ops.into_iter().map(|op| SockFilter::new(op.code, op.jt, op.jf, op.k)).collect();
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
        self.set_last_error(why);
    }

    fn set_last_error(&self, why: Option<String>) {
        let mut known = self.progress.last_error.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(text) = why.clone().filter(|_| *known != why) {
            self.events.error("capture-refused", text);
        }
        *known = why;
    }

    /// Reads packets, at most one batch.
    fn read(&mut self) {
        let Some(socket) = &self.socket else { return };
        let most = usize::try_from(self.watch.payload).unwrap_or(0);
        for _ in 0..BATCH {
            let Ok(PacketReading { length, at_ns }) =
                packet_socket::receive_packet(socket.as_fd(), &mut self.buffer)
            else {
                break;
            };
            let bytes = self.buffer.get(..length).unwrap_or_default();
            let Some(ends) = frame::parse_endpoints(bytes) else { continue };
            let at_ns = at_ns.unwrap_or_else(|| nanos(SystemTime::now()));
            let bytes = frame::truncate_packet(bytes, &ends, most);
            let frame::PacketEndpoints { source: from, destination: to, original, .. } = ends;
            let packet =
                Arc::new(CapturedPacket { at_ns, source: from, destination: to, original, bytes });
            self.captures.values_mut().for_each(|one| one.buffer.offer(&packet));
            self.ring.push(packet);
            self.progress.buffered.fetch_add(1, Ordering::Relaxed);
        }
        self.progress.evicted.store(self.ring.evicted(), Ordering::Relaxed);
    }

    fn count_lost(&mut self) {
        let Some(socket) = &self.socket else { return };
        self.lost += packet_socket::take_drop_count(socket.as_fd()).map_or(0, u64::from);
        self.progress.dropped.store(self.lost, Ordering::Relaxed);
    }

    fn start_capture(&mut self, take: CaptureJob) {
        let CaptureJob { rule, reason: about, flows, time, size, max_files: keep } = take;
        self.count_lost();
        if let Some(about) = about
            && !self.captures.contains_key(&rule)
        {
            if self.captures.len() >= AT_ONCE {
                self.failed(&rule, &format!("{AT_ONCE} captures are taken already"));
                return;
            }
            let until = Instant::now() + time;
            let taking = CaptureBuffer::new(size);
            let began = SystemTime::now();
            let lost = self.lost;
            let one = ActiveCapture {
                buffer: taking,
                reason: about,
                until,
                began,
                max_files: keep,
                lost,
            };
            self.captures.insert(rule.clone(), one);
            self.publish_active_rules();
        }
        let Some(one) = self.captures.get_mut(&rule) else { return };
        flows.iter().for_each(|it| one.buffer.add_flow(&self.ring, it.flow, &it.note));
    }

    fn finish_rule(&mut self, rule: &str) {
        if let Some(one) = self.captures.remove(rule) {
            self.store(rule, one);
        }
        self.publish_active_rules();
    }

    /// Writes the captures that are complete.
    fn finish(&mut self, over: impl Fn(&ActiveCapture) -> bool) {
        let due = self.captures.iter().filter(|(_, one)| over(one)).map(|(rule, _)| rule.clone());
        for rule in due.collect::<Vec<_>>() {
            self.finish_rule(&rule);
        }
    }

    fn publish_active_rules(&self) {
        let now = self.captures.keys().cloned().collect();
        *self.progress.active_rules.lock().unwrap_or_else(PoisonError::into_inner) = now;
    }

    fn store(&mut self, rule: &str, mut one: ActiveCapture) {
        self.count_lost();
        let packets = one.buffer.packets();
        if packets.is_empty() {
            return self.failed(rule, "nothing of the connections concerned was in memory");
        }
        let Some(place) = &self.directory else {
            return self.failed(rule, "this daemon keeps no state");
        };
        let left_out = one.buffer.left_out();
        let about = match left_out {
            0 => one.reason,
            _ => format!("{}; {left_out} packets or connections found no room", one.reason),
        };
        let drops = self.lost - one.lost;
        let at_unix_ms = nanos(one.began) / 1_000_000;
        match files::store(place, rule, at_unix_ms, &about, drops, &packets, one.max_files) {
            Ok(stored) => {
                self.progress.written.fetch_add(1, Ordering::Relaxed);
                let file = stored.file.display().to_string();
                let text = format!("{file}: {} packets; {about}", packets.len());
                let about = EventFields::from([("capture", rule.to_owned()), ("file", file)]);
                self.events.emit(EventLevel::Info, "capture-made", text, about);
            }
            Err(error) => self.failed(rule, &format!("{}: {error}", place.display())),
        }
    }

    fn failed(&self, rule: &str, why: &str) {
        self.progress.failed.fetch_add(1, Ordering::Relaxed);
        let text = format!("no capture by {rule}: {why}");
        self.events.emit(
            EventLevel::Warning,
            "capture-not-made",
            text,
            EventFields::from([("capture", rule.to_owned())]),
        );
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
    packet_socket::enable_timestamps(socket.as_fd())?;
    packet_socket::bind_to_link(socket.as_fd(), 0)?;
    Ok(socket)
}
