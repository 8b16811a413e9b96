//! The status of certificates: their names, until when they are valid, and what is wrong. It reads no file.

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The state of one certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateInfo {
    pub file: PathBuf,
    /// The names that it proves.
    pub names: Vec<String>,
    /// The kind of its key.
    pub kind: &'static str,
    /// Until when it is good.
    pub not_after: SystemTime,
    /// How long it is good in all.
    pub lifetime: Duration,
    /// An OCSP response is stapled.
    pub stapled: bool,
    /// When it became active.
    pub active_since: SystemTime,
    /// Why the file's present content is not; `None`: it is.
    pub last_error: Option<String>,
}

/// A warning of a certificate that ends within `soon` or has ended. One that lives for days alone is not warned of before
/// the last quarter of its life.
pub fn expiry_warning(
    certificate: &CertificateInfo,
    soon: Duration,
    now: SystemTime,
) -> Option<String> {
    let file = certificate.file.display();
    let names = certificate.names.join(", ");
    let left = certificate.not_after.duration_since(now).unwrap_or_default();
    if left.is_zero() {
        Some(format!("{file}: the certificate of {names} has expired"))
    } else if left < soon.min(certificate.lifetime / 4) {
        let days = left.as_secs() / 86_400;
        Some(format!("{file}: the certificate of {names} expires in {days} days"))
    } else {
        None
    }
}

/// From seconds since 1970.
pub fn from_unix_seconds(seconds: i64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(u64::try_from(seconds).unwrap_or(0))
}

/// A date, from seconds since 1970 (proleptic Gregorian calendar).
pub fn format_date(seconds: i64) -> String {
    let days = seconds.div_euclid(86_400) + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::format_date;

    #[test]
    fn days_are_written_as_dates() {
        assert_eq!(format_date(0), "1970-01-01");
        assert_eq!(format_date(951_782_400), "2000-02-29");
        assert_eq!(format_date(1_767_225_599), "2025-12-31");
        assert_eq!(format_date(4_102_444_800), "2100-01-01");
    }
}
