//! Constructed measurements, and the report that they must produce.

use super::*;
use crate::stream::client::StreamRun;
use crate::stream::request::StreamRequest;
use crate::study::two_links::SPECS;

fn cell(layout: LinkLayout, policy: SpreadPolicy, mbit: f64) -> StreamCell {
    StreamCell {
        layout,
        policy,
        carrier: StreamTransport::Tcp,
        buffer: None,
        message: 1_400,
        mbit,
        sent: mbit,
        loss: 0.0,
        reordered: 0,
        kernel_buffer: 87_040,
    }
}

fn cells(equal: f64, naive: f64, held: f64) -> Vec<StreamCell> {
    let mut cells = vec![
        cell(LinkLayout::SingleLink, SpreadPolicy::SingleLink, 38.0),
        cell(LinkLayout::LongLink, SpreadPolicy::SingleLink, 37.0),
    ];
    for layout in [LinkLayout::Equal, LinkLayout::Unequal] {
        for policy in [SpreadPolicy::Failover, SpreadPolicy::Hash, SpreadPolicy::Flowlet] {
            cells.push(cell(layout, policy, 38.0));
        }
    }
    cells.push(cell(LinkLayout::Equal, SpreadPolicy::Equalised, equal));
    cells.push(cell(LinkLayout::Unequal, SpreadPolicy::Naive, naive));
    cells.push(cell(LinkLayout::Unequal, SpreadPolicy::Equalised, held));
    cells
}

fn holds(cells: &[StreamCell]) -> Vec<Option<bool>> {
    let report = build_report(&Parameters::new(SPECS, true), cells);
    report.verdicts.iter().map(|verdict| verdict.holds).collect()
}

#[test]
fn verdicts_follow_from_what_streams_got() {
    let yes = Some(true);
    assert_eq!(holds(&cells(70.0, 5.0, 65.0)), [yes, yes, yes, yes, yes, yes, None]);
    let no = Some(false);
    assert_eq!(holds(&cells(38.0, 60.0, 30.0)), [no, no, no, yes, yes, yes, None]);
    let mut small = cells(70.0, 5.0, 65.0);
    small.push(StreamCell {
        buffer: Some(16_384),
        kernel_buffer: 32_768,
        ..cell(LinkLayout::LongLink, SpreadPolicy::SingleLink, 9.0)
    });
    assert_eq!(holds(&small)[6], yes);
    small.last_mut().unwrap().mbit = 37.0;
    assert_eq!(holds(&small)[6], no);
    assert_eq!(holds(&[])[0], None);
}

#[test]
fn what_paths_hold_follows_from_parameters() {
    let mut parameters = Parameters::new(SPECS, true);
    assert_eq!(bandwidth_delay(&parameters), (Duration::from_millis(21), 105_000.0));
    parameters.set("longer=40ms").unwrap();
    parameters.set("rate=100Mbit/s").unwrap();
    assert_eq!(bandwidth_delay(&parameters), (Duration::from_millis(44), 550_000.0));
    let report = build_report(&parameters, &cells(70.0, 5.0, 65.0));
    let row =
        report.beside.iter().find(|row| row.what == "TCP, two unequal links, round robin").unwrap();
    assert_eq!((row.ours, row.source), (Some(5.0), Some(10.0)));
    assert!(row.differs.starts_with("165 packets overtake"), "{}", row.differs);
    assert_eq!(LinkLayout::Unequal.link_delays(&parameters)[1], Duration::from_millis(22));
}

#[test]
fn what_is_received_counts() {
    use crate::stream::request::{StreamDirection, StreamReport};
    let ask = StreamRequest {
        version: 1,
        carrier: StreamTransport::Udp,
        way: StreamDirection::To,
        message: 1_000,
        buffer: None,
        millis: 1_000,
        rate: None,
    };
    let second = StreamReport { nanos: 1_000_000_000, ..StreamReport::default() };
    let sent = StreamReport { bytes: 2_000_000, messages: 2_000, send_buffer: 7, ..second };
    let received = StreamReport { bytes: 500_000, messages: 500, reordered: 3, ..second };
    let cell = StreamCell::new(
        LinkLayout::Equal,
        SpreadPolicy::Naive,
        &ask,
        &StreamRun { sent, received },
    );
    assert_eq!((cell.mbit, cell.sent, cell.loss, cell.reordered), (4.0, 16.0, 75.0, 3));
    assert_eq!(
        cell.name(),
        "two equal links, round-robin, not equalised, UDP, buffer auto, 1000 B"
    );
}
