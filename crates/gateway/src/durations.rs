//! Durations of Gateway API (GEP-2257): up to four whole numbers, each with `h`, `m`, `s` or `ms`.

/// The milliseconds of a duration; `None`: it is none.
pub fn parse_milliseconds(text: &str) -> Option<u64> {
    let mut rest = text;
    let mut sum: u64 = 0;
    let mut parts = 0;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let unit = rest[digits..].bytes().take_while(u8::is_ascii_lowercase).count();
        let factor = match &rest[digits..digits + unit] {
            "h" => 3_600_000,
            "m" => 60_000,
            "s" => 1_000,
            "ms" => 1,
            _ => return None,
        };
        parts += 1;
        if !(1..=5).contains(&digits) || parts > 4 {
            return None;
        }
        let number: u64 = rest[..digits].parse().ok()?;
        sum = sum.checked_add(number.checked_mul(factor)?)?;
        rest = &rest[digits + unit..];
    }
    (parts > 0).then_some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read() {
        for (text, milliseconds) in [
            ("10s", Some(10_000)),
            ("1h30m", Some(5_400_000)),
            ("0s", Some(0)),
            ("500ms", Some(500)),
            ("1m1s1ms", Some(61_001)),
            ("", None),
            ("10", None),
            ("1.5s", None),
            ("100000s", None),
            ("1s1s1s1s1s", None),
            ("1\u{fc}", None),
        ] {
            assert_eq!(parse_milliseconds(text), milliseconds, "{text}");
        }
    }
}
