//! Packets that are held until they are due, in order for each link; bounded. Pure: times go in and come out.

use std::collections::VecDeque;
use std::time::Duration;

use model::monotonic_time::MonotonicTime;

use crate::schedule::LINKS;

/// Packets held at most, of all links of a bundle: bounds the memory.
/// At 10 Gbit/s and 1,000 bytes a packet, 50 ms.
pub const PACKETS: usize = 65_536;
/// Bytes held at most: 10 Gbit/s for 50 ms.
pub const BYTES: usize = 64 << 20;

/// A packet that waits until it is due.
#[derive(Debug)]
struct HeldPacket {
    due: MonotonicTime,
    packet: Vec<u8>,
}

#[derive(Debug)]
pub struct HoldQueue {
    queues: Vec<VecDeque<HeldPacket>>,
    packets: usize,
    bytes: usize,
}

impl Default for HoldQueue {
    fn default() -> HoldQueue {
        HoldQueue { queues: (0..LINKS).map(|_| VecDeque::new()).collect(), packets: 0, bytes: 0 }
    }
}

impl HoldQueue {
    /// Holds a packet of a link for this long; packets of one link stay in order.
    ///
    /// # Errors
    /// The packet, if the queue has no room for it: the caller sends the packet at once.
    pub fn hold_packet(
        &mut self,
        link: usize,
        now: MonotonicTime,
        hold: Duration,
        packet: Vec<u8>,
    ) -> Result<(), Vec<u8>> {
        let full = self.packets >= PACKETS || self.bytes + packet.len() > BYTES;
        let Some(row) = self.queues.get_mut(link).filter(|_| !full) else { return Err(packet) };
        let due = row.back().map_or(MonotonicTime(0), |last| last.due).max(now + hold);
        self.packets += 1;
        self.bytes += packet.len();
        row.push_back(HeldPacket { due, packet });
        Ok(())
    }

    /// The next packet that is due, the earliest first.
    pub fn take_due(&mut self, now: MonotonicTime) -> Option<Vec<u8>> {
        let (due, row) = self
            .queues
            .iter_mut()
            .filter_map(|row| Some((row.front()?.due, row)))
            .min_by_key(|one| one.0)?;
        if due > now {
            return None;
        }
        let HeldPacket { packet, .. } = row.pop_front()?;
        self.packets -= 1;
        self.bytes -= packet.len();
        Some(packet)
    }

    /// When the next packet is due.
    pub fn next_due(&self) -> Option<MonotonicTime> {
        self.queues.iter().filter_map(|row| row.front()).map(|held| held.due).min()
    }

    pub fn packets(&self) -> usize {
        self.packets
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn packets_leave_when_they_are_due_in_the_order_of_their_link() {
        let mut shelf = HoldQueue::default();
        let hold = Duration::from_millis;
        shelf.hold_packet(0, MonotonicTime(0), hold(8), vec![1]).unwrap();
        shelf.hold_packet(0, MonotonicTime(MS), hold(2), vec![2]).unwrap();
        shelf.hold_packet(1, MonotonicTime(MS), hold(4), vec![3]).unwrap();
        assert_eq!(
            (shelf.next_due(), shelf.take_due(MonotonicTime(4 * MS))),
            (Some(MonotonicTime(5 * MS)), None)
        );
        assert_eq!(shelf.take_due(MonotonicTime(5 * MS)), Some(vec![3]));
        assert_eq!(shelf.take_due(MonotonicTime(9 * MS)), Some(vec![1]), "due before, and first");
        assert_eq!(shelf.take_due(MonotonicTime(9 * MS)), Some(vec![2]));
        assert_eq!((shelf.next_due(), shelf.packets()), (None, 0));
    }

    #[test]
    fn a_full_queue_gives_packets_back() {
        let mut shelf = HoldQueue::default();
        for _ in 0..PACKETS {
            shelf.hold_packet(0, MonotonicTime(0), Duration::ZERO, Vec::new()).unwrap();
        }
        assert_eq!(shelf.hold_packet(0, MonotonicTime(0), Duration::ZERO, vec![7]), Err(vec![7]));
        assert_eq!(
            HoldQueue::default().hold_packet(LINKS, MonotonicTime(0), Duration::ZERO, vec![7]),
            Err(vec![7])
        );
        let mut shelf = HoldQueue::default();
        shelf.hold_packet(0, MonotonicTime(0), Duration::ZERO, vec![0; BYTES]).unwrap();
        assert!(shelf.hold_packet(0, MonotonicTime(0), Duration::ZERO, vec![7]).is_err());
        assert!(shelf.take_due(MonotonicTime(0)).is_some() && shelf.bytes == 0);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_or_early(acts in prop::collection::vec((0..8_usize, 0..9_u64, 0..9_u64), 0..200)) {
            let mut shelf = HoldQueue::default();
            let (mut now, mut left) = (0, acts.len());
            for (link, pause, hold) in acts {
                now += pause * MS;
                let due = MonotonicTime(now + hold * MS);
                shelf.hold_packet(link, MonotonicTime(now), Duration::from_millis(hold), due.0.to_be_bytes().into()).unwrap();
                while let Some(packet) = shelf.take_due(MonotonicTime(now)) {
                    let due = u64::from_be_bytes(packet.try_into().unwrap());
                    prop_assert!(due <= now);
                    left -= 1;
                }
            }
            prop_assert_eq!(left, shelf.packets());
        }
    }
}
