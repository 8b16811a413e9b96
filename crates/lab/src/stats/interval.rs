//! Intervals of one sample: of a mean (Student's), of a median (order statistics), of a share (Wilson's).

use serde::Serialize;

use super::normal;
use super::sample::{deviation, mean, sorted};

/// The ends of a confidence interval, in the unit of the values. In JSON it is a list of both.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(into = "(f64, f64)")]
pub struct ConfidenceInterval {
    pub low: f64,
    pub high: f64,
}

impl From<ConfidenceInterval> for (f64, f64) {
    fn from(ConfidenceInterval { low, high }: ConfidenceInterval) -> (f64, f64) {
        (low, high)
    }
}

/// Half the width of the mean's interval in per cent of the mean; `None` for fewer than two values or a mean of 0.
///
/// Assumes a normal distribution of runs, as netperf's confidence does.
pub fn mean_width_percent(values: &[f64], confidence: f64) -> Option<f64> {
    let mean = mean(values);
    if values.len() < 2 || mean == 0.0 {
        return None;
    }
    let n = values.len() as f64;
    let point = normal::student_quantile(0.5 + confidence / 2.0, n - 1.0);
    Some(point * deviation(values) / n.sqrt() / mean.abs() * 100.0)
}

/// An interval of the median with at least this confidence; `None`: too few values.
pub fn median(values: &[f64], confidence: f64) -> Option<ConfidenceInterval> {
    let sorted = sorted(values);
    let n = sorted.len();
    // The share of all 2^n outcomes in which at most `k` values lie below the median.
    let mut probability = 0.5_f64.powi(i32::try_from(n).ok()?);
    let mut below = 0.0;
    let mut cut = None;
    for k in 0..n / 2 {
        below += probability;
        if 2.0 * below > 1.0 - confidence {
            break;
        }
        cut = Some(k);
        probability *= (n - k) as f64 / (k + 1) as f64;
    }
    cut.map(|k| ConfidenceInterval { low: sorted[k], high: sorted[n - 1 - k] })
}

/// The interval of a share observed as `part` of `all` (Wilson, without continuity correction).
pub fn share(part: u64, all: u64, confidence: f64) -> ConfidenceInterval {
    if all == 0 {
        return ConfidenceInterval { low: 0.0, high: 1.0 };
    }
    let n = all as f64;
    let p = part as f64 / all as f64;
    let z = normal::quantile(0.5 + confidence / 2.0);
    let middle = (p + z * z / (2.0 * n)) / (1.0 + z * z / n);
    let half = z / (1.0 + z * z / n) * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
    ConfidenceInterval { low: (middle - half).max(0.0), high: (middle + half).min(1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Rows: L09
    #[test]
    fn known_intervals() {
        let width = mean_width_percent(&[98.0, 100.0, 102.0], 0.95).unwrap();
        assert!((width - 4.968).abs() < 0.01, "{width}");
        assert_eq!(mean_width_percent(&[1.0], 0.95), None);
        let values: Vec<f64> = (1..=10).map(f64::from).collect();
        assert_eq!(median(&values, 0.95), Some(ConfidenceInterval { low: 2.0, high: 9.0 }));
        assert_eq!(median(&values[..5], 0.95), None);
        let ConfidenceInterval { low, high } = share(10, 100, 0.95);
        assert!((low - 0.0552).abs() < 1e-3 && (high - 0.1744).abs() < 1e-3, "{low} {high}");
        assert_eq!(share(0, 0, 0.95), ConfidenceInterval { low: 0.0, high: 1.0 });
    }
}
