//! Converts a worker's times and seconds since 1970 to UTC dates, and formats dates and durations.
//!
//! The proleptic Gregorian calendar, counted in eras of 400 years that begin in March (Hinnant, "chrono-Compatible
//! Low-Level Date Algorithms"). Time zones and leap seconds are not supported.

use std::io::Write;
use std::time::Duration;

use model::monotonic_time::MonotonicTime;

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Converts a worker's monotonic times to wall-clock times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WallOrigin {
    /// Nanoseconds from 1970 to `MonotonicTime(0)`.
    pub origin_nanos: u64,
}

impl WallOrigin {
    pub(super) fn date(self, moment: MonotonicTime) -> Date {
        Date::from_unix_nanos(self.origin_nanos.saturating_add(moment.0))
    }
}

/// A date and time in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Date {
    year: u64,
    month: u64,
    day: u64,
    hour: u64,
    minute: u64,
    second: u64,
    milli: u64,
}

impl Date {
    /// From nanoseconds since 1970-01-01T00:00:00Z.
    pub fn from_unix_nanos(nanos: u64) -> Date {
        let millis = nanos / 1_000_000;
        let seconds = millis / 1000;
        let (year, month, day) = civil(seconds / 86_400);
        Date {
            year,
            month,
            day,
            hour: seconds / 3600 % 24,
            minute: seconds / 60 % 60,
            second: seconds % 60,
            milli: millis % 1000,
        }
    }

    /// RFC 3339 with milliseconds: `2026-03-01T00:00:00.000Z`.
    pub fn write_rfc3339(&self, out: &mut Vec<u8>) {
        let Date { year, month, day, hour, minute, second, milli } = self;
        // Writing to a Vec cannot fail.
        let _ = write!(
            out,
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z"
        );
    }

    /// As CEF has it: `Mar 01 2026 00:00:00.000 UTC`.
    pub fn write_month_first(&self, out: &mut Vec<u8>) {
        let Date { year, month, day, hour, minute, second, milli } = self;
        let month = MONTHS.get(*month as usize - 1).unwrap_or(&"???");
        let _ = write!(
            out,
            "{month} {day:02} {year:04} {hour:02}:{minute:02}:{second:02}.{milli:03} UTC"
        );
    }

    /// The common log format: `01/Mar/2026:00:00:00 +0000`.
    pub fn write_common(&self, out: &mut Vec<u8>) {
        let Date { year, month, day, hour, minute, second, .. } = self;
        let month = MONTHS.get(*month as usize - 1).unwrap_or(&"???");
        let _ = write!(out, "{day:02}/{month}/{year:04}:{hour:02}:{minute:02}:{second:02} +0000");
    }
}

/// Writes milliseconds with three decimals, so microseconds.
pub(super) fn write_millis(time: Duration, out: &mut Vec<u8>) {
    let micros = time.as_micros();
    // Writing to a Vec cannot fail.
    let _ = write!(out, "{}.{:03}", micros / 1000, micros % 1000);
}

/// Year, month (1–12) and day (1–31), for a number of days after 1970-01-01.
fn civil(days: u64) -> (u64, u64, u64) {
    // Days since 0000-03-01: years then start in March, so a leap day is the last day of its year.
    let days = days + 719_468;
    let era = days / 146_097;
    let of_era = days % 146_097;
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_based = (5 * of_year + 2) / 153;
    let day = of_year - (153 * march_based + 2) / 5 + 1;
    let month = if march_based < 10 { march_based + 3 } else { march_based - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_follow_the_calendar_for_eight_centuries() {
        let leap = |year: u64| {
            year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
        };
        let mut days = 0;
        for year in 1970..2770 {
            let february = if leap(year) { 29 } else { 28 };
            let lengths = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
            for (month, length) in lengths.into_iter().enumerate() {
                for day in 1..=length {
                    assert_eq!(civil(days), (year, month as u64 + 1, day));
                    days += 1;
                }
            }
        }
    }

    #[test]
    fn rows() {
        let rows = [
            (0, "1970-01-01T00:00:00.000Z", "01/Jan/1970:00:00:00 +0000"),
            (951_782_399_999_999_999, "2000-02-28T23:59:59.999Z", "28/Feb/2000:23:59:59 +0000"),
            (951_782_400_000_000_000, "2000-02-29T00:00:00.000Z", "29/Feb/2000:00:00:00 +0000"),
            (1_795_297_261_042_000_000, "2026-11-21T21:41:01.042Z", "21/Nov/2026:21:41:01 +0000"),
            (u64::MAX, "2554-07-21T23:34:33.709Z", "21/Jul/2554:23:34:33 +0000"),
        ];
        for (nanos, rfc3339, common) in rows {
            let mut out = Vec::new();
            Date::from_unix_nanos(nanos).write_rfc3339(&mut out);
            assert_eq!(str::from_utf8(&out).unwrap(), rfc3339);
            out.clear();
            Date::from_unix_nanos(nanos).write_common(&mut out);
            assert_eq!(str::from_utf8(&out).unwrap(), common);
        }
    }
}
