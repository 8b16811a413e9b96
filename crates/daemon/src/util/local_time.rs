//! How far the machine's local time is ahead of UTC at a moment: the C library knows the zone and its daylight saving.
//!
//! It decides nothing. Unsafe because the C library's call takes pointers.
#![allow(unsafe_code, reason = "localtime_r has no safe wrapper")]

use std::mem::MaybeUninit;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_is_of_whole_minutes_and_less_than_a_day() {
        for at in [0, 1_700_000_000, 1_720_000_000, i64::MAX] {
            let offset = offset_seconds(at);
            assert!(offset.abs() < 86_400, "{offset}");
        }
    }
}
