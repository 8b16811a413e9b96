//! Which stream's data is sent next (RFC 9218 §10): the most urgent first; incremental ones of a level take turns, and
//! others are sent one after the other.

use std::collections::VecDeque;

use super::priority::{StreamPriority, URGENCIES};

/// Streams that have data and may send it.
#[derive(Debug, Default)]
pub(super) struct SendScheduler {
    levels: [VecDeque<u32>; URGENCIES],
    count: usize,
}

impl SendScheduler {
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds a stream that is not queued.
    pub(super) fn add(&mut self, stream: u32, priority: StreamPriority) {
        if let Some(level) = self.levels.get_mut(usize::from(priority.urgency)) {
            level.push_back(stream);
            self.count += 1;
        }
    }

    /// Takes the stream whose turn it is.
    pub(super) fn take(&mut self) -> Option<u32> {
        let stream = self.levels.iter_mut().find_map(VecDeque::pop_front)?;
        self.count -= 1;
        Some(stream)
    }

    /// Puts a stream back that has more data after its turn.
    pub(super) fn put_back(&mut self, stream: u32, priority: StreamPriority) {
        if priority.incremental {
            return self.add(stream, priority);
        }
        if let Some(level) = self.levels.get_mut(usize::from(priority.urgency)) {
            level.push_front(stream);
            self.count += 1;
        }
    }

    /// Removes a queued stream.
    pub(super) fn remove(&mut self, stream: u32, priority: StreamPriority) {
        let Some(level) = self.levels.get_mut(usize::from(priority.urgency)) else { return };
        if let Some(at) = level.iter().position(|queued| *queued == stream) {
            level.remove(at);
            self.count -= 1;
        }
    }

    pub(super) fn clear(&mut self) {
        self.levels.iter_mut().for_each(VecDeque::clear);
        self.count = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_follow_urgency_and_increments() {
        let priority = |urgency, incremental| StreamPriority { urgency, incremental };
        let streams = [
            (1, priority(3, true)),
            (3, priority(3, true)),
            (5, priority(1, false)),
            (7, priority(1, false)),
            (9, priority(7, true)),
        ];
        let of = |stream: u32| streams.iter().find(|row| row.0 == stream).unwrap().1;
        let mut scheduler = SendScheduler::default();
        streams.iter().for_each(|(stream, priority)| scheduler.add(*stream, *priority));
        let mut turns = std::collections::BTreeMap::new();
        let mut order = Vec::new();
        while let Some(stream) = scheduler.take() {
            order.push(stream);
            let turn = turns.entry(stream).or_insert(0);
            *turn += 1;
            if *turn < 2 {
                scheduler.put_back(stream, of(stream));
            }
        }
        assert_eq!(order, [5, 5, 7, 7, 1, 3, 1, 3, 9, 9]);
        assert!(scheduler.is_empty());
        scheduler.add(1, of(1));
        scheduler.remove(3, of(3));
        scheduler.remove(1, of(1));
        assert!(scheduler.is_empty() && scheduler.take().is_none());
    }
}
