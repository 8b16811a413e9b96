//! Sizes in bytes, in Steelyard's format.

/// A number of bytes, in the configuration's format: in the largest unit that divides it.
pub fn format_size(bytes: u64) -> String {
    const UNITS: [(u64, &str); 4] =
        [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let unit = UNITS.iter().find(|(size, _)| bytes > 0 && bytes.is_multiple_of(*size));
    match unit {
        Some((size, unit)) => format!("\"{}{unit}\"", bytes / size),
        None => format!("\"{bytes}B\""),
    }
}

/// Parses `8192`, `8k`, `10M` or `1g`, whose units are powers of 1,024. `None` if the text is no such size, or above 2^63.
pub fn parse_size(text: &str) -> Option<u64> {
    let shift = match text.bytes().last()? {
        b'k' | b'K' => 10,
        b'm' | b'M' => 20,
        b'g' | b'G' => 30,
        _ => 0,
    };
    let digits = if shift == 0 { text } else { &text[..text.len() - 1] };
    // `parse` would take a sign.
    let number = digits
        .bytes()
        .all(|digit| digit.is_ascii_digit())
        .then(|| digits.parse::<u64>().ok())??;
    number.checked_mul(1 << shift).filter(|bytes| *bytes <= i64::MAX as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_written_in_the_largest_unit() {
        for (text, bytes, written) in [
            ("0", 0, "\"0B\""),
            ("1", 1, "\"1B\""),
            ("1500", 1_500, "\"1500B\""),
            ("8k", 8_192, "\"8KiB\""),
            ("1024K", 1 << 20, "\"1MiB\""),
            ("10m", 10 << 20, "\"10MiB\""),
            ("1025M", 1_025 << 20, "\"1025MiB\""),
            ("4G", 4 << 30, "\"4GiB\""),
            ("1024g", 1 << 40, "\"1TiB\""),
        ] {
            assert_eq!(parse_size(text), Some(bytes), "{text}");
            assert_eq!(format_size(bytes), written, "{text}");
        }
        for text in [
            "",
            "m",
            "1mb",
            "-1",
            "+1",
            "1 m",
            "1.5m",
            "9223372036854775808",
            "9999999999999g",
            "ä",
        ] {
            assert_eq!(parse_size(text), None, "{text}");
        }
    }
}
