//! Lengths of time in the words of messages.

use std::time::Duration;

/// A time for people: two digits are enough.
pub fn format_duration(span: Duration) -> String {
    let micros = span.as_micros();
    match micros {
        0..10_000 => format!("{}.{} ms", micros / 1000, micros % 1000 / 100),
        10_000..1_000_000 => format!("{} ms", micros / 1000),
        _ if micros % 1_000_000 < 100_000 => format!("{} s", micros / 1_000_000),
        _ => format!("{}.{} s", micros / 1_000_000, micros % 1_000_000 / 100_000),
    }
}
