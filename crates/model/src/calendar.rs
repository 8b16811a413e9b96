//! Dates and times of day from seconds since 1970, and back. It reads no clock and knows no time zone: callers add the
//! offset of their zone.
//!
//! The proleptic Gregorian calendar by counting days in eras of 400 years that begin in March (Hinnant,
//! "chrono-Compatible Low-Level Date Algorithms"). No leap seconds, as in Unix time.

use std::fmt;

/// Seconds of a day; Unix time has no leap seconds.
pub const DAY: i64 = 86_400;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CivilDateTime {
    pub year: i64,
    pub month: u8,
    pub day: u8,
    pub hour: u8,
    pub minute: u8,
    pub second: u8,
}

/// A date and time as it was written, perhaps with an offset from UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrittenDateTime {
    pub civil: CivilDateTime,
    /// Seconds east of UTC; `None`: no offset was written.
    pub offset: Option<i64>,
}

impl CivilDateTime {
    /// From seconds since 1970-01-01 00:00:00.
    pub fn from_unix_seconds(seconds: i64) -> CivilDateTime {
        let days = seconds.div_euclid(DAY);
        let rest = seconds.rem_euclid(DAY);
        let shifted = days + 719_468;
        let era = shifted.div_euclid(146_097);
        let of_era = shifted.rem_euclid(146_097);
        let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted_month = (5 * of_year + 2) / 153;
        let day = of_year - (153 * shifted_month + 2) / 5 + 1;
        let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        let small = |number: i64| u8::try_from(number).unwrap_or(0);
        CivilDateTime {
            year,
            month: small(month),
            day: small(day),
            hour: small(rest / 3600),
            minute: small(rest / 60 % 60),
            second: small(rest % 60),
        }
    }

    /// Seconds since 1970-01-01 00:00:00.
    pub fn unix_seconds(&self) -> i64 {
        let month = i64::from(self.month);
        let day = i64::from(self.day);
        let year = self.year - i64::from(month <= 2);
        let era = year.div_euclid(400);
        let year_of_era = year.rem_euclid(400);
        let shifted_month = if month > 2 { month - 3 } else { month + 9 };
        let of_year = (153 * shifted_month + 2) / 5 + day - 1;
        let of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + of_year;
        let days = era * 146_097 + of_era - 719_468;
        days * DAY
            + i64::from(self.hour) * 3600
            + i64::from(self.minute) * 60
            + i64::from(self.second)
    }

    /// Parses `2026-11-22T22:00` with or without seconds, with a blank or a `T`, and an optional offset (`Z`,
    /// `+01:00`).
    pub fn parse(text: &str) -> Option<WrittenDateTime> {
        let text = text.trim();
        let date = text.get(..10)?;
        let rest = text.get(11..)?;
        if !matches!(text.as_bytes().get(10), Some(b'T' | b't' | b' ')) {
            return None;
        }
        let at = rest.find(['Z', 'z', '+', '-']).unwrap_or(rest.len());
        let (time, zone) = rest.split_at(at);
        let mut parts = date.split('-').map(parse_number);
        let year = parts.next()??;
        let month = parts.next()??;
        let day = parts.next()??;
        let mut parts = time.trim().split(':').map(parse_number);
        let hour = parts.next()??;
        let minute = parts.next()??;
        let second = parts.next().unwrap_or(Some(0))?;
        let small = |number: i64| u8::try_from(number).ok();
        let civil = CivilDateTime {
            year,
            month: small(month)?,
            day: small(day)?,
            hour: small(hour)?,
            minute: small(minute)?,
            second: small(second)?,
        };
        // A date that does not exist is normalized to another one.
        (CivilDateTime::from_unix_seconds(civil.unix_seconds()) == civil)
            .then_some(WrittenDateTime { civil, offset: parse_offset(zone)? })
    }
}

impl fmt::Display for CivilDateTime {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CivilDateTime { year, month, day, hour, minute, second } = self;
        write!(to, "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
    }
}

/// The day of the week of a moment: 0 is Monday.
pub fn weekday(seconds: i64) -> u8 {
    // 1970-01-01 was a Thursday.
    u8::try_from((seconds.div_euclid(DAY) + 3).rem_euclid(7)).unwrap_or(0)
}

fn parse_number(text: &str) -> Option<i64> {
    let digits = !text.is_empty() && text.len() <= 4 && text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|_| digits)
}

#[allow(clippy::option_option, reason = "no offset is something else than a wrong one")]
fn parse_offset(zone: &str) -> Option<Option<i64>> {
    let sign = match zone.bytes().next() {
        None => return Some(None),
        Some(b'Z' | b'z') if zone.len() == 1 => return Some(Some(0)),
        Some(b'+') => 1,
        Some(b'-') => -1,
        Some(_) => return None,
    };
    let (hours, minutes) = zone.get(1..)?.split_once(':')?;
    let hours = parse_number(hours)?;
    let minutes = parse_number(minutes)?;
    (hours <= 23 && minutes <= 59).then_some(Some(sign * (hours * 3600 + minutes * 60)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_days() {
        for (seconds, text, day) in [
            (0, "1970-01-01 00:00:00", 3),
            (951_782_400, "2000-02-29 00:00:00", 1),
            (1_772_323_199, "2026-02-28 23:59:59", 5),
            (-1, "1969-12-31 23:59:59", 2),
            (4_107_542_400, "2100-03-01 00:00:00", 0),
        ] {
            let civil = CivilDateTime::from_unix_seconds(seconds);
            assert_eq!((civil.to_string().as_str(), weekday(seconds)), (text, day));
            assert_eq!(civil.unix_seconds(), seconds);
        }
    }

    #[test]
    fn every_day_of_eight_centuries_comes_back() {
        for day in -100_000..200_000 {
            assert_eq!(
                CivilDateTime::from_unix_seconds(day * DAY + 7).unix_seconds(),
                day * DAY + 7
            );
        }
    }

    #[test]
    fn written_times_are_read_and_wrong_ones_are_not() {
        let of = |text| CivilDateTime::parse(text).map(|it| (it.civil.to_string(), it.offset));
        let good = |text: &str, offset| Some((text.to_owned(), offset));
        assert_eq!(of("2026-11-22T22:00"), good("2026-11-22 22:00:00", None));
        assert_eq!(of("2026-11-22 22:00:07Z"), good("2026-11-22 22:00:07", Some(0)));
        assert_eq!(of("2026-11-22T22:00-01:30"), good("2026-11-22 22:00:00", Some(-5400)));
        for wrong in [
            "",
            "tomorrow",
            "2026-11-22",
            "2026-02-30T10:00",
            "2026-11-22T24:00",
            "2026-11-22T10",
            "2026-11-22T10:00+1",
            "2026-11-22T10:00Zulu",
            "2026-13-01T00:00",
            "2026-11-22x10:00",
        ] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }
}
