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

/// Forwards between two links until `stop` can be read; returns what was done in each direction.
pub fn forward(links: [OwnedFd; 2], stop: &OwnedFd, shapes: [Shape; 2]) -> io::Result<[Counts; 2]> {
    let begun = Instant::now();
    let now = || Moment(u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX));
    let mut queues = shapes.map(Queue::new);
    let mut under_way: BinaryHeap<Frame> = BinaryHeap::new();
    let (mut buffer, mut number) = (vec![0; MAX_BYTES], 0_u64);
    loop {
        while under_way.peek().is_some_and(|frame| frame.at <= now()) {
            if let Some(frame) = under_way.pop() {
                // A link that takes no more loses it, as links do.
                let _ = send(&links[1 - frame.side], &frame.bytes, SendFlags::empty());
            }
        }
        let next = under_way.peek().map(|frame| frame.at.since(now()));
        if wait(&links, stop, next)? {
            return Ok(queues.map(|queue| queue.counts()));
        }
        for (side, link) in links.iter().enumerate() {
            loop {
                let bytes = match recv(link, &mut buffer, RecvFlags::TRUNC) {
                    Ok((_, bytes)) => bytes.min(MAX_BYTES),
                    Err(Errno::INTR) => continue,
                    // An empty socket, or a link that went down for a moment.
                    Err(_) => break,
                };
                number += 1;
                let arrives = queues[side].offer(now(), bytes);
                if let Some(at) = arrives.filter(|_| under_way.len() < MAX_FRAMES) {
                    let bytes = buffer[..bytes].to_vec();
                    under_way.push(Frame { at, number, side, bytes });
                }
            }
        }
    }
}

/// Waits for a frame, or until one is due; `true`: it is over.
fn wait(links: &[OwnedFd; 2], stop: &OwnedFd, next: Option<Duration>) -> io::Result<bool> {
    let [a, b] = links;
    let mut ready = [a, b, stop].map(|descriptor| PollFd::new(descriptor, PollFlags::IN));
    let next = next.map(|next| Timespec {
        tv_sec: i64::try_from(next.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(next.subsec_nanos()),
    });
    match poll(&mut ready, next.as_ref()) {
        Ok(_) | Err(Errno::INTR) => Ok(!ready[2].revents().is_empty()),
        Err(error) => Err(error.into()),
    }
}
