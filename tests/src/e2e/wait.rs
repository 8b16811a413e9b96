//! Waits for a condition, with a deadline.
//!
//! The condition is polled every few milliseconds, because the awaited events happen in other processes and send no
//! notification.

use std::time::{Duration, Instant};

/// The longest duration of any operation on a busy machine.
pub const DEADLINE: Duration = Duration::from_secs(30);

const LOOK: Duration = Duration::from_millis(4);

/// Polls until there is a value, and returns it.
///
/// # Panics
///
/// The deadline passed; the message names `what`.
pub fn until_some<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < DEADLINE, "in {DEADLINE:?} never: {what}");
        std::thread::park_timeout(LOOK);
    }
}

/// Polls until the condition holds.
///
/// # Panics
///
/// As `until_some`.
pub fn until(what: &str, mut look: impl FnMut() -> bool) {
    until_some(what, || look().then_some(()));
}

/// Polls until the condition holds (`true`) or the deadline passes (`false`), for tests with a more precise message.
pub fn reached(mut look: impl FnMut() -> bool) -> bool {
    let begun = Instant::now();
    while !look() {
        if begun.elapsed() >= DEADLINE {
            return false;
        }
        std::thread::park_timeout(LOOK);
    }
    true
}

/// Sleeps. Only for simulated slowness, never to wait for a condition.
pub fn linger(time: Duration) {
    let until = Instant::now() + time;
    while let Some(left) = until.checked_duration_since(Instant::now()).filter(|it| !it.is_zero()) {
        std::thread::park_timeout(left);
    }
}
