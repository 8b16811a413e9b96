//! Batches one worker's log lines for the writer.
//!
//! Lines are collected in a bounded buffer, which is handed to the writer as a whole when it is full or on the worker's
//! tick. If the writer's queue is full, the batch is dropped, and each service counts its dropped lines. Nothing here
//! waits.

use std::sync::Arc;

use model::stats::ServiceStats;

use crate::accounting::observer::PlaneObserver;

use super::line_limits::MAX_LINE_BYTES;

/// A batch of this many bytes is handed to the writer; the last line may exceed the limit.
/// About a hundred lines: one write to the file instead of a hundred.
const FULL: usize = 32 * 1024;

/// Lines that are not handed to the writer yet.
#[derive(Debug, Default)]
pub struct LogBatch {
    lines: Vec<u8>,
    /// The number of lines of each service, with its worker slot. Few services log in one batch, so a vector is enough.
    owners: Vec<LineOwner>,
}

#[derive(Debug)]
struct LineOwner {
    live: Arc<ServiceStats>,
    worker: usize,
    lines: u64,
}

impl LogBatch {
    /// Adds the line that `write` appends, for the service with these counters. A full batch is handed to the writer.
    pub fn add(
        &mut self,
        outside: &dyn PlaneObserver,
        live: &Arc<ServiceStats>,
        worker: usize,
        write: impl FnOnce(&mut Vec<u8>),
    ) {
        if self.lines.capacity() == 0 {
            self.lines.reserve_exact(FULL + MAX_LINE_BYTES);
        }
        write(&mut self.lines);
        match self.owners.iter_mut().find(|owner| Arc::ptr_eq(&owner.live, live)) {
            Some(owner) => owner.lines += 1,
            None => self.owners.push(LineOwner { live: live.clone(), worker, lines: 1 }),
        }
        if self.lines.len() >= FULL {
            self.flush(outside);
        }
    }

    /// Hands the collected lines to the writer.
    pub fn flush(&mut self, outside: &dyn PlaneObserver) {
        if self.lines.is_empty() {
            return;
        }
        let taken = outside.log(std::mem::take(&mut self.lines));
        for owner in self.owners.drain(..) {
            if let Some(slot) = owner.live.slots.get(owner.worker).filter(|_| !taken) {
                slot.counters.log_dropped.add(owner.lines);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicBool, Ordering};

    use crate::accounting::observer::PlaneObservation;

    use super::*;

    #[derive(Default)]
    struct BatchCollector {
        batches: Mutex<Vec<Vec<u8>>>,
        full: AtomicBool,
    }

    impl PlaneObserver for BatchCollector {
        fn observe(&self, _: PlaneObservation) {}

        fn log(&self, lines: Vec<u8>) -> bool {
            let full = self.full.load(Ordering::Relaxed);
            if !full {
                self.batches.lock().unwrap().push(lines);
            }
            !full
        }
    }

    #[test]
    fn full_batches_go_by_themselves_and_the_rest_with_the_tick() {
        let writer = BatchCollector::default();
        let live = Arc::new(ServiceStats::new(1));
        let mut batch = LogBatch::default();
        for _ in 0..100 {
            batch.add(&writer, &live, 0, |out| out.extend_from_slice(&[b'x'; 1000]));
        }
        let lengths = || writer.batches.lock().unwrap().iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(lengths(), [33_000, 33_000, 33_000]);
        batch.flush(&writer);
        batch.flush(&writer);
        assert_eq!(lengths(), [33_000, 33_000, 33_000, 1000]);
        assert_eq!(live.slots[0].counters.log_dropped.get(), 0);
    }

    #[test]
    fn dropped_lines_are_counted_with_their_service() {
        let writer = BatchCollector::default();
        let lives: [_; 2] = std::array::from_fn(|_| Arc::new(ServiceStats::new(2)));
        let mut batch = LogBatch::default();
        for at in 0..5 {
            batch.add(&writer, &lives[at % 2], 1, |out| out.push(b'\n'));
        }
        writer.full.store(true, Ordering::Relaxed);
        batch.flush(&writer);
        let dropped = lives.each_ref().map(|live| live.slots[1].counters.log_dropped.get());
        assert_eq!(dropped, [3, 2]);
        batch.flush(&writer);
        assert!(writer.batches.lock().unwrap().is_empty());
    }
}
