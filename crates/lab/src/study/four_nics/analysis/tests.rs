//! Constructed measurements, and the report that they must produce.

use super::*;
use crate::study::four_nics::SPECS;

fn side(rate: f64, net_rx: [f64; 2], interfaces: [f64; 4]) -> NicRun {
    let share =
        |number, net_rx| ProcessorShare { number, net_rx, idle: 0.1, ..ProcessorShare::default() };
    let processors = vec![share(0, net_rx[0]), share(1, net_rx[1])];
    NicRun { rate, interfaces: interfaces.into(), processors, failed: 0 }
}

fn sides(gain: f64, hot: [f64; 2], spread: [f64; 2], requested: [f64; 4]) -> NicRuns {
    let rate = |n: u32| 1_000.0 + f64::from(n);
    NicRuns {
        before: (0..5).map(|n| side(rate(n), hot, requested)).collect(),
        after: (0..5).map(|n| side(rate(n) * gain, spread, [0.25; 4])).collect(),
    }
}

fn holds(sides: &NicRuns) -> Vec<Option<bool>> {
    let report = build_report(&Parameters::new(SPECS, true), sides);
    report.verdicts.iter().map(|verdict| verdict.holds).collect()
}

#[test]
fn verdicts_follow_from_runs() {
    let yes = Some(true);
    let no = Some(false);
    let good = sides(1.13, [95.0, 5.0], [52.0, 48.0], [0.5, 0.25, 0.25, 0.0]);
    assert_eq!(holds(&good), [yes, yes, yes, yes]);
    let even = sides(0.5, [50.0, 50.0], [90.0, 10.0], [0.25; 4]);
    assert_eq!(holds(&even), [no, no, no, no]);
    let mut two = good.clone();
    two.before.truncate(2);
    two.after.truncate(1);
    assert_eq!(holds(&two), [yes, yes, yes, None], "two runs prove nothing, and one is not lost");
    two.after.clear();
    assert_eq!(holds(&two), [yes, None, yes, None], "nothing is known of what was not measured");
    assert_eq!(
        holds(&sides(1.0, [95.0, 5.0], [52.0, 48.0], [0.25; 4]))[3],
        None,
        "not proven is not equal"
    );
    assert_eq!(holds(&NicRuns::default())[..3], [None; 3]);
}

#[test]
fn the_table_is_the_studys() {
    let report = build_report(
        &Parameters::new(SPECS, true),
        &sides(1.13, [95.0, 5.0], [52.0, 48.0], [0.25; 4]),
    );
    let table = report.sections[0].table.as_ref().unwrap();
    assert_eq!(table.columns.len(), 11);
    assert_eq!(table.rows[0][5], TableCell::Text("+13.00 %".to_owned()));
    assert_eq!(table.rows[0][6], TableCell::Text("better".to_owned()));
    let gain = report.beside.iter().find(|row| row.what == "gain").unwrap();
    assert!(
        (gain.source.unwrap() - 13.10).abs() < 0.01 && (gain.ours.unwrap() - 13.0).abs() < 0.01
    );
    // Per cent of the figure and percentage points of processor time are different units.
    let (before, after) = source::PROCESSOR;
    assert!((after - before - 3.56).abs() < 1e-9);
    assert!(((after / before - 1.0) * 100.0 - 3.724).abs() < 5e-4);
    assert!(gain.differs.starts_with("2 processors here, 16 there"));
}
