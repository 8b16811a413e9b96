//! Constructed regressions are found, and a result does not differ from itself.

use super::*;
use crate::result::{BenchRun, ResultProvenance};

const RULE: SignificanceRule = SignificanceRule { alpha: 0.01, threshold_percent: 0.0 };

/// Normal noise from a seed: SplitMix64 and the sum of twelve uniform draws.
struct NormalNoise(u64);

impl NormalNoise {
    fn even(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.even()).sum::<f64>() - 6.0
    }
}

fn result(better: MetricDirection, values: &[f64]) -> BenchResult {
    let mut result = BenchResult::new("http", ResultProvenance::default());
    for (at, value) in values.iter().enumerate() {
        let metrics = vec![BenchMetric::new("rate", "requests/s", better, *value)];
        let repeat = at as u32 + 1;
        let test = "t".to_owned();
        result.runs.push(BenchRun { test, repeat, complete: true, metrics, ..BenchRun::default() });
    }
    result
}

/// Ten pairs under noise of 1 %; the second of each pair is changed.
fn pairs(noise: &mut NormalNoise, change: f64) -> (BenchResult, BenchResult) {
    let mut left = Vec::new();
    let mut right = Vec::new();
    for _ in 0..10 {
        left.push(1_000.0 * (1.0 + 0.01 * noise.normal()));
        right.push(1_000.0 * change * (1.0 + 0.01 * noise.normal()));
    }
    (result(MetricDirection::More, &left), result(MetricDirection::More, &right))
}

#[test]
fn planted_regressions_of_three_per_cent_are_found() {
    let mut noise = NormalNoise(1);
    let found = (0..300)
        .filter(|_| {
            let (left, right) = pairs(&mut noise, 0.97);
            compare(&left, &right, RULE).worse
        })
        .count();
    assert!(found >= 285, "{found} of 300: at least 95 % at this size");
}

#[test]
fn a_thing_seldom_differs_from_itself() {
    let mut noise = NormalNoise(2);
    let cried = (0..1_000)
        .filter(|_| {
            let (left, right) = pairs(&mut noise, 1.0);
            compare(&left, &right, RULE).rows[0].status != ComparisonStatus::Unproven
        })
        .count();
    assert!(cried <= 20, "{cried} of 1,000 false alarms at alpha 0.01");
}

/// The data of a typical comparison: three figures at each of two rates, ten interleaved pairs. The noise of 1 % is
/// half shared by the figures of a run. `change` is the factor of the first figure.
fn whole(noise: &mut NormalNoise, change: f64) -> (BenchResult, BenchResult) {
    let figures = [
        ("rate", MetricDirection::More),
        ("latency-p50", MetricDirection::Less),
        ("latency-p99", MetricDirection::Less),
    ];
    let mut sides = [1.0, change].map(|_| result(MetricDirection::More, &[]));
    for repeat in 1..=10 {
        for (side, change) in sides.iter_mut().zip([1.0, change]) {
            for step in 1..=2 {
                let shared = noise.normal();
                let metrics = figures.map(|(name, better)| {
                    let first = step == 1 && name == "rate";
                    let wavers = (shared + noise.normal()) / 2_f64.sqrt();
                    let value = 1_000.0 * if first { change } else { 1.0 } * (1.0 + 0.01 * wavers);
                    BenchMetric::new(name, "unit", better, value)
                });
                let test = format!("{step} requests/s");
                let metrics = metrics.into();
                side.runs.push(BenchRun {
                    test,
                    repeat,
                    complete: true,
                    metrics,
                    ..BenchRun::default()
                });
            }
        }
    }
    let [left, right] = sides;
    (left, right)
}

#[test]
fn the_whole_command_seldom_finds_a_thing_different_from_itself() {
    let mut noise = NormalNoise(4);
    let mut cried = 0;
    let mut would = 0;
    for _ in 0..1_000 {
        let (left, right) = whole(&mut noise, 1.0);
        let found = compare_together(&left, &right, RULE);
        assert_eq!(found.rows.len(), 6);
        cried += u32::from(found.rows.iter().any(|row| row.status != ComparisonStatus::Unproven));
        would += u32::from(found.rows.iter().any(|row| row.p <= RULE.alpha));
    }
    println!(
        "of 1,000 comparisons of a thing with itself {cried} find a difference; each row by itself {would}"
    );
    assert!(cried <= 20, "{cried} of 1,000 false alarms at alpha 0.01");
    assert!(would > 20, "{would}: the correction is needed");
}

#[test]
fn the_whole_command_finds_planted_regressions_of_three_per_cent_in_one_row() {
    let mut noise = NormalNoise(5);
    let found = (0..300)
        .filter(|_| {
            let (left, right) = whole(&mut noise, 0.97);
            compare_together(&left, &right, RULE).rows[0].status == ComparisonStatus::Worse
        })
        .count();
    println!("of 300 regressions of 3 % in one of six rows {found} are found");
    assert!(found >= 270, "{found} of 300");
}

#[test]
fn rows_that_are_checked_together_need_more_runs_each() {
    let of = |values: &[f64]| {
        let mut all = result(MetricDirection::More, values);
        let more = |run: &BenchRun| BenchRun { test: "u".to_owned(), ..run.clone() };
        let other: Vec<BenchRun> = all.runs.iter().map(more).collect();
        all.runs.extend(other);
        all
    };
    // Five runs of each side give a p of 0.0079 at least: enough for one row, not for two.
    let low = [1.0, 2.0, 3.0, 4.0, 5.0];
    let high = [6.0, 7.0, 8.0, 9.0, 10.0];
    let found = compare_together(&of(&low), &of(&high), RULE);
    assert!(found.rows.iter().all(|row| row.status == ComparisonStatus::TooFewRuns), "{found:?}");
    assert!(found.warnings[0].contains("needs 6 runs"), "{:?}", found.warnings);
    let alone = compare(&of(&low), &of(&high), RULE);
    assert!(alone.rows.iter().all(|row| row.status == ComparisonStatus::Better), "{alone:?}");
    // A test with too few runs does not count against the others.
    let mut left = result(MetricDirection::More, &low);
    let mut right = result(MetricDirection::More, &high);
    for side in [&mut left, &mut right] {
        let test = "few".to_owned();
        let metrics = side.runs[0].metrics.clone();
        side.runs.push(BenchRun {
            test,
            repeat: 1,
            complete: true,
            metrics,
            ..BenchRun::default()
        });
    }
    let found = compare_together(&left, &right, RULE);
    let statuses: Vec<ComparisonStatus> = found.rows.iter().map(|row| row.status).collect();
    assert_eq!(statuses, [ComparisonStatus::Better, ComparisonStatus::TooFewRuns]);
}

#[test]
fn intervals_hold_the_planted_difference() {
    let mut noise = NormalNoise(3);
    let held = (0..300)
        .filter(|_| {
            let (left, right) = pairs(&mut noise, 0.97);
            let ConfidenceInterval { low, high } =
                compare(&left, &right, RULE).rows[0].interval_percent.unwrap();
            low <= -3.0 && -3.0 <= high
        })
        .count();
    assert!(held >= 290, "{held} of 300 intervals at 99 %");
}

// Rows: L11
#[test]
fn three_runs_prove_nothing() {
    let left = result(MetricDirection::More, &[100.0; 3]);
    let right = result(MetricDirection::More, &[50.0; 3]);
    let found = compare(&left, &right, RULE);
    assert_eq!(found.rows[0].status, ComparisonStatus::TooFewRuns);
    assert!(!found.worse && found.warnings[0].contains("needs 5 runs"), "{:?}", found.warnings);
}

#[test]
fn what_is_better_is_the_metrics_matter() {
    let up: Vec<f64> = (0..6).map(|n| 200.0 + f64::from(n)).collect();
    let low: Vec<f64> = (0..6).map(|n| 100.0 + f64::from(n)).collect();
    for (better, status) in [
        (MetricDirection::More, ComparisonStatus::Better),
        (MetricDirection::Less, ComparisonStatus::Worse),
        (MetricDirection::Neither, ComparisonStatus::Differs),
    ] {
        let found = compare(&result(better, &low), &result(better, &up), RULE);
        assert_eq!(found.rows[0].status, status);
        assert_eq!(found.worse, status == ComparisonStatus::Worse);
        assert_eq!(found.rows[0].effect, 1.0);
    }
}

#[test]
fn a_threshold_asks_for_more_than_a_difference() {
    let low: Vec<f64> = (0..8).map(|n| 100.0 + f64::from(n) / 10.0).collect();
    let up: Vec<f64> = low.iter().map(|value| value * 1.02).collect();
    let low = result(MetricDirection::Less, &low);
    let up = result(MetricDirection::Less, &up);
    assert!(compare(&low, &up, RULE).worse);
    assert!(!compare(&low, &up, SignificanceRule { threshold_percent: 5.0, ..RULE }).worse);
}

#[test]
fn partial_runs_do_not_count_and_differences_are_named() {
    let left = result(MetricDirection::More, &[1.0, 2.0, 3.0]);
    let mut right = result(MetricDirection::More, &[1.0, 2.0, 9.0]);
    right.runs[2].complete = false;
    right.add_note(crate::result_note::NoteSeverity::Partial, "stopped".to_owned());
    right.provenance.kernel = "other".to_owned();
    let found = compare(&left, &right, RULE);
    assert_eq!(found.rows[0].runs, ComparedRuns { baseline: 3, result: 2 });
    assert!(found.warnings.iter().any(|text| text.contains("kernel")), "{:?}", found.warnings);
    assert!(found.warnings.iter().any(|text| text.contains("partial")));
    right.runs.iter_mut().for_each(|run| run.test = "u".to_owned());
    let found = compare(&left, &right, RULE);
    assert!(found.rows.is_empty() && found.warnings.iter().any(|t| t.contains("only in")));
}

#[test]
fn each_difference_in_how_they_were_made_is_named_with_both_values() {
    let left = result(MetricDirection::More, &[1.0, 2.0, 3.0]);
    type Plant = fn(&mut ResultProvenance, &str);
    let set = |name: &'static str| {
        move |of: &mut ResultProvenance, value: &str| {
            drop(of.settings.insert(name.to_owned(), value.to_owned()))
        }
    };
    let plain: [(&str, Plant); 6] = [
        ("the version of this program", |of, value| value.clone_into(&mut of.steelyard)),
        ("the host", |of, value| value.clone_into(&mut of.host)),
        ("the kernel", |of, value| value.clone_into(&mut of.kernel)),
        ("the processor", |of, value| value.clone_into(&mut of.processors)),
        ("the digest of what was read", |of, value| of.digest = Some(value.to_owned())),
        ("net.ipv4.tcp_sack", |of, value| {
            of.sysctls.insert("net.ipv4.tcp_sack".to_owned(), value.to_owned());
        }),
    ];
    let check = |what: &str, plant: &dyn Fn(&mut ResultProvenance, &str)| {
        let mut base = left.clone();
        let mut other = left.clone();
        plant(&mut base.provenance, "this");
        plant(&mut other.provenance, "that");
        let found = compare(&base, &other, RULE);
        let baseline = Some("this".to_owned());
        let result = Some("that".to_owned());
        assert_eq!(
            found.differences,
            [SetupDifference { what: what.to_owned(), baseline, result }]
        );
        let note = format!("{what} differs: this and that");
        assert!(found.warnings.contains(&note), "{:?}", found.warnings);
        assert_eq!(compare(&base, &base, RULE).differences, []);
    };
    for (what, plant) in plain {
        check(what, &plant);
    }
    for name in ["target", "protocol", "close", "threads", "streams", "agents"] {
        check(&format!("setting `{name}`"), &set(name));
    }
    // A value that only one side has is a difference, except a kernel setting that one side could not read.
    let mut other = left.clone();
    set("streams")(&mut other.provenance, "8");
    plain[5].1(&mut other.provenance, "1");
    let found = compare(&left, &other, RULE);
    assert_eq!(found.differences.len(), 1);
    let note = "setting `streams` differs: not set and 8".to_owned();
    assert!(found.warnings.contains(&note), "{:?}", found.warnings);
}

#[test]
fn a_baseline_of_zero_has_no_per_cent() {
    let left = result(MetricDirection::Less, &[0.0; 6]);
    let right = result(MetricDirection::Less, &[5.0; 6]);
    let found = compare(&left, &right, RULE);
    assert_eq!(found.rows[0].difference_percent, None);
    assert_eq!(found.rows[0].status, ComparisonStatus::Worse);
}

#[test]
fn a_baseline_of_nothing_has_a_direction() {
    let some = |many: usize, all: usize| -> Vec<f64> {
        (0..all).map(|at| if at < many { 5.0 } else { 0.0 }).collect()
    };
    let status = |left: &[f64], right: &[f64], threshold_percent: f64| {
        let rule = SignificanceRule { threshold_percent, ..RULE };
        compare(&result(MetricDirection::Less, left), &result(MetricDirection::Less, right), rule)
            .rows[0]
            .status
    };
    assert_eq!(
        status(&some(0, 10), &some(10, 10), 2.0),
        ComparisonStatus::Worse,
        "of 0 any loss is more than 2 %"
    );
    assert_eq!(
        status(&some(7, 16), &some(0, 16), 0.0),
        ComparisonStatus::Better,
        "fewer runs lose something"
    );
    assert_eq!(status(&some(0, 16), &some(7, 16), 0.0), ComparisonStatus::Worse);
    assert_eq!(status(&some(0, 10), &some(0, 10), 0.0), ComparisonStatus::Unproven);
}
