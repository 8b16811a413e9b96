//! Records are read back as written, damage costs the damaged records only, and no input causes a panic.

use proptest::prelude::*;

use super::*;

fn row() -> impl Strategy<Value = MetricRow> {
    let name = prop_oneof![
        "service/[a-z]{1,8}",
        "server/[a-z]{1,8}/[a-z]{1,8}",
        Just("process".to_owned()),
        "\\PC{0,20}"
    ];
    (name, proptest::collection::vec(any::<u64>(), 0..MAX_NUMBERS))
        .prop_map(|(name, numbers)| MetricRow { name, numbers })
}

fn record() -> impl Strategy<Value = HistoryRecord> {
    (any::<u64>(), any::<u32>(), proptest::collection::vec(row(), 0..5))
        .prop_map(|(at, span, rows)| HistoryRecord { at, span, rows })
}

fn file(records: &[HistoryRecord]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    records.iter().for_each(|record| bytes.extend(encode_frame(record).unwrap()));
    bytes
}

#[test]
fn the_checksum_is_the_known_one() {
    assert_eq!(checksum(b"123456789"), 0xCBF4_3926);
}

#[test]
fn what_is_too_long_is_not_written() {
    let long = MetricRow { name: "x".repeat(MAX_NAME + 1), numbers: Vec::new() };
    assert_eq!(encode_frame(&HistoryRecord { at: 1, span: 1, rows: vec![long] }), None);
    let name = "x".repeat(MAX_NAME);
    let many = vec![MetricRow { name, numbers: vec![0; MAX_NUMBERS] }; MAX_PAYLOAD / MAX_NAME + 1];
    assert_eq!(encode_frame(&HistoryRecord { at: 1, span: 1, rows: many }), None);
}

#[test]
fn counts_add_up_and_levels_have_their_highest() {
    let row = |numbers: [u64; 9]| MetricRow { name: "service/s".into(), numbers: numbers.to_vec() };
    let mut sum = row([1, 0, 5, 0, 0, 9, 9, 7, 100]);
    merge_rows(&mut sum, &row([2, 1, 6, 1, 1, 1, 1, 3, 900]));
    assert_eq!(sum, row([3, 1, 11, 1, 1, 10, 10, 7, 900]));
}

proptest! {
    #[test]
    fn records_come_back(records in proptest::collection::vec(record(), 0..6), since in any::<u64>()) {
        let bytes = file(&records);
        prop_assert_eq!(&read_records(&bytes, 0).records, &records);
        let later: Vec<HistoryRecord> = records.into_iter().filter(|record| record.at >= since).collect();
        prop_assert_eq!(read_records(&bytes, since).records, later);
    }

    #[test]
    fn a_torn_end_costs_the_last_record_alone(records in proptest::collection::vec(record(), 1..5), cut in any::<proptest::sample::Index>()) {
        let whole = file(&records);
        let last = file(&records[..records.len() - 1]).len();
        let end = last + cut.index(whole.len() - last);
        let reading = read_records(&whole[..end], 0);
        prop_assert_eq!(&reading.records[..], &records[..records.len() - 1]);
        prop_assert_eq!(reading.damaged_bytes, end - last);
    }

    #[test]
    fn a_changed_byte_is_noticed(records in proptest::collection::vec(record(), 1..4), at in any::<proptest::sample::Index>(), flip in 1u8..) {
        let mut bytes = file(&records);
        let at = at.index(bytes.len());
        bytes[at] ^= flip;
        let reading = read_records(&bytes, 0);
        prop_assert!(reading.records.len() < records.len() || reading.damaged_bytes > 0);
        prop_assert!(reading.records.iter().zip(&records).all(|(read, written)| read == written));
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = read_records(&bytes, 0);
        let mut led = MAGIC.to_vec();
        led.extend_from_slice(&bytes);
        let _ = read_records(&led, 0);
        let _ = parse_record(&bytes);
    }
}
