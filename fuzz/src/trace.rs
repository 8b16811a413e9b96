//! Targets of the trace analysis: any bytes are a capture, or are refused with a reason; sums agree whatever comes.

use trace::analysis::{Analysis, Settings};
use trace::compose::{Source, report};
use trace::run::{Outcome, read};

/// A capture file. What is kept at once is held small, so that connections are judged in pieces too.
pub fn capture(bytes: &[u8]) {
    let settings = Settings { max_events: 64, max_connections: 16, ..Settings::default() };
    let (mut analysis, mut source) = (Analysis::new(settings), Source::default());
    match read(&mut analysis, &mut source, "fuzz", bytes, |_| ()) {
        Ok(Outcome::Whole) => assert!(source.damage.is_none()),
        Ok(Outcome::Partial(damage)) => assert!(!damage.to_string().is_empty()),
        Err(damage) => assert!(!damage.to_string().is_empty()),
    }
    let report = report(analysis.finish(), source);
    for transaction in report.connections.iter().flat_map(|one| &one.transactions) {
        let owners = &transaction.owners;
        let by_owner = owners.client + owners.network + owners.server + owners.balancer;
        let place = &transaction.location;
        let by_place = place.request + place.server + place.response;
        for sum in [by_owner, by_place] {
            assert!((sum - transaction.total_seconds).abs() < 0.001, "{transaction:?}");
        }
    }
    let packets = |end: &trace::report::End| end.sent.packets + end.sent.duplicates;
    let told: u64 =
        report.connections.iter().map(|c| packets(&c.client) + packets(&c.server)).sum();
    assert_eq!(told + report.capture.beyond_limit, report.capture.tcp_packets);
}

/// What captures are made of.
pub const WORDS: &[&[u8]] = &[
    b"\xd4\xc3\xb2\xa1\x02\x00\x04\x00",
    b"\xa1\xb2\x3c\x4d\x00\x02\x00\x04",
    b"\x0a\x0d\x0d\x0a\x1c\x00\x00\x00\x4d\x3c\x2b\x1a",
    b"\x06\x00\x00\x00",
    b"\x05\x00\x00\x00",
    b"\x08\x00\x45\x00",
    b"\x86\xdd\x60\x00",
    b"\x81\x00",
    b"\x88\x64\x11\x00",
    b"\x88\x47",
    b"\x01\x01\x08\x0a",
    b"\x05\x0a",
    b"GET / HTTP/1.1\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n",
    b"\x16\x03\x01\x00\x05",
    b"\x00\x00\x00\x00",
    b"\xff\xff\xff\xff",
];
