//! How long a worker's thread was ready to run and did not: others had the processor, or a quota of its cgroup was used up.
//!
//! The kernel adds these times up (`/proc/thread-self/schedstat`, Documentation/scheduler/sched-stats.rst). They are read
//! after a long wait or a long turn, and at most every five milliseconds beside that.

use std::cell::Cell;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Duration;

use model::monotonic_time::MonotonicTime;

use super::net_driver::NetDriver;

/// Shorter delays are ordinary on a shared machine, and shorter turns and waits cannot have had longer ones.
const WORTHY: Duration = Duration::from_millis(2);
/// A sum that is older may have delays of earlier turns in it.
const STALE: Duration = Duration::from_millis(5);

/// The delay of the current turn.
#[derive(Debug, Default)]
pub struct RunDelay {
    /// The kernel's sum at the last reading, nanoseconds.
    sum: Cell<u64>,
    read_at: Cell<MonotonicTime>,
    turn_began: Cell<MonotonicTime>,
    /// The delay within the last turn.
    within_turn: Cell<Duration>,
    held_since: Cell<Option<MonotonicTime>>,
}

impl RunDelay {
    /// Since when whatever happened before this turn could not be handled; `None`: the thread was not delayed.
    #[inline]
    pub fn held_since(&self) -> Option<MonotonicTime> {
        self.held_since.get()
    }

    /// A turn has ended, and the worker will wait for events.
    pub fn before_wait<N: NetDriver>(&self, net: &N, now: MonotonicTime) {
        let turn = now.since(self.turn_began.get());
        if turn < WORTHY && now.since(self.read_at.get()) < STALE {
            return self.within_turn.set(Duration::ZERO);
        }
        let delay = self.read(net, now);
        self.within_turn.set(if turn < WORTHY { Duration::ZERO } else { delay.min(turn) });
    }

    /// A turn begins with the events of the wait that began then; `NEVER`: there was none.
    pub fn after_wait<N: NetDriver>(&self, net: &N, begun: MonotonicTime, now: MonotonicTime) {
        if begun == MonotonicTime::NEVER {
            // Tasks that the last ones woke go on with the same events, for a moment.
            if now.since(self.turn_began.get()) >= WORTHY {
                self.held_since.set(None);
            }
            return;
        }
        let waited = now.since(begun);
        let delay = match waited < WORTHY {
            // What came during a long turn was found at once.
            true => self.within_turn.get(),
            false => self.read(net, now).min(waited),
        };
        let held = (delay >= WORTHY).then(|| now.0.saturating_sub(delay.as_nanos() as u64));
        self.held_since.set(held.map(MonotonicTime));
        self.turn_began.set(now);
    }

    /// The delay within this turn, for an exchange that ends in it.
    pub fn within_turn<N: NetDriver>(&self, net: &N) -> Duration {
        let before = self.sum.get();
        let sum = net.run_delay_ns().filter(|_| before > 0).unwrap_or(before);
        let delay = Duration::from_nanos(sum.saturating_sub(before));
        if delay < WORTHY { Duration::ZERO } else { delay }
    }

    /// The delay since the last reading.
    fn read<N: NetDriver>(&self, net: &N, now: MonotonicTime) -> Duration {
        let Some(sum) = net.run_delay_ns() else { return Duration::ZERO };
        let is_first = self.read_at.replace(now) == MonotonicTime::default();
        let before = self.sum.replace(sum);
        if is_first { Duration::ZERO } else { Duration::from_nanos(sum.saturating_sub(before)) }
    }
}

/// The file with the times of the calling thread. `None`: this kernel has none.
pub fn open_schedule_times() -> Option<File> {
    File::open("/proc/thread-self/schedstat").ok()
}

/// The sum of the thread's delays, nanoseconds.
pub fn read_schedule_times(file: &File) -> Option<u64> {
    let mut buffer = [0; 96];
    let n = file.read_at(&mut buffer, 0).ok()?;
    parse_schedule_times(buffer.get(..n)?)
}

/// Times on the processor and in the run queue, and the number of slices.
fn parse_schedule_times(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_number_is_the_delay() {
        assert_eq!(parse_schedule_times(b"5 100790 1\n"), Some(100_790));
        for text in [&b""[..], b"5", b"5 x 1", b"\xff \xff"] {
            assert_eq!(parse_schedule_times(text), None);
        }
    }

    #[test]
    fn the_kernel_adds_up_the_delays_of_this_thread() {
        let Some(file) = open_schedule_times() else { return };
        let first = read_schedule_times(&file).unwrap();
        assert!(read_schedule_times(&file).unwrap() >= first);
    }
}
