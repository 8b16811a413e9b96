//! Turns and draws without randomness: each follows from a counter.

/// 2^64 divided by the golden ratio. Its multiples fall into every range in proportion to the range's width, with an
/// error that grows only with the logarithm of their number (Weyl's sequence).
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The position of this turn among `total` equal ones. `total` is not 0.
#[inline]
pub fn spread_turn(turn: u64, total: u64) -> u64 {
    let spread = turn.wrapping_mul(GOLDEN);
    // Less than `total`, so the cast loses nothing.
    ((u128::from(spread) * u128::from(total)) >> 64) as u64
}

/// Mixes a number thoroughly (the finalizer of SplitMix64).
#[inline]
pub fn mix(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_width_gets_its_share_at_any_time() {
        for (total, width) in [(2u64, 1u64), (3, 1), (256, 1), (300, 77), (8192, 4000)] {
            let mut hits = 0i64;
            for turn in 1..=20_000u64 {
                hits += i64::from(spread_turn(turn, total) < width);
                let fair = turn as f64 * width as f64 / total as f64;
                assert!((hits as f64 - fair).abs() < 12.0, "{turn}: {hits} of {fair}");
            }
        }
    }
}
