//! Verifies socket options: buffer sizes for the expected path.

use std::time::Duration;

use crate::config::finding::{FindingCollector, FindingDetails};
use crate::config::section::ConfigSection;
use crate::config::unit::{ByteSize, Time, rounded_rate};

/// Warns of a buffer size below rate × round trip, with the rate that it allows.
pub fn verify_socket(socket: &ConfigSection, path: &str, sink: &mut FindingCollector<'_, '_>) {
    let Some(hint) = socket.table("path") else { return };
    let (Some(rate), Some(round_trip)) = (hint.count::<u64>("rate"), hint.time("round-trip"))
    else {
        return;
    };
    for key in ["send-buffer", "receive-buffer"] {
        let Some(buffer) = socket.count::<u64>(key) else { continue };
        let Some(achievable) =
            achievable_rate(buffer, round_trip).filter(|achievable| *achievable < rate)
        else {
            continue;
        };
        // Inherited options are verified where they are written.
        if !(socket.is_written(key) || socket.is_written("path")) {
            continue;
        }
        let message = format!(
            "{} bytes at {} carry at most {}",
            group_digits(buffer),
            Time(round_trip),
            rounded_rate(achievable)
        );
        let needed = needed_window(rate, round_trip);
        let expected = format!(
            "\"auto\" (the kernel's autotuning), or at least \"{}\" ({} bytes) for {}",
            ByteSize(needed.next_multiple_of(1_024)),
            group_digits(needed),
            rounded_rate(rate)
        );
        sink.warning(
            socket.span_of(key),
            &format!("{path}.{key}"),
            FindingDetails::new(message).with_expected(expected),
        );
    }
}

/// Bits per second that a window of `bytes` allows with a round trip; `None`: no bound.
pub fn achievable_rate(bytes: u64, round_trip: Duration) -> Option<u64> {
    let nanos = round_trip.as_nanos();
    let bits = u128::from(bytes) * 8 * 1_000_000_000;
    bits.checked_div(nanos).map(|rate| u64::try_from(rate).unwrap_or(u64::MAX))
}

/// Bytes in flight that a rate needs with a round trip, rounded up.
pub fn needed_window(rate: u64, round_trip: Duration) -> u64 {
    let bytes = (u128::from(rate) * round_trip.as_nanos()).div_ceil(8 * 1_000_000_000);
    u64::try_from(bytes).unwrap_or(u64::MAX / 2)
}

fn group_digits(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    // Rows: C03
    /// The study 'A Tale of Two Load Balancers': windows, and the rates that they allow at 130 ms.
    #[test]
    fn the_windows_of_the_study_at_130_ms() {
        let round_trip = Duration::from_millis(130);
        for (bytes, kilobits, text) in [
            (32_768, 2_016, "2.0 Mbit/s"),
            (65_535, 4_032, "4.0 Mbit/s"),
            (131_072, 8_065, "8.1 Mbit/s"),
            (262_143, 16_131, "16.1 Mbit/s"),
        ] {
            let rate = achievable_rate(bytes, round_trip).unwrap();
            assert_eq!(rate / 1_000, kilobits, "{bytes}");
            assert_eq!(rounded_rate(rate), text);
        }
        assert_eq!(needed_window(7_500_000, round_trip), 121_875);
        assert_eq!(achievable_rate(32_768, Duration::ZERO), None);
        assert_eq!(achievable_rate(u64::MAX, Duration::from_nanos(1)), Some(u64::MAX));
        assert_eq!(
            (group_digits(32_768), group_digits(999), group_digits(1_000_000)),
            ("32,768".into(), "999".into(), "1,000,000".into())
        );
    }
}
