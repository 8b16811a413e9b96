//! Durations of other dialects, in Steelyard's format.

use crate::source::SourcePlace;

/// A time that the source file sets, and where it sets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimeSetting {
    /// The time in milliseconds.
    pub ms: u64,
    pub source: SourcePlace,
}

/// The longest timeout of a service or a pool, in milliseconds: seven days.
pub const LONGEST_TIMEOUT: u64 = 7 * 86_400_000;

/// A time in milliseconds, in the configuration's format.
pub fn format_duration(ms: u64) -> String {
    /// The configuration's units in milliseconds, the largest first. The first unit that divides the time is written.
    const UNITS: [(u64, &str); 4] =
        [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s")];
    let unit = UNITS.iter().find(|(size, _)| ms > 0 && ms.is_multiple_of(*size));
    match unit {
        Some((size, unit)) => format!("\"{}{unit}\"", ms / size),
        None if ms == 0 => "\"0s\"".to_owned(),
        None => format!("\"{ms}ms\""),
    }
}

/// Parses `10`, `10s` or `1m30s`. A number without a unit counts as `bare` milliseconds. `None` if the text is not a
/// duration, or is longer than a century.
pub fn parse_duration(text: &str, bare: u64) -> Option<u64> {
    /// No setting of the configuration accepts a longer time. The bound also prevents overflow of sums.
    const LONGEST: u64 = 100 * 366 * 86_400_000;
    let mut total = 0u64;
    let mut rest = text;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, after) = rest.split_at(digits);
        let letters =
            after.len() - after.trim_start_matches(|c: char| c.is_ascii_alphabetic()).len();
        let (unit, after) = after.split_at(letters);
        let number: u64 = number.parse().ok()?;
        let ms = match unit {
            "us" => number / 1_000,
            "" => number.checked_mul(bare)?,
            "ms" => number,
            "s" => number.checked_mul(1_000)?,
            "m" => number.checked_mul(60_000)?,
            "h" => number.checked_mul(3_600_000)?,
            "d" => number.checked_mul(86_400_000)?,
            "w" => number.checked_mul(604_800_000)?,
            _ => return None,
        };
        total = total.checked_add(ms)?;
        rest = after;
    }
    (total <= LONGEST).then_some(total)
}

/// Seconds with a fraction, such as `0.5`.
pub fn parse_seconds(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() && part.is_empty() || !digits(whole) || !digits(part) {
        return None;
    }
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    // Milliseconds are the finest resolution of the configuration.
    let part: String = part.chars().chain("000".chars()).take(3).collect();
    whole.checked_mul(1_000)?.checked_add(part.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_and_written() {
        for (text, bare, ms) in [
            ("10", 1, Some(10)),
            ("10", 1_000, Some(10_000)),
            ("1m30s", 1, Some(90_000)),
            ("1w", 1, Some(604_800_000)),
            ("", 1, None),
            ("s", 1, None),
            ("5x", 1, None),
            ("99999999999999999999", 1, None),
            ("9999999999d", 1, None),
        ] {
            assert_eq!(parse_duration(text, bare), ms, "{text}");
        }
        for (text, ms) in
            [("1", Some(1_000)), ("0.25", Some(250)), (".5", Some(500)), ("x", None), (".", None)]
        {
            assert_eq!(parse_seconds(text), ms, "{text}");
        }
        for (ms, text) in
            [(0, "0s"), (250, "250ms"), (60_000, "1m"), (90_000, "90s"), (86_400_000, "1d")]
        {
            assert_eq!(format_duration(ms), format!("\"{text}\""));
        }
    }
}
