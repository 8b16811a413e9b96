//! The forwarder: receives frames from one end of an emulated link, and sends them to the other when the model lets
//! them arrive.
//!
//! One thread owns the sockets of all links that are opened together, so that frames of different links arrive in the
//! order of their times. With two threads, frames could overtake each other while one thread waits for a processor.
//! `queue` calculates the delays.

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

/// An emulated link: the sockets of its ends, and the shapes for its frames.
#[derive(Debug)]
pub struct ForwardedLink {
    /// Packet sockets that receive and send frames.
    pub links: [OwnedFd; 2],
    /// The shapes for frames received on the first and on the second socket.
    pub shapes: [LinkShape; 2],
    /// The capture at the first end.
    pub tap: Option<LinkTap>,
}

/// A frame in flight. Earlier ones compare as greater, so that the heap returns them first.
#[derive(PartialEq, Eq)]
struct QueuedFrame {
    at: MonotonicTime,
    number: u64,
    link: usize,
    side: usize,
    /// The frame with the kernel's virtio header.
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

/// Limit for bytes in flight on a link: 400 ms of 5 Gbit/s. Further frames are dropped as by a full queue.
const MAX_FRAMES_IN_FLIGHT: usize = 256 << 20;
/// Memory of a queued frame without its bytes.
const FRAME: usize = size_of::<QueuedFrame>();
/// The longest frame or segment train, with the virtio and Ethernet headers.
const MAX_BYTES: usize = 65_536 + HEAD + 14;
/// Frames that are received from a link between two checks for due frames; bounds how late these are.
const BATCH: usize = 64;
/// How long frames may accumulate while they arrive. The sender of a frame then need not wake this thread. Far below
/// the accuracy of a millisecond.
const GATHER: Duration = Duration::from_micros(100);

/// Forwards on all of these links until `stop` is readable; returns the counts of each direction, link by link.
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

/// The state of the forwarding thread.
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

    /// Sends the due frames.
    fn deliver_due_frames(&mut self) {
        while self.in_flight.peek().is_some_and(|frame| frame.at <= self.now()) {
            if let Some(frame) = self.in_flight.pop() {
                self.bytes_in_flight -= frame.bytes.len() + FRAME;
                let way = &self.links[frame.link];
                tap_sees(way, frame.side == 1, &frame.bytes[HEAD..]);
                // Ignored: a link that accepts no more drops the frame, as real links do.
                let _ = send(&way.links[1 - frame.side], &frame.bytes, SendFlags::empty());
            }
        }
    }

    /// Time until the next frame is due.
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

    /// Passes a received frame in the buffer to the queue, which may drop it.
    fn forward_frame(&mut self, way: usize, side: usize, bytes: usize) {
        let now = self.now();
        let whole = &mut self.buffer[..bytes];
        let Some((head, frame)) = whole.split_first_chunk_mut::<HEAD>() else { return };
        tap_sees(&self.links[way], side == 0, frame);
        let queue = &mut self.queues[way][side];
        if !queue.apply_fault(frame) {
            return;
        }
        let on_wire = segmentation::wire_frames(head, frame);
        if self.bytes_in_flight + bytes + FRAME > MAX_FRAMES_IN_FLIGHT * self.links.len() {
            queue.count_overflow(on_wire.count);
            return;
        }
        let Some(arrival) = queue.enqueue(now, on_wire.count, on_wire.bytes) else { return };
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

/// Passes frames at the first end to the tap.
fn tap_sees(way: &ForwardedLink, passes_first: bool, frame: &[u8]) {
    if let Some(tap) = way.tap.as_ref().filter(|_| passes_first) {
        tap.record_frame(frame);
    }
}

/// Waits until a descriptor is readable, at most until the next due frame; `true`: the first descriptor stopped the
/// run.
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
