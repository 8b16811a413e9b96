//! Constructed measurements, and the report that they must produce.

use super::super::case::case_name;
use super::super::transaction_trace::{AdvertisedWindow, CaseFinding};
use super::*;
use crate::study::two_balancers::SPECS;

fn case(
    buffer: Option<u64>,
    broken: bool,
    answer: f64,
    finding: Option<(&str, &str, bool)>,
) -> TransactionCase {
    let found = finding.map(|(phase, code, flag)| CaseFinding {
        phase: phase.to_owned(),
        code: code.to_owned(),
        flag: flag.then(|| SCALE_FLAG.to_owned()),
        sentence: format!("{code} in the {phase}"),
        fix: "mend it".to_owned(),
    });
    let request = if broken { 5.2 } else { 0.15 };
    let seen = TransactionTrace {
        request,
        answer,
        in_flight: 40_000.0,
        field: AdvertisedWindow { smallest: 256.0, largest: 65_160.0 },
        total: request + answer,
        findings: found.into_iter().collect(),
        ..TransactionTrace::default()
    };
    TransactionCase { name: case_name(buffer, broken), buffer, broken, took: 0.0, trace: seen }
}

fn holds(report: &StudyReport) -> Vec<Option<bool>> {
    report.verdicts.iter().map(|verdict| verdict.holds).collect()
}

#[test]
fn verdicts_follow_from_what_was_measured() {
    let parameters = Parameters::new(SPECS, true);
    let limited = Some(("response", "SEND_BUFFER", false));
    let scale = Some(("request", "RWND", true));
    let good = [
        case(Some(32_768), false, 6.0, limited),
        case(None, false, 1.0, None),
        case(Some(32_768), true, 6.1, scale),
    ];
    let report_of = |cases: &[TransactionCase]| build_report(&parameters, cases);
    assert_eq!(holds(&report_of(&good)), [Some(true); 4]);
    // The window scale is intact, and the buffer is not the limit.
    let mended = [
        case(Some(1 << 20), false, 1.0, None),
        case(None, false, 1.0, None),
        TransactionCase {
            trace: TransactionTrace { request: 0.15, ..case(None, true, 1.0, limited).trace },
            ..good[2].clone()
        },
    ];
    assert_eq!(holds(&report_of(&mended)), [Some(false), Some(false), Some(false), Some(false)]);
    assert_eq!(holds(&report_of(&[])), [None], "nothing was measured");
}

#[test]
fn figures_and_what_differs_follow_from_parameters() {
    let mut parameters = Parameters::new(SPECS, true);
    let cases = [case(Some(32_768), false, 6.0, None), case(Some(32_768), true, 6.0, None)];
    let row = |report: &StudyReport, what: &str| {
        report.beside.iter().find(|row| row.what == what).unwrap().clone()
    };
    let first = build_report(&parameters, &cases);
    let rate = row(&first, "its rate");
    assert!((rate.forecast.unwrap() - 40_000.0 * 8.0 / 0.13 / 1e6).abs() < 1e-9);
    assert_eq!(row(&first, "answer, small send buffer").differs, "");
    assert_eq!(row(&first, "packets of that request").forecast, Some(13.0));
    assert!(row(&first, "request, broken balancer").differs.contains("waits 0.43 s"));
    parameters.set("delay=20ms").unwrap();
    let second = build_report(&parameters, &cases);
    let rate = row(&second, "its rate");
    assert!((rate.forecast.unwrap() - 40_000.0 * 8.0 / 0.04 / 1e6).abs() < 1e-9);
    assert_eq!(row(&second, "answer, small send buffer").differs, "delay 20ms here, 65ms there");
}
