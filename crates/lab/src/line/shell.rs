//! The forwarder: takes frames from one link, and puts them on the other when the model says that they arrive.
//!
//! One thread owns both sockets. What is delayed how long is decided by `queue`.

use std::collections::BinaryHeap;
use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use model::moment::Moment;

use super::queue::{Counts, Queue, Shape};
use super::tap::Tap;

/// A frame under way: earlier ones are greater, so that the heap gives them first.
#[derive(PartialEq, Eq)]
struct Frame {
    at: Moment,
    number: u64,
    side: usize,
    bytes: Vec<u8>,
}

impl Ord for Frame {
    fn cmp(&self, other: &Frame) -> std::cmp::Ordering {
        (other.at, other.number).cmp(&(self.at, self.number))
    }
}

impl PartialOrd for Frame {
    fn partial_cmp(&self, other: &Frame) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Frames under way at most; more are lost as in a full queue.
const MAX_FRAMES: usize = 100_000;
/// The longest frame.
const MAX_BYTES: usize = 65_536;
/// While frames come, how long they are left to gather: whoever sends one then need not wake this thread, which costs
/// more than all the rest of its way. Far below the millisecond that a line is accurate to.
const GATHER: Duration = Duration::from_micros(100);

/// Forwards between two links until `stop` can be read; returns what was done in each direction. The tap is at the first
/// link.
pub fn forward(
    links: [OwnedFd; 2],
    stop: &OwnedFd,
    shapes: [Shape; 2],
    tap: Option<&Tap>,
) -> io::Result<[Counts; 2]> {
    let hears = |passes_first: bool, frame: &[u8]| {
        if let Some(tap) = tap.filter(|_| passes_first) {
            tap.hear(frame);
        }
    };
    let begun = Instant::now();
    let now = || Moment(u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX));
    let mut queues = shapes.map(Queue::new);
    let mut under_way: BinaryHeap<Frame> = BinaryHeap::new();
    let (mut buffer, mut number, mut came) = (vec![0; MAX_BYTES], 0_u64, false);
    loop {
        while under_way.peek().is_some_and(|frame| frame.at <= now()) {
            if let Some(frame) = under_way.pop() {
                hears(frame.side == 1, &frame.bytes);
                // A link that takes no more loses it, as links do.
                let _ = send(&links[1 - frame.side], &frame.bytes, SendFlags::empty());
            }
        }
        let next = under_way.peek().map(|frame| frame.at.since(now()));
        let over = if came {
            wait(&[stop], Some(GATHER))
        } else {
            wait(&[stop, &links[0], &links[1]], next)
        };
        if over? {
            return Ok(queues.map(|queue| queue.counts()));
        }
        came = false;
        for (side, link) in links.iter().enumerate() {
            loop {
                let bytes = match recv(link, &mut buffer, RecvFlags::TRUNC) {
                    Ok((_, bytes)) => bytes.min(MAX_BYTES),
                    Err(Errno::INTR) => continue,
                    // An empty socket, or a link that went down for a moment.
                    Err(_) => break,
                };
                came = true;
                let frame = &mut buffer[..bytes];
                hears(side == 0, frame);
                if !queues[side].meddle(frame) {
                    continue;
                }
                let Some(arrival) = queues[side].offer(now(), bytes) else { continue };
                for _ in 0..=u8::from(arrival.twice) {
                    if under_way.len() < MAX_FRAMES {
                        number += 1;
                        let (at, bytes) = (arrival.at, frame.to_vec());
                        under_way.push(Frame { at, number, side, bytes });
                    }
                }
            }
        }
    }
}

/// Waits until one of them can be read, or so long; `true`: it is over, as the first one says.
fn wait(on: &[&OwnedFd], next: Option<Duration>) -> io::Result<bool> {
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
