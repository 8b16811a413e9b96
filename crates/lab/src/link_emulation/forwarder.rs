//! The forwarder: takes frames from one link of an emulated line, and puts them on the other when the model lets them
//! arrive.
//!
//! One thread owns the sockets of all lines that are opened together, so that frames of different lines arrive in the
//! order of their times. With two threads frames would overtake each other by as long as either waits for a processor.
//! `queue` decides the delays.

use std::collections::BinaryHeap;
use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use model::monotonic_time::MonotonicTime;

use super::queue::{LinkCounts, LinkQueue, LinkShape};
use super::segmentation::{self, HEAD};
use super::tap::LinkTap;

/// A line: the sockets at its two ends, and what frames meet.
#[derive(Debug)]
pub struct ForwardedLink {
    /// Where frames come in and go out.
    pub links: [OwnedFd; 2],
    /// The shapes for frames of the first and of the second link.
    pub shapes: [LinkShape; 2],
    /// The capture at the first link.
    pub tap: Option<LinkTap>,
}

/// A frame in flight: earlier ones compare as greater, so that the heap returns them first.
#[derive(PartialEq, Eq)]
struct QueuedFrame {
    at: MonotonicTime,
    number: u64,
    link: usize,
    side: usize,
    /// With the kernel's head.
    bytes: Vec<u8>,
}

impl Ord for QueuedFrame {
    fn cmp(&self, other: &QueuedFrame) -> std::cmp::Ordering {
        (other.at, other.number).cmp(&(self.at, self.number))
    }
}

impl PartialOrd for QueuedFrame {
    fn partial_cmp(&self, other: &QueuedFrame) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Bytes in flight at most for a line: 400 ms of 5 Gbit/s; more are lost as in a full queue.
const MAX_FRAMES_IN_FLIGHT: usize = 256 << 20;
/// Memory of a frame beside its bytes.
const FRAME: usize = size_of::<QueuedFrame>();
/// The longest frame or train, with the kernel's head and Ethernet's.
const MAX_BYTES: usize = 65_536 + HEAD + 14;
/// Frames that are taken from a link between two checks for due frames: bounds their lateness.
const BATCH: usize = 64;
/// While frames arrive, how long they may gather: the sender of a frame then need not wake this thread, which costs
/// more than all the rest of its path. Far below the millisecond that a line is accurate to.
const GATHER: Duration = Duration::from_micros(100);

/// Forwards on all of these lines until `stop` is readable; returns the counts of each direction, line by line.
pub fn forward_links(ways: &[ForwardedLink], stop: &OwnedFd) -> io::Result<Vec<[LinkCounts; 2]>> {
    let mut road = LinkForwarder::new(ways);
    let idle: Vec<&OwnedFd> =
        std::iter::once(stop).chain(ways.iter().flat_map(|way| &way.links)).collect();
    let mut received = 0;
    loop {
        road.deliver_due_frames();
        let over = match received {
            0 => wait_readable(&idle, road.time_to_next()),
            BATCH.. => wait_readable(&[stop], Some(Duration::ZERO)),
            _ => wait_readable(&[stop], Some(GATHER)),
        };
        if over? {
            return Ok(road.counts());
        }
        received = road.receive_frames();
    }
}

/// What is under way.
struct LinkForwarder<'w> {
    links: &'w [ForwardedLink],
    begun: Instant,
    queues: Vec<[LinkQueue; 2]>,
    in_flight: BinaryHeap<QueuedFrame>,
    bytes_in_flight: usize,
    number: u64,
    buffer: Vec<u8>,
}

impl<'w> LinkForwarder<'w> {
    fn new(ways: &'w [ForwardedLink]) -> LinkForwarder<'w> {
        LinkForwarder {
            links: ways,
            begun: Instant::now(),
            queues: ways.iter().map(|way| way.shapes.clone().map(LinkQueue::new)).collect(),
            in_flight: BinaryHeap::new(),
            bytes_in_flight: 0,
            number: 0,
            buffer: vec![0; MAX_BYTES],
        }
    }

    fn now(&self) -> MonotonicTime {
        MonotonicTime(u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// Puts the due frames on their links.
    fn deliver_due_frames(&mut self) {
        while self.in_flight.peek().is_some_and(|frame| frame.at <= self.now()) {
            if let Some(frame) = self.in_flight.pop() {
                self.bytes_in_flight -= frame.bytes.len() + FRAME;
                let way = &self.links[frame.link];
                tap_sees(way, frame.side == 1, &frame.bytes[HEAD..]);
                // Ignored: a link that accepts no more loses the frame, as real links do.
                let _ = send(&way.links[1 - frame.side], &frame.bytes, SendFlags::empty());
            }
        }
    }

    /// How long until the next one is due.
    fn time_to_next(&self) -> Option<Duration> {
        self.in_flight.peek().map(|frame| frame.at.since(self.now()))
    }

    /// Receives available frames; returns the most frames of a link.
    fn receive_frames(&mut self) -> usize {
        let mut most = 0;
        for way in 0..self.links.len() {
            for side in 0..2 {
                most = most.max(self.receive_from(way, side));
            }
        }
        most
    }

    fn receive_from(&mut self, way: usize, side: usize) -> usize {
        let link = &self.links[way].links[side];
        let mut received = 0;
        while received < BATCH {
            let bytes = match recv(link, &mut self.buffer, RecvFlags::TRUNC) {
                Ok((_, bytes)) => bytes.min(MAX_BYTES),
                Err(Errno::INTR) => continue,
                // An empty socket, or a link that went down for a moment.
                Err(_) => break,
            };
            received += 1;
            self.forward_frame(way, side, bytes);
        }
        received
    }

    /// Handles a frame in the buffer that arrived at a link: it is queued or lost.
    fn forward_frame(&mut self, way: usize, side: usize, bytes: usize) {
        let now = self.now();
        let whole = &mut self.buffer[..bytes];
        let Some((head, frame)) = whole.split_first_chunk_mut::<HEAD>() else { return };
        tap_sees(&self.links[way], side == 0, frame);
        let queue = &mut self.queues[way][side];
        if !queue.apply_fault(frame) {
            return;
        }
        let (frames, on_wire) = segmentation::wire_frames(head, frame);
        if self.bytes_in_flight + bytes + FRAME > MAX_FRAMES_IN_FLIGHT * self.links.len() {
            queue.count_overflow(frames);
            return;
        }
        let Some(arrival) = queue.enqueue(now, frames, on_wire) else { return };
        for _ in 0..=u8::from(arrival.duplicate_at) {
            self.number += 1;
            self.bytes_in_flight += bytes + FRAME;
            let at = arrival.at;
            let number = self.number;
            let bytes = self.buffer[..bytes].to_vec();
            self.in_flight.push(QueuedFrame { at, number, link: way, side, bytes });
        }
    }

    fn counts(&self) -> Vec<[LinkCounts; 2]> {
        self.queues.iter().map(|both| both.each_ref().map(LinkQueue::counts)).collect()
    }
}

/// The tap is at the first link.
fn tap_sees(way: &ForwardedLink, passes_first: bool, frame: &[u8]) {
    if let Some(tap) = way.tap.as_ref().filter(|_| passes_first) {
        tap.record_frame(frame);
    }
}

/// Waits until a descriptor is readable, at most until the next due frame; `true`: the first one ended the run.
fn wait_readable(on: &[&OwnedFd], next: Option<Duration>) -> io::Result<bool> {
    let mut ready: Vec<PollFd<'_>> =
        on.iter().map(|descriptor| PollFd::new(*descriptor, PollFlags::IN)).collect();
    let next = next.map(|next| Timespec {
        tv_sec: i64::try_from(next.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(next.subsec_nanos()),
    });
    match poll(&mut ready, next.as_ref()) {
        Ok(_) | Err(Errno::INTR) => Ok(!ready[0].revents().is_empty()),
        Err(error) => Err(error.into()),
    }
}
