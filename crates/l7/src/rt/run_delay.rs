//! How long a worker's thread was ready to run and did not: others had the processor, or a quota of its cgroup was used up.
//!
//! The kernel adds these times up (`/proc/thread-self/schedstat`, Documentation/scheduler/sched-stats.rst). They are read
//! after a long wait or a long turn, and at most every five milliseconds beside that.

use std::cell::Cell;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Duration;

use model::monotonic_time::MonotonicTime;

/// Shorter delays are ordinary on a shared machine, and shorter turns and waits cannot have had longer ones.
const WORTHY: Duration = Duration::from_millis(2);
/// A sum that is older may have delays of earlier turns in it.
const STALE: Duration = Duration::from_millis(5);

/// A time for which the thread was ready to run and, but for a moment, did not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldInterval {
    pub from: MonotonicTime,
    pub to: MonotonicTime,
}

/// The delay of the current turn. `read_sum` reads the kernel's sum, where one is needed.
#[derive(Debug, Default)]
pub struct RunDelay {
    /// The kernel's sum at the last reading, nanoseconds.
    sum: Cell<u64>,
    read_at: Cell<MonotonicTime>,
    turn_began: Cell<MonotonicTime>,
    /// The delay within the last turn.
    within_turn: Cell<Duration>,
    /// The part of this turn's delay that was read before its end.
    read_in_turn: Cell<Duration>,
    held_since: Cell<Option<MonotonicTime>>,
    /// The same for what the last poll of events found; until the tasks before it have run, `held_since` is theirs.
    found_held_since: Cell<Option<MonotonicTime>>,
}

impl RunDelay {
    /// Since when whatever happened before this turn could not be handled; `None`: the thread was not delayed.
    #[inline]
    pub fn held_since(&self) -> Option<MonotonicTime> {
        self.held_since.get()
    }

    /// The tasks that were to run before the last poll of events have run.
    #[inline]
    pub fn after_carried_tasks(&self) {
        self.held_since.set(self.found_held_since.get());
    }

    /// A turn has ended, and the worker will wait for events.
    pub fn before_wait(&self, now: MonotonicTime, read_sum: impl FnOnce() -> Option<u64>) {
        let turn = now.since(self.turn_began.get());
        let earlier = self.read_in_turn.take();
        if turn < WORTHY && now.since(self.read_at.get()) < STALE {
            return self.within_turn.set(Duration::ZERO);
        }
        let delay = self.read(now, read_sum) + earlier;
        self.within_turn.set(if turn < WORTHY { Duration::ZERO } else { delay.min(turn) });
    }

    /// A turn begins with the events of the wait that began then; `NEVER`: there was none.
    pub fn after_wait(
        &self,
        begun: MonotonicTime,
        now: MonotonicTime,
        read_sum: impl FnOnce() -> Option<u64>,
    ) {
        if begun == MonotonicTime::NEVER {
            // Tasks that the last ones woke go on with the same events. What is found after a long turn came during it.
            if now.since(self.turn_began.get()) >= WORTHY {
                let carried = self.held_since.get();
                self.before_wait(now, read_sum);
                self.begin_turn(now, self.within_turn.get());
                self.held_since.set(carried.or(self.found_held_since.get()));
            }
            return;
        }
        let waited = now.since(begun);
        let delay = match waited < WORTHY {
            // What came during a long turn was found at once.
            true => self.within_turn.get(),
            false => self.read(now, read_sum).min(waited),
        };
        self.begin_turn(now, delay);
    }

    /// A turn begins. The thread was delayed until now.
    fn begin_turn(&self, now: MonotonicTime, delay: Duration) {
        let held = (delay >= WORTHY).then(|| now.0.saturating_sub(delay.as_nanos() as u64));
        self.held_since.set(held.map(MonotonicTime));
        self.found_held_since.set(held.map(MonotonicTime));
        self.turn_began.set(now);
    }

    /// The delay within this turn that nobody was told of yet, for an exchange whose next wait begins, or that ends, after
    /// it: no wait covers that time.
    #[inline]
    pub fn take_within_turn(
        &self,
        now: MonotonicTime,
        read_sum: impl FnOnce() -> Option<u64>,
    ) -> Duration {
        let turn = now.since(self.turn_began.get());
        // Whoever asked less than that ago was told of all that is worth a word.
        if turn < WORTHY || now.since(self.read_at.get()) < WORTHY {
            return Duration::ZERO;
        }
        let delay = self.read(now, read_sum).min(turn);
        self.read_in_turn.set(self.read_in_turn.get() + delay);
        if delay < WORTHY { Duration::ZERO } else { delay }
    }

    /// The delay before something that happens now, in a turn: one that the turn began with, or one within it.
    #[inline]
    pub fn held_until(
        &self,
        now: MonotonicTime,
        read_sum: impl FnOnce() -> Option<u64>,
    ) -> Option<HeldInterval> {
        let within = self.take_within_turn(now, read_sum);
        if !within.is_zero() {
            let from = MonotonicTime(now.0.saturating_sub(within.as_nanos() as u64));
            return Some(HeldInterval { from, to: now });
        }
        self.held_since().map(|from| HeldInterval { from, to: now })
    }

    /// The delay since the last reading.
    fn read(&self, now: MonotonicTime, read_sum: impl FnOnce() -> Option<u64>) -> Duration {
        let Some(sum) = read_sum() else { return Duration::ZERO };
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

    fn ms(milliseconds: u64) -> MonotonicTime {
        MonotonicTime(milliseconds * 1_000_000)
    }

    /// A sum of so many milliseconds.
    fn sum(milliseconds: u64) -> impl FnOnce() -> Option<u64> {
        move || Some(milliseconds * 1_000_000)
    }

    fn never() -> Option<u64> {
        panic!("nothing was to be read")
    }

    /// A thread whose turn began at 110 milliseconds, after a wait of ten.
    fn thread_in_a_turn() -> RunDelay {
        let delay = RunDelay::default();
        delay.before_wait(ms(100), sum(7));
        delay.after_wait(ms(100), ms(110), sum(7));
        assert_eq!(delay.held_since(), None);
        delay
    }

    #[test]
    fn a_delay_in_the_middle_of_a_turn_is_told_once() {
        let delay = thread_in_a_turn();
        assert_eq!(delay.take_within_turn(ms(111), never), Duration::ZERO);
        assert_eq!(delay.take_within_turn(ms(400), sum(287)), Duration::from_millis(280));
        assert_eq!(delay.take_within_turn(ms(401), never), Duration::ZERO);
        assert_eq!(delay.take_within_turn(ms(410), sum(290)), Duration::from_millis(3));
        // Whoever waited since before the turn was held for all of it.
        delay.before_wait(ms(420), sum(290));
        delay.after_wait(ms(420), ms(421), never);
        assert_eq!(delay.held_since(), Some(ms(421 - 283)));
        delay.before_wait(ms(422), never);
        delay.after_wait(ms(422), ms(423), never);
        assert_eq!(delay.held_since(), None);
    }

    #[test]
    fn whoever_is_found_after_a_long_turn_without_a_wait_was_held_for_its_delay() {
        let delay = thread_in_a_turn();
        delay.after_wait(MonotonicTime::NEVER, ms(111), never);
        assert_eq!(delay.held_since(), None);
        delay.after_wait(MonotonicTime::NEVER, ms(400), sum(287));
        assert_eq!(delay.held_since(), Some(ms(400 - 280)));
        delay.after_wait(MonotonicTime::NEVER, ms(401), never);
        assert_eq!(delay.held_since(), Some(ms(400 - 280)), "the same events");
        delay.after_wait(MonotonicTime::NEVER, ms(405), sum(287));
        assert_eq!(delay.held_since(), Some(ms(400 - 280)), "tasks that the ones before woke");
        delay.after_carried_tasks();
        assert_eq!(delay.held_since(), None, "what came while the turn took its time itself");
        delay.after_wait(MonotonicTime::NEVER, ms(425), sum(297));
        assert_eq!(delay.held_since(), Some(ms(425 - 10)), "whoever was woken before the delay");
        delay.after_carried_tasks();
        assert_eq!(delay.held_since(), Some(ms(425 - 10)));
    }

    #[test]
    fn what_happens_in_a_turn_was_held_by_the_delay_before_it() {
        let delay = thread_in_a_turn();
        assert_eq!(delay.held_until(ms(111), never), None);
        let held = HeldInterval { from: ms(120), to: ms(400) };
        assert_eq!(delay.held_until(ms(400), sum(287)), Some(held));
        delay.after_wait(MonotonicTime::NEVER, ms(401), sum(287));
        let held = HeldInterval { from: ms(401 - 280), to: ms(401) };
        assert_eq!(delay.held_until(ms(401), never), Some(held), "who was woken before it");
    }

    #[test]
    fn a_delay_is_no_longer_than_the_turn_or_the_wait() {
        let delay = thread_in_a_turn();
        assert_eq!(delay.take_within_turn(ms(113), sum(1_000)), Duration::from_millis(3));
        delay.before_wait(ms(113), sum(1_000));
        delay.after_wait(ms(113), ms(120), sum(2_000));
        assert_eq!(delay.held_since(), Some(ms(113)));
    }

    #[test]
    fn a_kernel_without_these_times_delays_nobody() {
        let delay = thread_in_a_turn();
        assert_eq!(delay.take_within_turn(ms(400), || None), Duration::ZERO);
        delay.before_wait(ms(410), || None);
        delay.after_wait(ms(410), ms(500), || None);
        assert_eq!(delay.held_since(), None);
    }

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
