//! Times on the command line: a span, a time of day, or a date and time; and how they are resolved.

use std::time::{SystemTime, UNIX_EPOCH};

use model::calendar::{CivilDateTime, DAY, WrittenDateTime};

use crate::common_args::span;

/// A moment as it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeSpec {
    /// So many milliseconds from now, or before now.
    Span(u64),
    /// Seconds since midnight, local time.
    Clock(i64),
    /// A date and time; with the offset that was written, else local time.
    Date(CivilDateTime, Option<i64>),
}

/// The accepted forms.
pub const FORMS: &str = "30m, 22:00, or 2026-11-22T22:00 (local time, or with Z or an offset)";

pub fn when(text: &str) -> Result<TimeSpec, String> {
    if let Ok(span) = span(text) {
        return Ok(TimeSpec::Span(u64::try_from(span.as_millis()).unwrap_or(u64::MAX)));
    }
    if let Some(WrittenDateTime { civil, offset }) = CivilDateTime::parse(text) {
        return Ok(TimeSpec::Date(civil, offset));
    }
    let today = CivilDateTime::parse(&format!("1970-01-01T{text}"));
    match today {
        Some(WrittenDateTime { civil, offset: None }) => Ok(TimeSpec::Clock(civil.unix_seconds())),
        _ => Err(format!("found '{text}', expected {FORMS}")),
    }
}

/// Milliseconds since 1970, now.
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

impl TimeSpec {
    /// In milliseconds since 1970; a span and a time of day lie after `now_ms`.
    pub fn ahead(self, now_ms: u64) -> u64 {
        self.resolve(now_ms, local, true)
    }

    /// In milliseconds since 1970; a span and a time of day lie before `now_ms`.
    pub fn before(self, now_ms: u64) -> u64 {
        self.resolve(now_ms, local, false)
    }

    fn resolve(self, now_ms: u64, offset: impl Fn(i64) -> i64, ahead: bool) -> u64 {
        let millis = |seconds: i64| u64::try_from(seconds).unwrap_or(0).saturating_mul(1000);
        match self {
            TimeSpec::Span(span) if ahead => now_ms.saturating_add(span),
            TimeSpec::Span(span) => now_ms.saturating_sub(span),
            TimeSpec::Clock(of_day) => {
                let now = i64::try_from(now_ms / 1000).unwrap_or(0);
                let local = now + offset(now);
                let mut then = local - local.rem_euclid(DAY) + of_day;
                match ahead {
                    true if then <= local => then += DAY,
                    false if then > local => then -= DAY,
                    _ => {}
                }
                millis(unix(then, &offset))
            }
            TimeSpec::Date(civil, Some(written)) => millis(civil.unix_seconds() - written),
            TimeSpec::Date(civil, None) => millis(unix(civil.unix_seconds(), &offset)),
        }
    }
}

/// The moment at which the clocks on the wall show so much. In an hour that comes twice: one of the two.
fn unix(wall: i64, offset: &impl Fn(i64) -> i64) -> i64 {
    wall - offset(wall - offset(wall))
}

fn local(unix_seconds: i64) -> i64 {
    daemon::local_time::offset_seconds(unix_seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_the_moment_that_is_meant() {
        // 2026-11-22 10:00:00Z, an hour ahead on the wall.
        let now = 1_795_341_600_000;
        let at = |text: &str, ahead| when(text).unwrap().resolve(now, |_| 3600, ahead);
        assert_eq!(at("30m", true), now + 1_800_000);
        assert_eq!(at("2h", false), now - 7_200_000);
        assert_eq!(at("11:30", true), now + 1_800_000);
        assert_eq!(at("11:30", false), now + 1_800_000 - 86_400_000);
        assert_eq!(at("10:30", true), now - 1_800_000 + 86_400_000);
        assert_eq!(at("2026-11-22T11:30", true), now + 1_800_000);
        assert_eq!(at("2026-11-22T11:30Z", true), now + 5_400_000);
        assert!(when("tomorrow").is_err() && when("25:00").is_err());
    }
}
