//! Stored records can be read after crashes, disk errors and clock changes.

use std::time::Duration;

use model::history::MetricRow;

use super::*;
use crate::util::scratch_dir::Scratch;

const KEEP: HistoryRetention = HistoryRetention {
    size: 256 * 1024,
    keep: Duration::from_secs(30 * 86_400),
    step: Duration::from_secs(60),
};

fn record(at: u64) -> HistoryRecord {
    let numbers = vec![1, 0, 5, 0, 0, 100, 100, at % 7, 9];
    HistoryRecord { at, span: 60, rows: vec![MetricRow { name: "service/shop".into(), numbers }] }
}

fn bytes(directory: &Path) -> u64 {
    files(directory).unwrap().iter().map(|file| file.bytes).sum()
}

// Rows: I42
#[test]
fn a_month_fits_and_adds_up() {
    let scratch = Scratch::new("history").unwrap();
    let mut store = HistoryStore::new(scratch.path().join("h"));
    let minutes = 10 * 24 * 60;
    for minute in 1..=minutes {
        store.add(&record(minute * 60), &KEEP).unwrap();
        assert!(bytes(&scratch.path().join("h")) <= KEEP.size, "minute {minute}");
    }
    let found = store.reader().read(0, u64::MAX / 2).unwrap();
    assert_eq!(found.unreadable, 0);
    let requests: u64 = found.records.iter().map(|it| it.rows[0].numbers[2]).sum();
    let covered: u64 = found.records.iter().map(|it| u64::from(it.span)).sum();
    assert_eq!(requests * 60, covered * 5, "nothing that is kept is counted twice or lost");
    let fine = found.records.iter().filter(|it| it.span == 60).count() as u64;
    assert!(fine >= FINE / 60 && (found.records.len() as u64) < minutes / 2);
    let last = store.reader().read(minutes * 60, minutes * 60).unwrap();
    assert_eq!(last.records, [record(minutes * 60)]);
}

#[test]
fn a_crash_while_a_file_becomes_coarser_counts_nothing_twice() {
    let scratch = Scratch::new("history").unwrap();
    let mut store = HistoryStore::new(scratch.path().into());
    for minute in 1..=30 {
        store.add(&record(minute * 60), &KEEP).unwrap();
    }
    let fine = store.path().unwrap().to_owned();
    let bytes = std::fs::read(&fine).unwrap();
    coarsen(&fine).unwrap();
    std::fs::write(&fine, bytes).unwrap();
    let requests = |store: &HistoryStore| -> u64 {
        let found = store.reader().read(0, 10_000).unwrap();
        found.records.iter().map(|it| it.rows[0].numbers[2]).sum()
    };
    assert_eq!(requests(&store), 30 * 5);
    let mut next = HistoryStore::new(scratch.path().into());
    next.add(&record(31 * 60), &KEEP).unwrap();
    assert!(!fine.exists(), "what is left of the crash is removed");
    assert_eq!(requests(&next), 31 * 5);
}

#[test]
fn what_is_too_old_goes() {
    let scratch = Scratch::new("history").unwrap();
    let keep = HistoryRetention { keep: Duration::from_secs(3600), ..KEEP };
    for at in [1_000, 1_000_000] {
        // Each process starts a new file.
        HistoryStore::new(scratch.path().into()).add(&record(at), &keep).unwrap();
    }
    let mut store = HistoryStore::new(scratch.path().into());
    store.add(&record(1_000_060), &keep).unwrap();
    let found = store.reader().read(0, 2_000_000).unwrap().records;
    assert_eq!(found, [record(1_000_000), record(1_000_060)]);
}

#[test]
fn a_clock_that_is_set_back_or_ahead_loses_no_record_of_the_time_after() {
    let scratch = Scratch::new("history").unwrap();
    let mut store = HistoryStore::new(scratch.path().into());
    let day = 86_400;
    // The clock is a day ahead and is corrected. Later it is ahead by less than a file's duration and is corrected once
    // more.
    let ats = [day, day + 60, 600, 660, 720, 4_000, 4_060, 780, 840];
    for at in ats {
        store.add(&record(at), &KEEP).unwrap();
        let found = store.reader().read(at - 60, at).unwrap();
        assert!(found.records.contains(&record(at)), "{at} right after it was kept");
    }
    let found = store.reader().read(600, 900).unwrap().records;
    assert_eq!(found, [600, 660, 720, 780, 840].map(record));
    let mut all = ats;
    all.sort_unstable();
    let found = store.reader().read(0, 2 * day).unwrap().records;
    assert_eq!(found, all.map(record), "nothing is lost, nothing is there twice");
}

#[test]
fn what_a_clock_that_was_ahead_left_goes_before_what_was_kept_since() {
    let scratch = Scratch::new("history").unwrap();
    let keep = HistoryRetention { size: 8 * 1024, ..KEEP };
    let year = 365 * 86_400;
    let mut store = HistoryStore::new(scratch.path().into());
    for minute in 0..100 {
        store.add(&record(year + minute * 60), &keep).unwrap();
    }
    for minute in 1..=100 {
        store.add(&record(minute * 60), &keep).unwrap();
    }
    let found = store.reader().read(0, 2 * year).unwrap().records;
    assert!(found.iter().filter(|it| it.at < year).count() == 100, "{}", found.len());
}

#[test]
fn a_crash_costs_the_last_record_and_a_full_disk_nothing_before() {
    let scratch = Scratch::new("history").unwrap();
    let mut store = HistoryStore::new(scratch.path().into());
    store.add(&record(60), &KEEP).unwrap();
    store.add(&record(120), &KEEP).unwrap();
    let path = store.path().unwrap().to_owned();
    let whole = std::fs::read(&path).unwrap();
    let first = whole.len() - encode_frame(&record(120)).unwrap().len();
    let mut next = HistoryStore::new(scratch.path().into());
    next.add(&record(180), &KEEP).unwrap();
    for cut in 0..whole.len() {
        std::fs::write(&path, &whole[..cut]).unwrap();
        let found = next.reader().read(0, 1_000).unwrap();
        let before = [record(60)];
        let want = [if cut < first { &[] } else { &before[..] }, &[record(180)]].concat();
        assert_eq!(found.records, want, "cut at {cut}");
        let good = if cut < first { MAGIC.len() } else { first };
        let torn = if cut < MAGIC.len() { cut } else { cut - good };
        assert_eq!(found.unreadable, torn as u64, "cut at {cut}");
    }
    let blocked = scratch.path().join("file");
    std::fs::write(&blocked, "").unwrap();
    assert!(HistoryStore::new(blocked.join("h")).add(&record(1), &KEEP).is_err());
}

#[test]
fn a_file_that_somebody_else_put_there_is_named_and_not_read() {
    let scratch = Scratch::new("history").unwrap();
    let mut store = HistoryStore::new(scratch.path().into());
    store.add(&record(60), &KEEP).unwrap();
    let real = store.path().unwrap().to_owned();
    let planted = scratch.path().join("fine-000000000030-1-0.hist");
    std::os::unix::fs::symlink(&real, &planted).unwrap();
    let found = store.reader().read(0, 10_000).unwrap();
    assert_eq!(found.records.len(), 1, "not twice");
    assert!(found.unreadable > 0);
    let mut next = HistoryStore::new(scratch.path().into());
    next.add(&record(120), &KEEP).unwrap();
    let refused = next.take_refused();
    assert_eq!(refused[0].path, planted);
    assert!(refused[0].error.to_string().contains("symbolic link"), "{refused:?}");
    assert_eq!(next.take_refused().len(), 0, "once");
}
