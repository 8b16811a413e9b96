//! The model of a line in one direction: a queue before a link of some rate, and a distance behind it.
//!
//! Pure: sizes and times go in, times of arrival come out. A packet that does not fit into the queue is lost, as is one
//! that the plan says to lose.

use std::time::Duration;

use model::moment::Moment;

/// What a line is like in one direction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// How long every packet travels.
    pub delay: Duration,
    /// Bits a second; 0: no limit.
    pub bits_per_second: u64,
    /// Bytes that may wait before the link; 0: no limit.
    pub queue_bytes: u64,
    /// Of packets of 1000 bytes and more, lose each whose number divides by this; 0: none.
    pub lose_every: u64,
}

/// What was done with packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Passed on.
    pub passed: u64,
    /// Lost as planned.
    pub lost: u64,
    /// Lost because the queue was full.
    pub overflowed: u64,
}

/// The queue of a direction.
#[derive(Debug)]
pub struct Queue {
    shape: Shape,
    free_at: Moment,
    large: u64,
    counts: Counts,
}

/// From here on a packet is large, bytes.
const LARGE: usize = 1_000;

impl Queue {
    /// An empty one.
    pub fn new(shape: Shape) -> Queue {
        Queue { shape, free_at: Moment(0), large: 0, counts: Counts::default() }
    }

    /// When a packet that comes now will have arrived; `None`: it is lost.
    pub fn offer(&mut self, now: Moment, bytes: usize) -> Option<Moment> {
        let Shape { delay, bits_per_second, queue_bytes, lose_every } = self.shape;
        if bytes >= LARGE {
            self.large += 1;
            if lose_every > 0 && self.large.is_multiple_of(lose_every) {
                self.counts.lost += 1;
                return None;
            }
        }
        if bits_per_second == 0 {
            self.counts.passed += 1;
            return Some(now + delay);
        }
        let takes = |bytes: u64| {
            let nanoseconds = u128::from(bytes) * 8_000_000_000 / u128::from(bits_per_second);
            Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
        };
        let begins = self.free_at.max(now);
        if queue_bytes > 0 && begins.since(now) > takes(queue_bytes) {
            self.counts.overflowed += 1;
            return None;
        }
        self.free_at = begins + takes(bytes as u64);
        self.counts.passed += 1;
        Some(self.free_at + delay)
    }

    /// What was done so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn packets_wait_for_those_before_them_and_travel() {
        let shape = Shape {
            delay: Duration::from_millis(65),
            bits_per_second: 8_000_000,
            queue_bytes: 3_000,
            lose_every: 0,
        };
        let mut queue = Queue::new(shape);
        let offer = |queue: &mut Queue, ms: u64| queue.offer(Moment(ms * MS), 1_000);
        assert_eq!(offer(&mut queue, 0), Some(Moment(66 * MS)), "a millisecond on the link");
        assert_eq!(offer(&mut queue, 0), Some(Moment(67 * MS)));
        assert_eq!(offer(&mut queue, 0), Some(Moment(68 * MS)));
        assert_eq!(offer(&mut queue, 0), Some(Moment(69 * MS)));
        assert_eq!(offer(&mut queue, 0), None, "3000 bytes wait");
        assert_eq!(offer(&mut queue, 10), Some(Moment(76 * MS)), "the link was idle");
        assert_eq!(queue.counts(), Counts { passed: 5, lost: 0, overflowed: 1 });
    }

    #[test]
    fn large_packets_are_lost_as_planned() {
        let mut queue = Queue::new(Shape { lose_every: 3, ..Shape::default() });
        let kept: Vec<bool> =
            [60, 1500, 1500, 60, 1500, 1500].map(|n| queue.offer(Moment(0), n).is_some()).into();
        assert_eq!(kept, [true, true, true, true, false, true]);
    }
}
