//! Holds packets of shorter links until those of longer ones are as far: one thread for each bundle that needs it.
//!
//! Packets come to the other end of the bundle's device, marked with their link's number, and leave by it again when
//! they are due; the program there sends them on. While the thread renews its lease packets are given to it, and
//! without it they go at once. How long they are held is decided elsewhere.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use links::datapath::HoldLease;
use links::hold_queue::HoldQueue;
use links::schedule::LINKS;
use model::monotonic_time::MonotonicTime;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use super::frame_socket;
use crate::util::monotonic_clock::monotonic_now;

/// The datapath redirects packets to the thread for this time after each sign of life.
const LEASE: Duration = Duration::from_millis(200);
/// Between two renewals at most.
const RENEW: Duration = Duration::from_millis(50);
/// Bytes that may wait in the kernel for the thread.
/// At 10 Gbit/s, 13 ms in which the thread may not run.
const ROOM: i32 = 16 << 20;
/// Frames read between two checks of due packets.
/// A due packet waits for 64 reads at most.
const BATCH: usize = 64;
/// `struct virtio_net_hdr` before each frame.
const HEADER: usize = 10;
/// The last byte of a frame's destination: its link's number.
const MARK: usize = HEADER + 5;
/// The longest frame: a segment that the device would cut up, and both headers.
const FRAME: usize = HEADER + 14 + 65_536;
/// The time to collect packets before the thread wakes up, because waking it costs more than holding a packet. It is
/// far below any difference of delays that is worth equalizing.
const GATHER: Duration = Duration::from_micros(100);
/// Packets in flight are more urgent than any other work here.
const NICE: i32 = -15;

/// Counters of packets that were not held as planned.
#[derive(Debug, Default)]
pub struct DelayCounts {
    /// Sent at once because the queue was full.
    pub early: AtomicU64,
    /// Lost, for the thread did not take them in time.
    pub missed: AtomicU64,
    /// Lost, for the device took no more.
    pub unsent: AtomicU64,
}

#[derive(Debug, Default)]
struct SharedEqualizer {
    delays: [AtomicU64; LINKS],
    counts: DelayCounts,
}

/// The thread of a bundle. On drop it ends and sends the packets that it holds.
#[derive(Debug)]
pub struct DelayEqualizer {
    shared: Arc<SharedEqualizer>,
    stop: Option<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl DelayEqualizer {
    /// Starts it at the other end of a bundle's device.
    ///
    /// # Errors
    /// The right to open packet sockets is missing, or the interface is.
    pub fn start(other: u32, lease: HoldLease) -> io::Result<DelayEqualizer> {
        let socket = frame_socket::open(other, ROOM)?;
        let (ear, stop) = rustix::pipe::pipe()?;
        let shared = Arc::<SharedEqualizer>::default();
        let mine = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("holder".to_owned()).spawn(move || {
            // Without CAP_SYS_NICE the thread has its default priority and holds packets less precisely.
            let _ = rustix::process::setpriority_process(None, NICE);
            run_thread(&socket, &ear, &lease, &mine);
        })?;
        Ok(DelayEqualizer { shared, stop: Some(stop), thread: Some(thread) })
    }

    /// Sets how long packets are held, by link.
    pub fn set_delays(&self, holds: &[Duration]) {
        let all = holds.iter().copied().chain(std::iter::repeat(Duration::ZERO));
        for (to, hold) in self.shared.delays.iter().zip(all) {
            to.store(u64::try_from(hold.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
        }
    }

    pub fn counts(&self) -> &DelayCounts {
        &self.shared.counts
    }

    /// Whether the equalizer still works. The socket of a removed interface does not.
    pub fn is_alive(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }
}

impl Drop for DelayEqualizer {
    fn drop(&mut self) {
        // The thread sees the pipe's end.
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // Fails only if the thread panicked, which it has reported on standard error.
            let _ = thread.join();
        }
    }
}

fn run_thread(socket: &OwnedFd, stop: &OwnedFd, lease: &HoldLease, shared: &SharedEqualizer) {
    let mut shelf = HoldQueue::default();
    let mut buffer = vec![0; FRAME];
    let mut renewed = MonotonicTime(0);
    let mut came = false;
    loop {
        let at = monotonic_now();
        if at.since(renewed) >= RENEW {
            // Without a lease the datapath redirects no packets. No packet is lost, and the next round retries.
            let _ = lease.renew(at + LEASE);
            shared
                .counts
                .missed
                .fetch_add(frame_socket::take_drop_count(socket), Ordering::Relaxed);
            renewed = at;
        }
        while let Some(packet) = shelf.take_due(monotonic_now()) {
            send_frame(socket, &packet, shared);
        }
        let due = shelf.next_due().map_or(RENEW, |due| due.since(monotonic_now()).min(RENEW));
        let ended =
            if came { wait_readable(&[stop], GATHER) } else { wait_readable(&[stop, socket], due) };
        if ended {
            break;
        }
        match receive_frames(socket, &mut buffer, &mut shelf, shared) {
            Some(packets) => came = packets > 0,
            None => break,
        }
    }
    // If the lease cannot be cleared it expires after `LEASE`.
    let _ = lease.renew(MonotonicTime(0));
    while let Some(packet) = shelf.take_due(MonotonicTime::NEVER) {
        send_frame(socket, &packet, shared);
    }
}

/// Reads the waiting frames. Returns their number, or `None` if the interface was removed.
fn receive_frames(
    socket: &OwnedFd,
    buffer: &mut [u8],
    shelf: &mut HoldQueue,
    shared: &SharedEqualizer,
) -> Option<usize> {
    for taken in 0..BATCH {
        let bytes = match recv(socket, &mut *buffer, RecvFlags::empty()) {
            Ok((_, bytes)) => bytes,
            Err(Errno::INTR) => continue,
            // A link that went down for a moment reports that once.
            Err(Errno::AGAIN | Errno::NETDOWN) => return Some(taken),
            Err(_) => return None,
        };
        let frame = &buffer[..bytes];
        let Some(link) = frame.get(MARK).map(|mark| usize::from(*mark)) else { continue };
        let hold = shared.delays.get(link).map_or(0, |hold| hold.load(Ordering::Relaxed));
        if let Err(packet) =
            shelf.hold_packet(link, monotonic_now(), Duration::from_nanos(hold), frame.to_vec())
        {
            shared.counts.early.fetch_add(1, Ordering::Relaxed);
            send_frame(socket, &packet, shared);
        }
    }
    Some(BATCH)
}

fn send_frame(socket: &OwnedFd, packet: &[u8], shared: &SharedEqualizer) {
    if send(socket, packet, SendFlags::empty()).is_err() {
        shared.counts.unsent.fetch_add(1, Ordering::Relaxed);
    }
}

/// Waits until a descriptor is readable, or until the time. True if the first descriptor requires the thread to end.
fn wait_readable(on: &[&OwnedFd], due: Duration) -> bool {
    let mut ready: Vec<PollFd<'_>> =
        on.iter().map(|descriptor| PollFd::new(*descriptor, PollFlags::IN)).collect();
    let due = Timespec {
        tv_sec: i64::try_from(due.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(due.subsec_nanos()),
    };
    match poll(&mut ready, Some(&due)) {
        Ok(_) | Err(Errno::INTR) => !ready[0].revents().is_empty(),
        Err(_) => true,
    }
}
