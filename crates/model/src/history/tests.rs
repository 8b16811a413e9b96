//! Records come back as they were written, damage costs what it hits and nothing before, and nothing makes it panic.

use proptest::prelude::*;

use super::*;

fn row() -> impl Strategy<Value = Row> {
    let name = prop_oneof![
        "service/[a-z]{1,8}",
        "server/[a-z]{1,8}/[a-z]{1,8}",
        Just("process".to_owned()),
        "\\PC{0,20}"
    ];
    (name, proptest::collection::vec(any::<u64>(), 0..NUMBERS))
        .prop_map(|(name, numbers)| Row { name, numbers })
}

fn record() -> impl Strategy<Value = Record> {
    (any::<u64>(), any::<u32>(), proptest::collection::vec(row(), 0..5))
        .prop_map(|(at, span, rows)| Record { at, span, rows })
}

fn file(records: &[Record]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    records.iter().for_each(|record| bytes.extend(frame(record).unwrap()));
    bytes
}

#[test]
fn the_checksum_is_the_known_one() {
    assert_eq!(checksum(b"123456789"), 0xCBF4_3926);
}

#[test]
fn what_is_too_long_is_not_written() {
    let long = Row { name: "x".repeat(NAME + 1), numbers: Vec::new() };
    assert_eq!(frame(&Record { at: 1, span: 1, rows: vec![long] }), None);
    let name = "x".repeat(NAME);
    let many = vec![Row { name, numbers: vec![0; NUMBERS] }; PAYLOAD / NAME + 1];
    assert_eq!(frame(&Record { at: 1, span: 1, rows: many }), None);
}

#[test]
fn counts_add_up_and_levels_have_their_highest() {
    let row = |numbers: [u64; 9]| Row { name: "service/s".into(), numbers: numbers.to_vec() };
    let mut sum = row([1, 0, 5, 0, 0, 9, 9, 7, 100]);
    merge(&mut sum, &row([2, 1, 6, 1, 1, 1, 1, 3, 900]));
    assert_eq!(sum, row([3, 1, 11, 1, 1, 10, 10, 7, 900]));
}

proptest! {
    #[test]
    fn records_come_back(records in proptest::collection::vec(record(), 0..6), since in any::<u64>()) {
        let bytes = file(&records);
        prop_assert_eq!(&read(&bytes, 0).records, &records);
        let later: Vec<Record> = records.into_iter().filter(|it| it.at >= since).collect();
        prop_assert_eq!(read(&bytes, since).records, later);
    }

    #[test]
    fn a_torn_end_costs_the_last_record_alone(records in proptest::collection::vec(record(), 1..5), cut in any::<proptest::sample::Index>()) {
        let whole = file(&records);
        let last = file(&records[..records.len() - 1]).len();
        let end = last + cut.index(whole.len() - last);
        let reading = read(&whole[..end], 0);
        prop_assert_eq!(&reading.records[..], &records[..records.len() - 1]);
        prop_assert_eq!(reading.torn, end - last);
    }

    #[test]
    fn a_changed_byte_is_noticed(records in proptest::collection::vec(record(), 1..4), at in any::<proptest::sample::Index>(), flip in 1u8..) {
        let mut bytes = file(&records);
        let at = at.index(bytes.len());
        bytes[at] ^= flip;
        let reading = read(&bytes, 0);
        prop_assert!(reading.records.len() < records.len() || reading.torn > 0);
        prop_assert!(reading.records.iter().zip(&records).all(|(read, written)| read == written));
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = read(&bytes, 0);
        let mut led = MAGIC.to_vec();
        led.extend_from_slice(&bytes);
        let _ = read(&led, 0);
        let _ = parse(&bytes);
    }
}
