//! Planted measurements, and what the report must say of them.

use super::*;
use crate::stream::ask::Ask;
use crate::stream::client::Run;
use crate::study::two_links::SPECS;

fn cell(layout: Layout, policy: Policy, mbit: f64) -> Cell {
    Cell {
        layout,
        policy,
        carrier: Carrier::Tcp,
        buffer: None,
        message: 1_400,
        mbit,
        sent: mbit,
        loss: 0.0,
        reordered: 0,
        kernel_buffer: 87_040,
    }
}

fn cells(equal: f64, naive: f64, held: f64) -> Vec<Cell> {
    let mut cells =
        vec![cell(Layout::One, Policy::Alone, 38.0), cell(Layout::Far, Policy::Alone, 37.0)];
    for layout in [Layout::Equal, Layout::Unequal] {
        for policy in [Policy::Failover, Policy::Hash, Policy::Flowlet] {
            cells.push(cell(layout, policy, 38.0));
        }
    }
    cells.push(cell(Layout::Equal, Policy::Equalised, equal));
    cells.push(cell(Layout::Unequal, Policy::Naive, naive));
    cells.push(cell(Layout::Unequal, Policy::Equalised, held));
    cells
}

fn holds(cells: &[Cell]) -> Vec<Option<bool>> {
    let report = report(&Parameters::new(SPECS, true), cells);
    report.verdicts.iter().map(|verdict| verdict.holds).collect()
}

#[test]
fn verdicts_follow_from_what_streams_got() {
    let yes = Some(true);
    assert_eq!(holds(&cells(70.0, 5.0, 65.0)), [yes, yes, yes, yes, yes, yes, None]);
    let no = Some(false);
    assert_eq!(holds(&cells(38.0, 60.0, 30.0)), [no, no, no, yes, yes, yes, None]);
    let mut small = cells(70.0, 5.0, 65.0);
    small.push(Cell {
        buffer: Some(16_384),
        kernel_buffer: 32_768,
        ..cell(Layout::Far, Policy::Alone, 9.0)
    });
    assert_eq!(holds(&small)[6], yes);
    small.last_mut().unwrap().mbit = 37.0;
    assert_eq!(holds(&small)[6], no);
    assert_eq!(holds(&[])[0], None);
}

#[test]
fn what_paths_hold_follows_from_parameters() {
    let mut parameters = Parameters::new(SPECS, true);
    assert_eq!(needs(&parameters), (Duration::from_millis(21), 105_000.0));
    parameters.set("longer=40ms").unwrap();
    parameters.set("rate=100Mbit/s").unwrap();
    assert_eq!(needs(&parameters), (Duration::from_millis(44), 550_000.0));
    let report = report(&parameters, &cells(70.0, 5.0, 65.0));
    let row =
        report.beside.iter().find(|row| row.what == "TCP, two unequal links, round robin").unwrap();
    assert_eq!((row.ours, row.source), (Some(5.0), Some(10.0)));
    assert!(row.differs.starts_with("165 packets overtake"), "{}", row.differs);
    assert_eq!(Layout::Unequal.lengths(&parameters)[1], Duration::from_millis(22));
}

#[test]
fn what_is_received_counts() {
    use crate::stream::ask::{Seen, Way};
    let ask = Ask {
        version: 1,
        carrier: Carrier::Udp,
        way: Way::To,
        message: 1_000,
        buffer: None,
        millis: 1_000,
        rate: None,
    };
    let second = Seen { nanos: 1_000_000_000, ..Seen::default() };
    let sent = Seen { bytes: 2_000_000, messages: 2_000, send_buffer: 7, ..second };
    let received = Seen { bytes: 500_000, messages: 500, reordered: 3, ..second };
    let cell = Cell::new(Layout::Equal, Policy::Naive, &ask, &Run { sent, received });
    assert_eq!((cell.mbit, cell.sent, cell.loss, cell.reordered), (4.0, 16.0, 75.0, 3));
    assert_eq!(
        cell.name(),
        "two equal links, round-robin, not equalised, UDP, buffer auto, 1000 B"
    );
}
