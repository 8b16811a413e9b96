//! Numbers as reports show them: seconds of nanoseconds, and no more digits than are meant.

/// Seconds, to the nanosecond.
pub fn seconds(ns: i64) -> f64 {
    // Nanoseconds below 2^53 are exact in a double; the division rounds to the nearest value.
    ns as f64 / 1e9
}

/// The value rounded to this many decimals.
pub fn rounded(value: f64, decimals: i32) -> f64 {
    let scale = 10_f64.powi(decimals);
    (value * scale).round() / scale
}

/// A share of a whole, with four decimals; 0 if the whole is 0.
pub fn share(part: i64, whole: i64) -> f64 {
    if whole <= 0 { 0.0 } else { rounded(part as f64 / whole as f64, 4) }
}

/// Megabits a second of bytes a second.
pub fn megabits(bytes_per_second: f64) -> f64 {
    rounded(bytes_per_second * 8.0 / 1e6, 3)
}
