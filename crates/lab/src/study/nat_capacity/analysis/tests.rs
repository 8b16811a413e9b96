//! Constructed measurements, and the report that they must produce.

use super::super::measurements::ForwardingMethod;
use super::*;
use crate::study::nat_capacity::SPECS;

fn row(addresses: u32, closing: f64, ports: u32, share: f64) -> CapacityRow {
    let allowed = f64::from(ports) * f64::from(addresses) / closing;
    CapacityRow {
        addresses,
        closing,
        ports: vec![ports; addresses as usize],
        allowed,
        offered: allowed * 1.25,
        rate: allowed * share,
        no_port: 100,
        ..CapacityRow::default()
    }
}

fn holds(rows: &[CapacityRow]) -> Vec<Option<bool>> {
    let measured = CapacityMeasurements { rows: rows.to_vec(), methods: Vec::new() };
    let report = build_report(&Parameters::new(SPECS, true), &measured);
    let others = |verdict: &&ClaimResult| !verdict.claim.starts_with("As much");
    report.verdicts.iter().filter(others).map(|verdict| verdict.holds).collect()
}

#[test]
fn a_rate_is_the_ports_or_it_is_reported_what_else() {
    assert_eq!(holds(&[row(1, 1.0, 600, 0.97)]), [Some(true)]);
    assert_eq!(holds(&[row(1, 1.0, 600, 0.90)]), [Some(false)]);
    assert_eq!(holds(&[row(1, 1.0, 600, 1.20)]), [Some(false)], "ports came free too early");
    let busy = CapacityRow { generator_busy: 0.99, ..row(1, 1.0, 600, 0.5) };
    assert_eq!(holds(&[busy]), [None]);
    let idle = CapacityRow { offered: 100.0, ..row(1, 1.0, 600, 0.1) };
    assert_eq!(holds(&[idle]), [None]);
    let share = |share| compare_port_use(&[row(1, 1.0, 600, share)])[0].holds;
    assert_eq!((share(0.94), share(0.90)), (Some(true), Some(false)), "the study's was 93 %");
    let three = [row(1, 1.0, 600, 0.99), row(1, 2.0, 600, 1.0), row(2, 1.0, 600, 0.7)];
    assert_eq!(holds(&three), [Some(true), Some(true), Some(false), Some(true), Some(false)]);
}

#[test]
fn figures_follow_from_ports_and_their_rest() {
    let rows = vec![row(1, 15.0, 64_510, 1.0), row(2, 15.0, 300, 1.0)];
    let measured = CapacityMeasurements { rows, methods: Vec::new() };
    let report = build_report(&Parameters::new(SPECS, false), &measured);
    let first = &report.beside[0];
    assert_eq!((first.source, first.differs.as_str()), (Some(4_000.0), ""));
    assert!((first.forecast.unwrap() - 4300.67).abs() < 0.01);
    assert_eq!(report.beside[2].source, None, "the second row of the study has one address");
    let page = &report.beside[5];
    assert!((page.source.unwrap() - page.forecast.unwrap()).abs() < 1e-9, "{page:?}");
}

#[test]
fn methods_are_distinguished_only_where_their_turns_are() {
    let failing = |way, micros: &[f64], failed: u64| {
        let turn = |machine_us: &f64| MethodRun {
            machine_us: *machine_us,
            rate: 10.0,
            failed: (0..failed).map(|_| ("timeout".to_owned(), failed)).collect(),
            ..MethodRun::default()
        };
        MethodRuns { method: way, runs: micros.iter().map(turn).collect() }
    };
    let method = |way, micros: &[f64]| failing(way, micros, 0);
    let verdicts = |methods: &[MethodRuns]| -> Vec<Option<bool>> {
        check_costs(methods).iter().map(|verdict| verdict.holds).collect()
    };
    let methods = [
        method(ForwardingMethod::Mac, &[100.0, 104.0, 102.0]),
        method(ForwardingMethod::Nat, &[103.0, 101.0, 105.0]),
        method(ForwardingMethod::Content(1), &[106.0, 107.0, 300.0]),
        method(ForwardingMethod::Content(9), &[90.0, 80.0, 105.0]),
    ];
    assert_eq!(verdicts(&methods), [None, Some(true), Some(false)]);
    assert!(check_costs(&methods)[1].because.starts_with("103 µs"), "the median counts");
    let two =
        [method(ForwardingMethod::Mac, &[1.0, 2.0]), method(ForwardingMethod::Nat, &[8.0, 9.0])];
    assert_eq!(verdicts(&two), [None]);
    assert!(check_costs(&two)[0].because.ends_with("too few turns to tell, it takes 3"));
    let three = [1.0, 2.0, 3.0];
    let bad = [
        failing(ForwardingMethod::Mac, &three, 1),
        method(ForwardingMethod::Nat, &[7.0, 8.0, 9.0]),
    ];
    assert_eq!(verdicts(&bad), [None]);
    assert_eq!(bad[0].failed(), [("timeout", 3)].into());
    let measured = CapacityMeasurements { rows: Vec::new(), methods: methods.to_vec() };
    let report = build_report(&Parameters::new(SPECS, true), &measured);
    let rows = &report.sections[2].table.as_ref().unwrap().rows;
    assert_eq!((&rows[0][1], &rows[0][4]), (&TableCell::Figure(3.0), &TableCell::Figure(102.0)));
}
