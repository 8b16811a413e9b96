//! Compares two samples by ranks: the Mann–Whitney test, the shift between them with its interval, and the effect size.
//!
//! Exact for up to `MOST_EXACT` values, ties included: the distribution counts all assignments of the ranks. For larger
//! samples the normal approximation with the correction for ties is used. No distribution of the noise is assumed.

use super::interval::ConfidenceInterval;
use super::normal;
use super::sample::{median, sorted};

/// The comparison of two samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankTestResult {
    /// Probability of a difference at least this large if both samples had the same source; two-sided.
    pub p: f64,
    /// Probability that a value of the second sample exceeds one of the first, minus the opposite: −1 to 1 (Cliff's
    /// delta).
    pub effect: f64,
    /// The median of all differences between the second's values and the first's (Hodges–Lehmann).
    pub shift: f64,
    /// An interval of the shift at confidence 1 − alpha; `None`: too few values for one.
    pub interval: Option<ConfidenceInterval>,
}

/// Compares a second sample with a first; neither may be empty. `alpha`: the interval's error probability.
pub fn compare(first: &[f64], second: &[f64], alpha: f64) -> RankTestResult {
    let n = first.len();
    let m = second.len();
    let ranks = doubled_midranks(first, second);
    let sum: u64 = ranks[n..].iter().sum();
    let wins = (sum as f64 / 2.0) - (m * (m + 1)) as f64 / 2.0;
    let p = if n + m <= MOST_EXACT {
        exact_p(&ranks, m, sum)
    } else {
        approximate_p(&ranks, n, m, wins)
    };
    let mut shifts: Vec<f64> = Vec::with_capacity(n * m);
    second.iter().for_each(|b| shifts.extend(first.iter().map(|a| b - a)));
    let shifts = sorted(&shifts);
    let interval = trimmed(n, m, alpha)
        .map(|cut| ConfidenceInterval { low: shifts[cut], high: shifts[shifts.len() - 1 - cut] });
    RankTestResult {
        p,
        effect: 2.0 * wins / (n * m) as f64 - 1.0,
        shift: median(&shifts),
        interval,
    }
}

/// The smallest p that samples of these sizes can give; nothing can be proven below it.
pub fn smallest_p(n: usize, m: usize) -> f64 {
    let ways = (1..=n).fold(1.0, |ways, k| ways * (m + k) as f64 / k as f64);
    (2.0 / ways).min(1.0)
}

/// Runs of each side below which nothing can be proven at `alpha`.
pub fn runs_needed(alpha: f64) -> usize {
    (1..1_000).find(|n| smallest_p(*n, *n) <= alpha).unwrap_or(1_000)
}

/// Twice the rank of each value among all values; ties share their mean rank.
fn doubled_midranks(first: &[f64], second: &[f64]) -> Vec<u64> {
    let all: Vec<f64> = first.iter().chain(second).copied().collect();
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by(|a, b| all[*a].total_cmp(&all[*b]));
    let mut ranks = vec![0; all.len()];
    let mut below = 0;
    for group in order.chunk_by(|a, b| all[*a] == all[*b]) {
        let doubled = (2 * below + group.len() + 1) as u64;
        group.iter().for_each(|at| ranks[*at] = doubled);
        below += group.len();
    }
    ranks
}

/// The share of all ways to choose `m` of the ranks whose sum is at least as far from the middle as `sum`.
fn exact_p(ranks: &[u64], m: usize, sum: u64) -> f64 {
    let ways = count_subset_sums(ranks, m);
    let middle = m as f64 * (ranks.len() + 1) as f64;
    let far = (sum as f64 - middle).abs() - 1e-9;
    let total: f64 = ways.iter().sum();
    let extreme = ways.iter().enumerate().filter(|(sum, _)| (*sum as f64 - middle).abs() >= far);
    (extreme.map(|(_, ways)| ways).sum::<f64>() / total).min(1.0)
}

/// For each sum, the number of ways to choose `m` of the values.
fn count_subset_sums(values: &[u64], m: usize) -> Vec<f64> {
    let most: u64 = values.iter().sum();
    let mut table = vec![vec![0.0; most as usize + 1]; m + 1];
    table[0][0] = 1.0;
    for (seen, value) in values.iter().enumerate() {
        let value = *value as usize;
        for chosen in (1..=m.min(seen + 1)).rev() {
            let (fewer, more) = table.split_at_mut(chosen);
            let from = &fewer[chosen - 1];
            let to = &mut more[0];
            for sum in (value..to.len()).rev() {
                to[sum] += from[sum - value];
            }
        }
    }
    table.swap_remove(m)
}

fn approximate_p(ranks: &[u64], n: usize, m: usize, wins: f64) -> f64 {
    let all = (n + m) as f64;
    let sorted = {
        let mut ranks = ranks.to_vec();
        ranks.sort_unstable();
        ranks
    };
    let ties: f64 =
        sorted.chunk_by(|a, b| a == b).map(|tie| (tie.len().pow(3) - tie.len()) as f64).sum();
    let product = (n * m) as f64;
    let variance = product / 12.0 * (all + 1.0 - ties / (all * (all - 1.0)));
    if variance <= 0.0 {
        return 1.0;
    }
    let z = ((wins - product / 2.0).abs() - 0.5).max(0.0) / variance.sqrt();
    (2.0 * normal::cumulative(-z)).min(1.0)
}

/// The number of sorted differences outside the interval at each end.
fn trimmed(n: usize, m: usize, alpha: f64) -> Option<usize> {
    if n + m > MOST_EXACT {
        let product = (n * m) as f64;
        let all = (n + m) as f64;
        let width = normal::quantile(1.0 - alpha / 2.0) * (product * (all + 1.0) / 12.0).sqrt();
        return Some((product / 2.0 - width).max(0.0) as usize);
    }
    let ranks: Vec<u64> = (1..=(n + m) as u64).collect();
    let ways = count_subset_sums(&ranks, m);
    let total: f64 = ways.iter().sum();
    let least = m * (m + 1) / 2;
    let mut below = 0.0;
    let mut cut = None;
    for (index, count) in ways[least..].iter().enumerate() {
        below += count / total;
        if 2.0 * below > alpha {
            break;
        }
        cut = Some(index);
    }
    cut
}

/// Largest number of values of both samples for which all assignments of ranks are counted.
/// Thirty runs on each side.
const MOST_EXACT: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    // Rows: L11
    #[test]
    fn tabled_values() {
        // Completely separated samples: 2 of C(n+m, n) assignments.
        let apart = compare(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0], 0.05);
        assert!((apart.p - 0.1).abs() < 1e-12 && apart.effect == 1.0, "{apart:?}");
        assert_eq!(apart.shift, 3.0);
        assert_eq!(apart.interval, None, "three and three can prove nothing");
        let five = compare(&[1.0, 2.0, 3.0, 4.0, 5.0], &[6.0, 7.0, 8.0, 9.0, 10.0], 0.01);
        assert!((five.p - 2.0 / 252.0).abs() < 1e-12);
        assert_eq!(five.interval, Some(ConfidenceInterval { low: 1.0, high: 9.0 }));
        assert_eq!((runs_needed(0.05), runs_needed(0.01)), (4, 5));
        // Critical values of U for n = m = 10: 23 at 5 %, 16 at 1 %, two-sided (Mann and Whitney's table).
        let at = |low: usize| {
            let ranks: Vec<u64> = (1..=20).collect();
            let ways = count_subset_sums(&ranks, 10);
            2.0 * ways[55..=55 + low].iter().sum::<f64>() / ways.iter().sum::<f64>()
        };
        assert!(at(23) <= 0.05 && at(24) > 0.05 && at(16) <= 0.01 && at(17) > 0.01);
    }

    #[test]
    fn equal_samples_prove_nothing() {
        let same = [5.0; 8];
        let verdict = compare(&same, &same, 0.01);
        assert_eq!((verdict.p, verdict.effect, verdict.shift), (1.0, 0.0, 0.0));
        let many = vec![1.0; 100];
        assert_eq!(compare(&many, &many, 0.01).p, 1.0);
    }

    #[test]
    fn approximation_meets_the_exact_test() {
        let first: Vec<f64> = (0..30).map(|n| f64::from(n * 7 % 31)).collect();
        let second: Vec<f64> = (0..30).map(|n| f64::from(n * 11 % 31) + 6.0).collect();
        let exactly = compare(&first, &second, 0.05).p;
        let ranks = doubled_midranks(&first, &second);
        let wins = ranks[30..].iter().sum::<u64>() as f64 / 2.0 - 465.0;
        let roughly = approximate_p(&ranks, 30, 30, wins);
        assert!((exactly - roughly).abs() < 0.005, "{exactly} {roughly}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Exchanging the samples mirrors the result; p is a probability; the interval contains the shift.
        #[test]
        fn symmetric(
            first in prop::collection::vec(-20i32..20, 1..12),
            second in prop::collection::vec(-20i32..20, 1..12),
        ) {
            let of = |values: &[i32]| values.iter().map(|v| f64::from(*v)).collect::<Vec<_>>();
            let (first, second) = (of(&first), of(&second));
            let there = compare(&first, &second, 0.05);
            let back = compare(&second, &first, 0.05);
            prop_assert!((there.p - back.p).abs() < 1e-9);
            prop_assert!((there.effect + back.effect).abs() < 1e-9);
            prop_assert!((0.0..=1.0).contains(&there.p));
            if let Some(ConfidenceInterval { low, high }) = there.interval {
                prop_assert!(low <= there.shift && there.shift <= high);
            }
        }
    }
}
