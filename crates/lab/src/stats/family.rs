//! Several tests as one: probabilities corrected so that the chance of any error equals that of a single test (Holm
//! 1979). The tests may depend on each other in any way.

/// The corrected p of each test. Tests at or below alpha are proven, with a probability of any error of at most alpha.
pub fn holm_correction(ps: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..ps.len()).collect();
    order.sort_by(|a, b| ps[*a].total_cmp(&ps[*b]));
    let mut corrected = vec![1.0; ps.len()];
    let mut least: f64 = 0.0;
    for (rank, at) in order.into_iter().enumerate() {
        // Corrected values must not decrease with rank.
        least = least.max((ps[at] * (ps.len() - rank) as f64).min(1.0));
        corrected[at] = least;
    }
    corrected
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corrected_values() {
        let rows: [(&[f64], &[f64]); 4] = [
            (&[], &[]),
            (&[0.01], &[0.01]),
            (&[0.01, 0.04, 0.03, 0.005], &[0.03, 0.06, 0.06, 0.02]),
            (&[0.5, 0.9, 0.001], &[1.0, 1.0, 0.003]),
        ];
        for (ps, expected) in rows {
            let found = holm_correction(ps);
            let near = found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12);
            assert!(near && found.len() == expected.len(), "{ps:?}: {found:?}");
        }
    }
}
