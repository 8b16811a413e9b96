//! Examples and properties of quantities.

use proptest::prelude::*;

use super::*;

#[test]
fn times_are_read_and_written_canonically() {
    let rows = [
        ("30s", 30_000, "30s"),
        ("250ms", 250, "250ms"),
        ("1h30m", 5_400_000, "1h30m"),
        ("90s", 90_000, "1m30s"),
        ("0.25s", 250, "250ms"),
        ("1.5h", 5_400_000, "1h30m"),
        ("0s", 0, "0s"),
        ("48h", 172_800_000, "2d"),
        ("10 s", 10_000, "10s"),
    ];
    for (text, millis, canonical) in rows {
        let time: Time = text.parse().unwrap();
        assert_eq!(time.0, Duration::from_millis(millis), "{text}");
        assert_eq!(time.to_string(), canonical);
    }
}

#[test]
fn sizes_and_rates_are_read_and_written_canonically() {
    for (text, bytes, canonical) in [
        ("64KiB", 65_536, "64KiB"),
        ("1MB", 1_000_000, "1MB"),
        ("1.5KiB", 1_536, "1536B"),
        ("2048B", 2_048, "2KiB"),
        ("10KB", 10_000, "10kB"),
        ("0B", 0, "0B"),
    ] {
        let size: ByteSize = text.parse().unwrap();
        assert_eq!((size.0, size.to_string().as_str()), (bytes, canonical), "{text}");
    }
    for (text, bits, canonical) in [
        ("10Gbit/s", 10_000_000_000, "10Gbit/s"),
        ("7.5Mbit/s", 7_500_000, "7500kbit/s"),
        ("1MB/s", 8_000_000, "8Mbit/s"),
        ("100 Mbit/s", 100_000_000, "100Mbit/s"),
    ] {
        let rate: BitsPerSecond = text.parse().unwrap();
        assert_eq!((rate.0, rate.to_string().as_str()), (bits, canonical), "{text}");
    }
}

#[test]
fn shares_are_written_in_percent() {
    for (text, millionths, canonical) in [
        ("99.9%", 999_000, "99.9%"),
        ("99.9 %", 999_000, "99.9%"),
        ("50%", 500_000, "50%"),
        ("99.9999%", 999_999, "99.9999%"),
        ("0.0500%", 500, "0.05%"),
    ] {
        let share: Percentage = text.parse().unwrap();
        assert_eq!((share.0, share.to_string().as_str()), (millionths, canonical), "{text}");
    }
    let wrong = |text: &str| text.parse::<Percentage>().unwrap_err();
    assert_eq!(wrong("99.9"), UnitError::NoUnit);
    assert_eq!(wrong("99.99999%"), UnitError::TooFine);
    assert_eq!(wrong("9ms"), UnitError::Unknown("ms".into()));
}

#[test]
fn what_is_not_a_quantity_says_why() {
    let time = |text: &str| text.parse::<Time>().unwrap_err();
    assert_eq!(time("30"), UnitError::NoUnit);
    assert_eq!(time(""), UnitError::NoNumber);
    assert_eq!(time("s"), UnitError::NoNumber);
    assert_eq!(time("-3s"), UnitError::NoNumber);
    assert_eq!(time("1.s"), UnitError::NoNumber);
    assert_eq!(time("1..2s"), UnitError::NoNumber);
    assert_eq!(time("3 weeks"), UnitError::Unknown("weeks".into()));
    assert_eq!(time("1m1h"), UnitError::Order);
    assert_eq!(time("1s1s"), UnitError::Order);
    assert_eq!(time("0.5ns"), UnitError::TooFine);
    assert_eq!(time("999999999999999999999999d"), UnitError::TooLarge);
    assert_eq!("1.5B".parse::<ByteSize>().unwrap_err(), UnitError::TooFine);
    assert_eq!("99999999TiB".parse::<ByteSize>().unwrap_err(), UnitError::TooLarge);
    assert_eq!("1MB".parse::<BitsPerSecond>().unwrap_err(), UnitError::Unknown("MB".into()));
}

#[test]
fn a_rate_for_people_has_one_decimal() {
    assert_eq!(rounded_rate(2_016_492), "2.0 Mbit/s");
    assert_eq!(rounded_rate(16_131_876), "16.1 Mbit/s");
    assert_eq!(rounded_rate(999), "999 bit/s");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn what_is_written_is_read_back(nanos in any::<u64>(), bytes in any::<u64>(), bits in any::<u64>()) {
        let time = Time(Duration::from_nanos(nanos));
        prop_assert_eq!(time.to_string().parse::<Time>(), Ok(time));
        prop_assert_eq!(ByteSize(bytes).to_string().parse::<ByteSize>(), Ok(ByteSize(bytes)));
        prop_assert_eq!(BitsPerSecond(bits).to_string().parse::<BitsPerSecond>(), Ok(BitsPerSecond(bits)));
        prop_assert_eq!(Percentage(bits).to_string().parse::<Percentage>(), Ok(Percentage(bits)));
    }

    #[test]
    fn any_text_is_answered(text in "\\PC{0,24}", near in "[0-9.]{0,8}[a-zA-Z/]{0,6}[0-9. ]{0,6}[a-z]{0,3}") {
        for text in [text, near] {
            if let Ok(time) = text.parse::<Time>() {
                prop_assert_eq!(time.to_string().parse::<Time>(), Ok(time));
            }
            let _ = (text.parse::<ByteSize>(), text.parse::<BitsPerSecond>());
        }
    }
}
