//! The shares of uplinks in new connections: a wheel of turns from which the kernel draws one at random, and the same
//! shares as weights of routes for other packets. Pure.
//!
//! The lowest priority with an uplink that is up gets everything, by weight. When none is up, all are used as if they
//! were up: the probes may be wrong, and nothing is lost by trying.

/// Turns of a wheel; the same number as in the program.
/// One in 256 is the finest share, and the highest weight.
pub const TURNS: usize = 256;

/// A candidate for the wheel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UplinkCandidate {
    /// The uplink's number, from 1.
    pub number: u8,
    pub up: bool,
    /// The uplink has a gateway and a source now: without them it cannot send.
    pub is_usable: bool,
    pub weight: u16,
    pub priority: u8,
}

/// Turns by uplink number; all 0 when there is no uplink.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UplinkWheel {
    pub turns: [u8; TURNS],
    /// No uplink is up: all are used.
    pub spread: bool,
}

/// The uplinks that take new connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UplinkSelection {
    pub uplinks: Vec<UplinkCandidate>,
    /// No uplink is up: all are used.
    pub spread: bool,
}

/// The uplinks for new connections, with their weights.
pub fn select_uplinks(all: &[UplinkCandidate]) -> UplinkSelection {
    let of = |fit: &dyn Fn(&UplinkCandidate) -> bool| {
        let fit: Vec<UplinkCandidate> =
            all.iter().filter(|one| one.is_usable && one.weight > 0 && fit(one)).copied().collect();
        let first = fit.iter().map(|one| one.priority).min();
        fit.into_iter().filter(|one| Some(one.priority) == first).collect::<Vec<_>>()
    };
    let up = of(&|one| one.up);
    if !up.is_empty() {
        return UplinkSelection { uplinks: up, spread: false };
    }
    let uplinks = of(&|_| true);
    UplinkSelection { spread: !uplinks.is_empty(), uplinks }
}

impl UplinkWheel {
    pub fn from_candidates(all: &[UplinkCandidate]) -> UplinkWheel {
        let UplinkSelection { uplinks: chosen, spread } = select_uplinks(all);
        let sum: i64 = chosen.iter().map(|one| i64::from(one.weight)).sum();
        let mut turns = [0; TURNS];
        let mut left = vec![0_i64; chosen.len()];
        for turn in turns.iter_mut().take(if sum > 0 { TURNS } else { 0 }) {
            for (left, one) in left.iter_mut().zip(&chosen) {
                *left += i64::from(one.weight);
            }
            let most = (0..left.len()).max_by_key(|at| (left[*at], std::cmp::Reverse(*at)));
            if let Some(at) = most {
                left[at] -= sum;
                *turn = chosen[at].number;
            }
        }
        UplinkWheel { turns, spread }
    }

    /// An uplink's share of new connections, 0–1.
    pub fn share(&self, number: u8) -> f64 {
        let turns = self.turns.iter().filter(|turn| **turn == number).count();
        turns as f64 / TURNS as f64
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn one(number: u8, up: bool, weight: u16, priority: u8) -> UplinkCandidate {
        UplinkCandidate { number, up, is_usable: true, weight, priority }
    }

    #[test]
    fn weights_priorities_and_what_is_down() {
        let rows: [(&[UplinkCandidate], [f64; 3], bool); 6] = [
            (&[one(1, true, 3, 1), one(2, true, 1, 1)], [0.75, 0.25, 0.0], false),
            (&[one(1, false, 3, 1), one(2, true, 1, 1)], [0.0, 1.0, 0.0], false),
            (&[one(1, true, 1, 1), one(2, true, 9, 2)], [1.0, 0.0, 0.0], false),
            (
                &[one(1, false, 1, 1), one(2, true, 1, 2), one(3, true, 1, 3)],
                [0.0, 1.0, 0.0],
                false,
            ),
            (&[one(1, false, 1, 1), one(2, false, 1, 1)], [0.5, 0.5, 0.0], true),
            (&[one(1, true, 0, 1), one(2, true, 1, 2)], [0.0, 1.0, 0.0], false),
        ];
        for (all, shares, spread) in rows {
            let wheel = UplinkWheel::from_candidates(all);
            assert_eq!([1, 2, 3].map(|number| wheel.share(number)), shares, "{all:?}");
            assert_eq!(wheel.spread, spread, "{all:?}");
        }
    }

    #[test]
    fn nothing_is_drawn_where_nothing_stands() {
        let gone = UplinkCandidate { is_usable: false, ..one(1, true, 1, 1) };
        assert_eq!(
            UplinkWheel::from_candidates(&[gone]),
            UplinkWheel { turns: [0; TURNS], spread: false }
        );
        assert_eq!(UplinkWheel::from_candidates(&[]).turns, [0; TURNS]);
        let wheel = UplinkWheel::from_candidates(&[gone, one(2, false, 1, 5)]);
        assert_eq!((wheel.share(2), wheel.spread), (1.0, true));
    }

    proptest! {
        #[test]
        fn shares_follow_the_weights(
            weights in prop::collection::vec((0..=256_u16, any::<bool>(), 1..4_u8), 1..=8)
        ) {
            let all: Vec<UplinkCandidate> = weights
                .iter()
                .zip(1..)
                .map(|((weight, up, priority), number)| one(number, *up, *weight, *priority))
                .collect();
            let wheel = UplinkWheel::from_candidates(&all);
            let UplinkSelection { uplinks: chosen, spread } = select_uplinks(&all);
            prop_assert_eq!(wheel.spread, spread);
            let sum: f64 = chosen.iter().map(|one| f64::from(one.weight)).sum();
            for one in &all {
                let fair = match chosen.contains(one) {
                    true => f64::from(one.weight) / sum,
                    false => 0.0,
                };
                let off = (wheel.share(one.number) - fair).abs();
                prop_assert!(off <= 2.0 / TURNS as f64, "{one:?}: {off}");
            }
        }
    }
}
