//! Delays of the thread between what a stream hands over and the flush that sends it.

use std::cell::Cell;

use crate::rt::run_delay::HeldInterval;

/// The flushes of a connection, and the last delay before one.
#[derive(Debug, Default)]
pub struct FlushDelay {
    flushes: Cell<u64>,
    last: Cell<Option<HeldFlush>>,
}

/// What streams had handed over since the flush before was sent after this delay.
#[derive(Clone, Copy, Debug)]
struct HeldFlush {
    number: u64,
    held: HeldInterval,
}

impl FlushDelay {
    /// What the streams have handed over will be written; `held`: the thread's delay before that.
    pub fn begin_flush(&self, held: Option<HeldInterval>) {
        let number = self.flushes.get() + 1;
        self.flushes.set(number);
        if let Some(held) = held {
            self.last.set(Some(HeldFlush { number, held }));
        }
    }

    /// The number of flushes so far.
    pub fn flushes(&self) -> u64 {
        self.flushes.get()
    }

    /// The delay before the flush that followed so many.
    pub fn held_after(&self, flushes: u64) -> Option<HeldInterval> {
        let last = self.last.get()?;
        (last.number == flushes + 1).then_some(last.held)
    }
}

#[cfg(test)]
mod tests {
    use model::monotonic_time::MonotonicTime;

    use super::*;

    #[test]
    fn a_delay_is_told_to_those_alone_whose_bytes_it_held() {
        let delay = FlushDelay::default();
        let held = HeldInterval { from: MonotonicTime(10), to: MonotonicTime(300) };
        delay.begin_flush(None);
        let early = delay.flushes();
        assert_eq!(delay.held_after(early), None);
        delay.begin_flush(Some(held));
        let late = delay.flushes();
        delay.begin_flush(None);
        assert_eq!(delay.held_after(early), Some(held));
        assert_eq!(delay.held_after(late), None);
    }
}
