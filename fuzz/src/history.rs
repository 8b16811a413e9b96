//! Targets of the history on disk: damaged files, and records with any numbers but valid checksums.
//!
//! Properties besides not panicking: the records before the damage are read unchanged, and a summary can be built from
//! them.

use daemon::history::digest::build_history;
use daemon::history::store::StoredRecords;
use model::history::{HistoryRecord, MAGIC, MetricRow, encode_frame, read_records};

/// A history file after a crash or a disk error.
pub fn file(bytes: &[u8]) {
    let reading = read_records(bytes, 0);
    assert!(reading.damaged_bytes <= bytes.len());
    let mut again = MAGIC.to_vec();
    for record in &reading.records {
        again.extend(encode_frame(record).expect("a record that was read can be written"));
    }
    assert_eq!(
        read_records(&again, 0).records,
        reading.records,
        "records change when they are written again"
    );
    check_history(reading.records, bytes.len() as u64);
}

/// Records built from the bytes, with any numbers and names.
pub fn records(bytes: &[u8]) {
    let mut from = bytes.iter().copied();
    let mut records = Vec::new();
    while let Some(count) = from.next() {
        let at = number(&mut from);
        let span = number(&mut from) as u32;
        let rows = (0..count % 4).map(|_| row(&mut from)).collect();
        records.push(HistoryRecord { at, span, rows });
    }
    let mut file = MAGIC.to_vec();
    records.iter().for_each(|record| file.extend(encode_frame(record).expect("small records")));
    let reading = read_records(&file, 0);
    assert_eq!((&reading.records, reading.damaged_bytes), (&records, 0));
    check_history(records, 0);
}

/// Typical byte sequences of history files.
pub const WORDS: &[&[u8]] =
    &[b"sthist\0\x01", b"\xff\xff\xff\xff", b"\0\0\0\0", b"\x80", b"server/"];

/// Files with one or two records.
pub fn seeds() -> Vec<Vec<u8>> {
    let row =
        |name: &str, numbers: usize| MetricRow { name: name.into(), numbers: vec![7; numbers] };
    let rows = vec![row("service/shop", 9), row("server/web/a", 9), row("process", 3), row("x", 0)];
    let record = |at| {
        encode_frame(&HistoryRecord { at, span: 60, rows: rows.clone() }).expect("a small record")
    };
    let whole = [MAGIC.to_vec(), record(60), record(120)].concat();
    vec![MAGIC.to_vec(), whole[..whole.len() - 9].to_vec(), whole]
}

fn check_history(records: Vec<HistoryRecord>, unreadable: u64) {
    for (since, until) in [(0, u64::MAX), (0, 3_600_000), (5, 5), (9, 1)] {
        let found = StoredRecords { records: records.clone(), unreadable };
        let told = build_history(found, since, until);
        assert!(told.rows.iter().all(|row| row.points.len() == 60), "a line has sixty parts");
        assert!(told.rows.iter().all(|row| row.rates.values().all(|rate| rate.is_finite())));
    }
}

fn row(from: &mut impl Iterator<Item = u8>) -> MetricRow {
    let kinds = ["service/shop", "server/web/a", "process", "of another kind", "", "server/"];
    let kind = kinds[usize::from(from.next().unwrap_or(0)) % kinds.len()];
    let many = from.next().unwrap_or(0) % 13;
    MetricRow { name: kind.to_owned(), numbers: (0..many).map(|_| number(from)).collect() }
}

/// A number of a random size, which the first byte selects.
fn number(from: &mut impl Iterator<Item = u8>) -> u64 {
    let length = from.next().unwrap_or(0) % 9;
    (0..length).fold(0, |value, _| value << 8 | u64::from(from.next().unwrap_or(u8::MAX)))
}
