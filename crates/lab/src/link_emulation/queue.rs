//! The model of one direction of a link: a queue before a bottleneck with a rate, and a delay behind it.
//!
//! Pure: it receives sizes and times and returns arrival times. A packet that does not fit into the queue is dropped,
//! as are packets selected by the settings or at random. The random sequence is the same in every run.

use std::time::Duration;

use model::monotonic_time::MonotonicTime;

use super::fault::{FrameFate, LinkFault};

/// The properties of one direction of a link.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkShape {
    /// Propagation delay of every packet.
    pub delay: Duration,
    /// Bits a second; 0: no limit.
    pub bits_per_second: u64,
    /// Bytes that may wait in the queue; 0: no limit.
    pub queue_bytes: u64,
    /// Drops every n-th packet of 1000 bytes or more; 0: none.
    pub drop_every: u64,
    /// Random loss, packets per million.
    pub loss_ppm: u32,
    /// Packets per million that are delayed by `reorder_delay`, so that later ones overtake them.
    pub reorder_ppm: u32,
    /// Additional delay of reordered packets.
    pub reorder_delay: Duration,
    /// Packets per million that arrive twice.
    pub duplicate_ppm: u32,
    /// The fault of a device on the path.
    pub fault: LinkFault,
}

/// Arrival time of a packet, and whether it arrives twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketArrival {
    pub at: MonotonicTime,
    pub duplicate_at: bool,
}

/// Counts of packets by their treatment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCounts {
    pub passed: u64,
    /// Dropped by the settings, at random or by a fault.
    pub lost: u64,
    /// Dropped because the queue was full.
    pub dropped_full: u64,
    pub reordered: u64,
    pub duplicated: u64,
    /// Changed by a fault.
    pub changed: u64,
}

/// The queue of one direction.
#[derive(Debug)]
pub struct LinkQueue {
    shape: LinkShape,
    free_at: MonotonicTime,
    large: u64,
    random_state: u64,
    counts: LinkCounts,
}

/// Smallest size of a packet that `drop_every` counts, bytes.
/// Between a full segment and a request or an acknowledgement.
const LARGE: usize = 1_000;
/// Any fixed number: runs with the same settings lose the same packets.
const SEED: u64 = 0x5eed_0f7e_57ee_1a2d;

impl LinkQueue {
    pub fn new(shape: LinkShape) -> LinkQueue {
        LinkQueue {
            shape,
            free_at: MonotonicTime(0),
            large: 0,
            random_state: SEED,
            counts: LinkCounts::default(),
        }
    }

    /// Applies the fault to a frame; `false`: the frame is dropped.
    pub fn apply_fault(&mut self, frame: &mut [u8]) -> bool {
        match self.shape.fault.apply_to(frame) {
            FrameFate::Untouched => true,
            FrameFate::Changed => {
                self.counts.changed += 1;
                true
            }
            FrameFate::Dropped => {
                self.counts.lost += 1;
                false
            }
        }
    }

    /// The arrival time of a packet that is queued now; `None`: it is dropped. A segment train of several frames stays
    /// together.
    pub fn enqueue(
        &mut self,
        now: MonotonicTime,
        frames: u64,
        bytes: usize,
    ) -> Option<PacketArrival> {
        let at = self.transit_end(now, frames, bytes)?;
        let mut arrival = PacketArrival { at, duplicate_at: false };
        let reorder = self.shape.reorder_ppm;
        let late = self.shape.reorder_delay;
        if self.draw_chance(reorder) {
            self.counts.reordered += 1;
            arrival.at = at + late;
        }
        if self.draw_chance(self.shape.duplicate_ppm) {
            self.counts.duplicated += 1;
            arrival.duplicate_at = true;
        }
        Some(arrival)
    }

    /// Whether a random event of this probability occurs now (splitmix64).
    fn draw_chance(&mut self, ppm: u32) -> bool {
        if ppm == 0 {
            return false;
        }
        self.random_state = self.random_state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut draw = self.random_state;
        draw = (draw ^ (draw >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        draw = (draw ^ (draw >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (draw ^ (draw >> 31)) % 1_000_000 < u64::from(ppm)
    }

    /// Counts frames dropped because the buffer for frames in flight is full.
    pub fn count_overflow(&mut self, frames: u64) {
        self.counts.dropped_full += frames;
    }

    fn transit_end(
        &mut self,
        now: MonotonicTime,
        frames: u64,
        bytes: usize,
    ) -> Option<MonotonicTime> {
        let LinkShape {
            delay, bits_per_second, queue_bytes, drop_every: lose_every, loss_ppm, ..
        } = self.shape;
        if self.draw_chance(loss_ppm) {
            self.counts.lost += 1;
            return None;
        }
        if bytes >= LARGE {
            self.large += 1;
            if lose_every > 0 && self.large.is_multiple_of(lose_every) {
                self.counts.lost += 1;
                return None;
            }
        }
        if bits_per_second == 0 {
            self.counts.passed += frames;
            return Some(now + delay);
        }
        let takes = |bytes: u64| {
            let nanoseconds = u128::from(bytes) * 8_000_000_000 / u128::from(bits_per_second);
            Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
        };
        let begins = self.free_at.max(now);
        if queue_bytes > 0 && begins.since(now) > takes(queue_bytes) {
            self.counts.dropped_full += frames;
            return None;
        }
        self.free_at = begins + takes(bytes as u64);
        self.counts.passed += frames;
        Some(self.free_at + delay)
    }

    pub fn counts(&self) -> LinkCounts {
        self.counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn packets_wait_for_those_before_them_and_travel() {
        let shape = LinkShape {
            delay: Duration::from_millis(65),
            bits_per_second: 8_000_000,
            queue_bytes: 3_000,
            ..LinkShape::default()
        };
        let mut queue = LinkQueue::new(shape);
        let offer = |queue: &mut LinkQueue, ms: u64| {
            queue.enqueue(MonotonicTime(ms * MS), 1, 1_000).map(|arrival| arrival.at)
        };
        assert_eq!(offer(&mut queue, 0), Some(MonotonicTime(66 * MS)), "a millisecond on the link");
        assert_eq!(offer(&mut queue, 0), Some(MonotonicTime(67 * MS)));
        assert_eq!(offer(&mut queue, 0), Some(MonotonicTime(68 * MS)));
        assert_eq!(offer(&mut queue, 0), Some(MonotonicTime(69 * MS)));
        assert_eq!(offer(&mut queue, 0), None, "3000 bytes wait");
        assert_eq!(offer(&mut queue, 10), Some(MonotonicTime(76 * MS)), "the link was idle");
        assert_eq!(
            queue.counts(),
            LinkCounts { passed: 5, dropped_full: 1, ..LinkCounts::default() }
        );
    }

    #[test]
    fn a_train_is_as_long_as_its_frames_and_finds_room_or_none() {
        let shape =
            LinkShape { bits_per_second: 8_000_000, queue_bytes: 3_000, ..LinkShape::default() };
        let mut queue = LinkQueue::new(shape);
        let mut offer = || queue.enqueue(MonotonicTime(0), 4, 4_000).map(|arrival| arrival.at);
        assert_eq!(offer(), Some(MonotonicTime(4 * MS)));
        assert_eq!(offer(), None, "4000 bytes wait");
        queue.count_overflow(3);
        assert_eq!(
            queue.counts(),
            LinkCounts { passed: 4, dropped_full: 7, ..LinkCounts::default() }
        );
    }

    #[test]
    fn large_packets_are_lost_as_planned() {
        let mut queue = LinkQueue::new(LinkShape { drop_every: 3, ..LinkShape::default() });
        let queued: Vec<bool> = [60, 1500, 1500, 60, 1500, 1500]
            .map(|n| queue.enqueue(MonotonicTime(0), 1, n).is_some())
            .into();
        assert_eq!(queued, [true, true, true, true, false, true]);
    }

    #[test]
    fn chance_is_as_often_as_said_and_the_same_each_time() {
        let shape = LinkShape {
            loss_ppm: 100_000,
            reorder_ppm: 50_000,
            reorder_delay: Duration::from_millis(5),
            duplicate_ppm: 20_000,
            ..LinkShape::default()
        };
        let run = || {
            let mut queue = LinkQueue::new(shape.clone());
            let seen: Vec<Option<PacketArrival>> =
                (0..20_000).map(|_| queue.enqueue(MonotonicTime(0), 1, 100)).collect();
            (seen, queue.counts())
        };
        let (seen, counts) = run();
        assert_eq!((seen.clone(), counts), run());
        let near = |found: u64, wanted: u64| found.abs_diff(wanted) * 8 < wanted;
        assert!(near(counts.lost, 2_000) && near(counts.reordered, 900), "{counts:?}");
        assert!(
            near(counts.duplicated, 360) && counts.passed + counts.lost == 20_000,
            "{counts:?}"
        );
        let late =
            seen.iter().flatten().filter(|arrival| arrival.at == MonotonicTime(5 * MS)).count();
        assert_eq!(late as u64, counts.reordered);
    }
}
