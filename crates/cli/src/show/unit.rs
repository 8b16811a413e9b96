//! Numbers for people: counts, rates, sizes, spans and moments. All are pure; none reads a clock.

pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

pub fn signed(number: i64) -> String {
    let sign = if number < 0 { "-" } else { "" };
    format!("{sign}{}", count(number.unsigned_abs()))
}

/// A rate: `0`, `0.25`, `12.3`, `1,234`.
pub fn rate(per_second: f64) -> String {
    match per_second {
        r if !r.is_finite() || r < 0.005 => "0".to_owned(),
        r if r < 9.995 => format!("{r:.2}"),
        r if r < 99.95 => format!("{r:.1}"),
        r => count(r.round() as u64),
    }
}

/// `512 B`, `1.5 KiB`, `12.3 MiB`.
pub fn bytes(number: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if number < 1024 {
        return format!("{number} B");
    }
    let mut value = number as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1023.95 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// `850 us`, `1.2 ms`, `3.5 s`.
pub fn micros(number: u64) -> String {
    match number {
        0..1000 => format!("{number} us"),
        1000..9_995 => format!("{:.1} ms", number as f64 / 1e3),
        9_995..999_500 => format!("{:.0} ms", number as f64 / 1e3),
        _ => format!("{:.1} s", number as f64 / 1e6),
    }
}

/// A percentage with at most three decimals, never rounded up: `99.95 %`.
pub fn percent(percent: f64) -> String {
    let text = format!("{:.3}", (percent * 1e3 + 1e-6).floor() / 1e3);
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{} %", if text == "-0" { "0" } else { text })
}

/// What is left of an error budget; how far it is overspent says no more than that it is.
pub fn budget_left(left_percent: f64) -> String {
    if left_percent < 0.0 { "overspent".to_owned() } else { percent(left_percent) }
}

/// The two largest parts of a span: `820ms`, `12s`, `3m12s`, `5h2m`, `12d3h`.
pub fn span(millis: u64) -> String {
    let seconds = millis / 1000;
    let parts = |large: u64, large_unit: &str, small: u64, small_unit: &str| match small {
        0 => format!("{large}{large_unit}"),
        small => format!("{large}{large_unit}{small}{small_unit}"),
    };
    match seconds {
        0 => format!("{millis}ms"),
        1..60 => format!("{seconds}s"),
        60..3600 => parts(seconds / 60, "m", seconds % 60, "s"),
        3600..86_400 => parts(seconds / 3600, "h", seconds % 3600 / 60, "m"),
        _ => parts(seconds / 86_400, "d", seconds % 86_400 / 3600, "h"),
    }
}

/// A moment in UTC: `2026-02-28 13:05:09Z`.
pub fn moment(unix_ms: u64) -> String {
    let seconds = unix_ms / 1000;
    let (year, month, day) = civil_date(seconds / 86_400);
    let hour = seconds / 3600 % 24;
    let minute = seconds / 60 % 60;
    let second = seconds % 60;
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}Z")
}

/// The Gregorian date of a day counted from 1970-01-01: years are counted from March so that the leap day comes
/// last, in eras of 400 years that all have the same number of days.
fn civil_date(day: u64) -> (u64, u64, u64) {
    /// 400 years of 365 days and 97 leap days.
    const ERA: u64 = 146_097;
    let from_march_of_year_0 = day + 719_468;
    let era = from_march_of_year_0 / ERA;
    let of_era = from_march_of_year_0 % ERA;
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / (ERA - 1)) / 365;
    let day_of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        let rows: &[(String, &str)] = &[
            (count(0), "0"),
            (count(999), "999"),
            (count(1000), "1,000"),
            (count(u64::MAX), "18,446,744,073,709,551,615"),
            (signed(-12345), "-12,345"),
            (signed(i64::MIN), "-9,223,372,036,854,775,808"),
            (percent(100.0), "100 %"),
            (percent(99.95), "99.95 %"),
            (percent(99.999_9), "99.999 %"),
            (percent(-1250.5), "-1250.5 %"),
            (percent(0.0), "0 %"),
            (rate(0.0), "0"),
            (rate(f64::NAN), "0"),
            (rate(0.25), "0.25"),
            (rate(9.999), "10.0"),
            (rate(99.97), "100"),
            (rate(1234.4), "1,234"),
            (bytes(0), "0 B"),
            (bytes(1023), "1023 B"),
            (bytes(1536), "1.5 KiB"),
            (bytes(1024 * 1024 - 1), "1.0 MiB"),
            (bytes(u64::MAX), "16.0 EiB"),
            (micros(999), "999 us"),
            (micros(1250), "1.2 ms"),
            (micros(9_995), "10 ms"),
            (micros(999_499), "999 ms"),
            (micros(1_500_000), "1.5 s"),
            (span(0), "0ms"),
            (span(59_999), "59s"),
            (span(60_000), "1m"),
            (span(192_000), "3m12s"),
            (span(18_120_000), "5h2m"),
            (span(1_047_600_000), "12d3h"),
        ];
        for (found, expected) in rows {
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn moments_are_right_at_the_edges_of_the_calendar() {
        for (unix, expected) in [
            (0, "1970-01-01 00:00:00Z"),
            (951_782_399, "2000-02-28 23:59:59Z"),
            (951_782_400, "2000-02-29 00:00:00Z"),
            (951_868_800, "2000-03-01 00:00:00Z"),
            (1_767_225_599, "2025-12-31 23:59:59Z"),
            (4_107_542_400, "2100-03-01 00:00:00Z"),
        ] {
            assert_eq!(moment(unix * 1000), expected);
        }
    }
}
