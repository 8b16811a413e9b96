//! Windows, round trips and rates: the capacity of a path, and the rate that a window allows.

use std::time::Duration;

use super::quantity::{BitRate, ByteCount};

/// Bytes in flight on a full path: rate times round trip.
pub fn bandwidth_delay_product(rate: BitRate, round_trip: Duration) -> ByteCount {
    rate.bytes_during(round_trip)
}

/// The rate that a window allows; the round trip is not zero.
pub fn window_limited_rate(window: ByteCount, round_trip: Duration) -> BitRate {
    BitRate::from_transfer(window, round_trip)
}

/// A window by its field and scale factor (RFC 7323 section 2.2); factors above 14 count as 14.
pub fn scaled_window(field: u16, shift: u8) -> ByteCount {
    ByteCount(f64::from(u32::from(field) << shift.min(14)))
}

/// A message that is sent in pieces with waits between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PiecewiseTransfer {
    pub pieces: u64,
    /// The sum of all waits.
    pub waits: Duration,
}

/// How a message is sent that may only be sent in pieces of `piece` bytes with a wait between them.
pub fn window_limited_transfer(
    message: ByteCount,
    piece: ByteCount,
    wait: Duration,
) -> PiecewiseTransfer {
    let pieces = (message.0 / piece.0).ceil().max(1.0) as u64;
    PiecewiseTransfer { pieces, waits: wait.mul_f64((pieces - 1) as f64) }
}

/// How many packets of `size` overtake a packet on a path that is longer by `skew`, at this rate.
pub fn overtaking_packets(rate: BitRate, skew: Duration, size: ByteCount) -> u64 {
    (rate.bytes_during(skew).0 / size.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAR: Duration = Duration::from_millis(130);

    #[test]
    fn windows_at_130_ms() {
        for (window, megabits) in
            [(32_768.0, 2.016), (65_535.0, 4.033), (131_072.0, 8.066), (262_143.0, 16.132)]
        {
            let rate = window_limited_rate(ByteCount(window), FAR).megabits();
            assert!((rate - megabits).abs() < 0.0006, "{window}: {rate}");
        }
        assert_eq!(bandwidth_delay_product(BitRate(7.5e6), FAR), ByteCount(121_875.0));
        assert_eq!(scaled_window(512, 9), ByteCount(262_144.0));
        assert_eq!(scaled_window(512, 8), ByteCount(131_072.0));
        assert_eq!(
            (scaled_window(254, 7), scaled_window(256, 7)),
            (ByteCount(32_512.0), ByteCount(32_768.0))
        );
        assert_eq!(scaled_window(1, 99), scaled_window(1, 14));
    }

    // Rows: C03
    #[test]
    fn a_scale_that_is_not_known_to_the_sender() {
        let wait = Duration::from_secs(5);
        assert_eq!(
            window_limited_transfer(ByteCount(3_072.0), ByteCount(254.0), wait),
            PiecewiseTransfer { pieces: 13, waits: Duration::from_secs(60) }
        );
        // Of 121 pieces 120 wait; the study counted a wait for each: 605 s.
        assert_eq!(
            window_limited_transfer(ByteCount(30_720.0), ByteCount(254.0), wait),
            PiecewiseTransfer { pieces: 121, waits: Duration::from_secs(600) }
        );
    }

    #[test]
    fn long_fat_paths() {
        let short = Duration::from_millis(17);
        let long = Duration::from_millis(34);
        let megabytes =
            |gigabits: f64, time| bandwidth_delay_product(BitRate(gigabits * 1e9), time).0 / 1e6;
        assert_eq!((megabytes(20.0, long), megabytes(20.0, short)), (85.0, 42.5));
        assert_eq!((megabytes(10.0, long), megabytes(10.0, short)), (42.5, 21.25));
        let allowed = window_limited_rate(ByteCount(32e6), long).megabits() / 1e3;
        assert!(
            (allowed - 7.53).abs() < 0.005,
            "a window of 32 MB does not hold it below 1 Gbit/s"
        );
        assert_eq!(overtaking_packets(BitRate(10e9), short, ByteCount(9_000.0)), 2_361);
        // The rate that a window allows falls as the round trip grows from 0.02 ms, by 17 / 0.02.
        let beside = |time| super::window_limited_rate(ByteCount(65_535.0), time).0;
        let times = beside(Duration::from_micros(20)) / beside(short);
        assert!((times - 850.0).abs() < 1e-9, "{times}");
    }
}
