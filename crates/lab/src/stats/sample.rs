//! Statistics of one sample of runs.

/// The mean; 0 of an empty sample.
pub fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// The standard deviation with n − 1 in the denominator; 0 of fewer than two values.
pub fn deviation(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (values.len() - 1) as f64).sqrt()
}

/// The standard deviation in per cent of the mean; 0 if the mean is 0.
pub fn deviation_percent(values: &[f64]) -> f64 {
    let mean = mean(values);
    if mean == 0.0 { 0.0 } else { deviation(values) / mean.abs() * 100.0 }
}

/// The median: of an even number, the mean of the middle two; 0 of an empty sample.
pub fn median(values: &[f64]) -> f64 {
    let sorted = sorted(values);
    match sorted.len() {
        0 => 0.0,
        n if n % 2 == 1 => sorted[n / 2],
        n => f64::midpoint(sorted[n / 2 - 1], sorted[n / 2]),
    }
}

pub fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_figures() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!((median(&[]), mean(&[]), deviation(&[5.0])), (0.0, 0.0, 0.0));
        assert!((deviation(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]) - 2.138_09).abs() < 1e-5);
        assert!((deviation_percent(&[99.0, 101.0]) - std::f64::consts::SQRT_2).abs() < 1e-9);
    }
}
