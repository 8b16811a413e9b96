//! `request_body`: the longest body of a request.

use crate::notes::ConversionNotes;
use crate::statement::ConfigStatement;

use super::route_state::RouteState;

/// The largest limit that can be written: 1,024 TiB.
const MOST: u64 = 1 << 50;

/// Units of sizes, in small letters. The longer ones stand before their ends.
const UNITS: [(&str, u64); 15] = [
    ("kib", 1 << 10),
    ("mib", 1 << 20),
    ("gib", 1 << 30),
    ("tib", 1 << 40),
    ("ki", 1 << 10),
    ("mi", 1 << 20),
    ("gi", 1 << 30),
    ("ti", 1 << 40),
    ("kb", 1_000),
    ("mb", 1_000_000),
    ("gb", 1_000_000_000),
    ("tb", 1_000_000_000_000),
    ("k", 1_000),
    ("m", 1_000_000),
    ("g", 1_000_000_000),
];

/// Reads the block of a `request_body`.
pub fn read(statement: &ConfigStatement, state: &mut RouteState, notes: &mut ConversionNotes) {
    statement.settle_converted(notes);
    for option in statement.inner() {
        if option.name != "max_size" {
            let reason =
                "bodies are passed on as they come, and their times are those of the service";
            option.leave_out(reason, "`timeout.between-bytes` of the service", notes);
            continue;
        }
        match size(option.word(0)) {
            Some(0) => {
                option.settle_converted(notes);
                state.body_bytes = None;
            }
            Some(bytes) => {
                option.settle_converted(notes);
                state.body_bytes = Some(bytes.min(MOST));
            }
            None => {
                let reason = "not a size: bodies have no limit here";
                option.leave_out(reason, "`body-bytes` in a rule", notes);
            }
        }
    }
}

/// A size as Caddy reads it: units with an `i` are powers of 1,024, others of 1,000.
fn size(text: &str) -> Option<u64> {
    let lower = text.to_ascii_lowercase();
    let found = UNITS.iter().find(|(unit, _)| lower.ends_with(unit));
    let (number, factor) = match found {
        Some((unit, factor)) => (lower.strip_suffix(unit)?, *factor),
        None => (lower.strip_suffix('b').unwrap_or(&lower), 1),
    };
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let digits = |text: &str| text.len() <= 15 && text.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(part) || whole.is_empty() {
        return None;
    }
    let bytes = whole.parse::<u64>().ok()?.checked_mul(factor)?;
    let scale = 10u128.pow(u32::try_from(part.len()).ok()?);
    let rest = part.parse::<u64>().unwrap_or(0);
    let rest = u128::from(rest) * u128::from(factor) / scale;
    bytes.checked_add(u64::try_from(rest).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_decimal_and_binary_units() {
        for (text, bytes) in [
            ("10MB", Some(10_000_000)),
            ("10MiB", Some(10 << 20)),
            ("1.5kb", Some(1_500)),
            ("512", Some(512)),
            ("512B", Some(512)),
            ("0", Some(0)),
            ("2G", Some(2_000_000_000)),
            ("", None),
            ("MB", None),
            ("-1", None),
            ("1e9", None),
            ("99999999999999TB", None),
        ] {
            assert_eq!(size(text), bytes, "{text}");
        }
    }
}
