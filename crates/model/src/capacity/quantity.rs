//! Quantities of forecasts, each with its unit in its type, so that bits and bytes cannot be mixed up.
//!
//! Decimal prefixes: a megabit is 10^6 bits. It parses nothing.

use std::time::Duration;

use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct BitRate(pub f64);

#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct ByteCount(pub f64);

/// Events a second: connections, requests or updates, by context.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct PerSecond(pub f64);

impl BitRate {
    /// In 10^6 bits a second.
    pub fn megabits(self) -> f64 {
        self.0 / 1e6
    }

    /// The rate that moves these bytes in this time.
    pub fn from_transfer(bytes: ByteCount, time: Duration) -> BitRate {
        BitRate(bytes.0 * BITS / time.as_secs_f64())
    }

    /// The bytes that it moves in this time.
    pub fn bytes_during(self, time: Duration) -> ByteCount {
        ByteCount(self.0 * time.as_secs_f64() / BITS)
    }
}

impl ByteCount {
    /// The rate of messages of this size, sent this often.
    pub fn rate_at(self, rate: PerSecond) -> BitRate {
        BitRate(self.0 * BITS * rate.0)
    }

    pub fn kibibytes(self) -> f64 {
        self.0 / 1024.0
    }
}

/// Bits of a byte: rates are in bits per second, amounts in bytes.
const BITS: f64 = 8.0;

#[cfg(test)]
mod tests {
    use super::*;

    // Rows: L08
    /// A download test of 10,000 requests for 416 KiB, as ab reported it: all its figures follow from two.
    #[test]
    fn a_report_of_ab_follows_from_its_totals() {
        assert_eq!(ByteCount(13.0 * 32_768.0), ByteCount(425_984.0));
        assert_eq!(ByteCount(425_984.0).kibibytes(), 416.0);
        let near = |computed: f64, printed: f64| (computed / printed - 1.0).abs() < 1e-4;
        for (seconds, connections, rate, each_ms) in [
            (112.649, 10.0, 88.77, 112.649),
            (129.153, 10.0, 77.43, 129.153),
            (37.843, 100.0, 264.25, 378.43),
            // ab prints 271.28, from times in microseconds that it does not print.
            (36.863, 50.0, 271.27, 184.313),
        ] {
            assert!(near(10_000.0 / seconds, rate), "{seconds}");
            assert!(near(seconds * connections / 10_000.0 * 1e3, each_ms), "{seconds}");
        }
        // 36,952.8 KiB/s are 302.7 Mbit/s; 264.25 pages a second are 901 with their heads.
        let rate = BitRate::from_transfer(ByteCount(36_952.8 * 1024.0), Duration::from_secs(1));
        assert!((rate.megabits() - 302.7).abs() < 0.05);
        assert!((ByteCount(425_984.0).rate_at(PerSecond(264.25)).megabits() - 900.5).abs() < 0.1);
    }

    #[test]
    fn transfers() {
        let of = |seconds: f64| {
            BitRate::from_transfer(ByteCount(1.5e6), Duration::from_secs_f64(seconds)).megabits()
        };
        for (seconds, megabits) in [(1.7, 7.06), (1.6, 7.5), (7.7, 1.56), (8.0, 1.5)] {
            assert!((of(seconds) - megabits).abs() < 0.005, "{seconds}: {}", of(seconds));
        }
    }
}
