//! Constructed measurements, and the report that they must produce.

use super::*;
use crate::study::farm::SPECS;

fn case(
    through: FarmPath,
    allocator: Option<&'static str>,
    connections: usize,
    rates: &[f64],
    each_ms: f64,
) -> FarmCase {
    let run = |rate: &f64| FarmRun {
        rate: *rate,
        each_ms: allocator.map(|_| each_ms),
        trace: [(0.0, 50.0), (0.2, 70.0)]
            .map(|(seconds, value)| PlotPoint { seconds, value })
            .into(),
        ..FarmRun::default()
    };
    FarmCase { path: through, allocator, connections, runs: rates.iter().map(run).collect() }
}

fn holds(cases: &[FarmCase]) -> Vec<Option<bool>> {
    let report = build_report(&Parameters::new(SPECS, true), cases);
    report.verdicts.iter().map(|verdict| verdict.holds).collect()
}

#[test]
fn verdicts_follow_from_runs() {
    let mut cases = vec![
        case(FarmPath::Nothing, None, 10, &[250.0, 260.0, 270.0], 0.0),
        case(FarmPath::Plain, Some("a"), 10, &[200.0; 3], 2.0),
        case(FarmPath::Plain, Some("a"), 50, &[190.0; 3], 2.0),
        case(FarmPath::Tls, Some("a"), 10, &[150.0; 3], 5.0),
        case(FarmPath::Tls, Some("b"), 10, &[100.0; 3], 5.0),
    ];
    let yes = Some(true);
    assert_eq!(
        holds(&cases),
        [yes, yes, yes, yes, None],
        "three runs prove nothing about allocators"
    );
    cases[1].runs.iter_mut().for_each(|run| run.rate = 100.0);
    cases[2].runs.iter_mut().for_each(|run| run.rate = 50.0);
    cases[3].runs.iter_mut().for_each(|run| run.each_ms = Some(1.0));
    cases[3].runs[0].failed = 2;
    let no = Some(false);
    assert_eq!(holds(&cases), [no, no, no, no, None]);
    let five = |rates: &[f64; 5], name| case(FarmPath::Tls, Some(name), 10, rates, 5.0);
    let differ =
        [five(&[1.0, 2.0, 3.0, 4.0, 5.0], "a"), five(&[11.0, 12.0, 13.0, 14.0, 15.0], "b")];
    assert_eq!(holds(&differ).last(), Some(&yes));
    let same = [five(&[1.0, 2.0, 3.0, 4.0, 5.0], "a"), five(&[1.5, 2.5, 3.5, 2.9, 4.5], "b")];
    assert_eq!(holds(&same).last(), Some(&no));
    assert_eq!(holds(&[]), [None, None]);
}

#[test]
fn the_studys_figures_stand_beside_ours() {
    let cases = [
        case(FarmPath::Tls, Some("a"), 50, &[10.0], 1.0),
        case(FarmPath::Tls, Some("b"), 50, &[20.0], 1.0),
        case(FarmPath::Plain, Some("a"), 7, &[30.0], 1.0),
    ];
    let report = build_report(&Parameters::new(SPECS, false), &cases);
    let found: Vec<_> = report.beside.iter().map(|row| (row.source, row.ours)).collect();
    assert_eq!(found, [(Some(90.0), Some(10.0)), (Some(72.0), Some(20.0)), (None, Some(30.0))]);
    assert_eq!(report.beside[0].differs, "", "a whole run differs in nothing");
    assert_eq!(report.sections[1].plots.len(), 2);
}
