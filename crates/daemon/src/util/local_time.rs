//! How far the machine's local time is ahead of UTC at a moment: the C library knows the zone and its daylight saving.
//!
//! It decides nothing. Unsafe because the C library's call takes pointers.
#![allow(unsafe_code, reason = "localtime_r has no safe wrapper")]

use std::mem::MaybeUninit;
use std::time::{SystemTime, UNIX_EPOCH};

use model::calendar::CivilDateTime;

/// The difference of local time to UTC at a moment (seconds since 1970), in seconds. 0 if the C library cannot
/// determine it.
pub fn offset_seconds(unix_seconds: i64) -> i64 {
    let at: libc::time_t = unix_seconds;
    let mut out = MaybeUninit::<libc::tm>::zeroed();
    // SAFETY: both pointers are to live values of the right type; localtime_r writes only into the second.
    let done = unsafe { libc::localtime_r(&raw const at, out.as_mut_ptr()) };
    if done.is_null() {
        return 0;
    }
    // SAFETY: zeroed above, which is a valid `tm`, and filled by a call that succeeded.
    let out = unsafe { out.assume_init() };
    out.tm_gmtoff
}

/// A moment by the machine's clock on the wall, with the zone's offset: `2026-11-30 23:00:00 +01:00`.
pub fn format_local(at: SystemTime) -> String {
    let seconds = at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let seconds = i64::try_from(seconds).unwrap_or(i64::MAX / 2);
    format_with_offset(seconds, offset_seconds(seconds))
}

fn format_with_offset(seconds: i64, offset: i64) -> String {
    let sign = if offset < 0 { '-' } else { '+' };
    let minutes = offset.abs() / 60;
    let civil = CivilDateTime::from_unix_seconds(seconds + offset);
    format!("{civil} {sign}{:02}:{:02}", minutes / 60, minutes % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_has_the_clock_on_the_wall_and_its_offset() {
        let noon = 1_795_348_800;
        let text = |offset| format_with_offset(noon, offset);
        assert!(text(3_600).ends_with(" +01:00") && text(-12_600).ends_with(" -03:30"));
        assert_eq!(
            text(0).replace(" +00:00", "Z"),
            format!("{}Z", CivilDateTime::from_unix_seconds(noon))
        );
    }

    #[test]
    fn an_offset_is_of_whole_minutes_and_less_than_a_day() {
        for at in [0, 1_700_000_000, 1_720_000_000, i64::MAX] {
            let offset = offset_seconds(at);
            assert!(offset.abs() < 86_400, "{offset}");
        }
    }
}
