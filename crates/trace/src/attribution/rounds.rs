//! A transfer in rounds of one round trip: the most bytes in flight in each, and the meaning of that shape.
//!
//! Growth from round to round is slow start. A plateau of three or more rounds near the transfer's peak is a limit of
//! the sender's buffer or of the window. Single gaps are not considered.

use super::round_levels::{FlightSample, LevelPlace, RoundClock, RoundLevels};

/// The most rounds; longer transfers get longer rounds.
const MAX_ROUNDS: i64 = 4_096;
/// The limit of rounds per packet. More rounds show nothing new, and a thousand short transfers in a row must not cost
/// as much as a thousand long ones.
const MAX_FOR_A_PACKET: i64 = 64;
/// Rounds shorter than this are made this long, nanoseconds.
/// Below 100 µs the clock of a capture shows noise.
const SHORTEST_NS: i64 = 100_000;

/// The shape of a round among its neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoundShape {
    /// More and more is in flight.
    Growing,
    /// As much as could be, three rounds and longer.
    Plateau,
    Other,
}

/// Rounds in a row of one shape.
#[derive(Clone, Copy, Debug)]
struct ShapedRounds {
    /// The first of them.
    from: usize,
    shape: RoundShape,
    /// How many rounds in a row have the level of each.
    run: usize,
}

/// The rounds of a transfer.
#[derive(Debug)]
pub struct TransferRounds {
    clock: RoundClock,
    /// In order, from the first round on.
    shapes: Vec<ShapedRounds>,
    /// Most in flight in any round, bytes.
    pub peak: i64,
    /// The most bytes in flight in any round of a plateau; 0 if there is no plateau.
    pub plateau: i64,
}

impl TransferRounds {
    /// From each packet's time and the bytes in flight then.
    pub fn from_flights(flights: &[FlightSample], round_trip_ns: i64) -> TransferRounds {
        let (from_ns, to_ns) = match flights {
            [first, .., last] => (first.time_ns, last.time_ns),
            _ => (0, 0),
        };
        let most = (flights.len() as i64).saturating_mul(MAX_FOR_A_PACKET).clamp(1, MAX_ROUNDS);
        let round_ns = round_trip_ns.max(SHORTEST_NS).max((to_ns - from_ns) / most + 1);
        let count = usize::try_from((to_ns - from_ns) / round_ns).unwrap_or(0) + 1;
        let clock = RoundClock { from_ns, round_ns, count };
        let levels = RoundLevels::from_flights(flights, &clock);
        let peak = levels.peak();
        let mut rounds = TransferRounds { clock, shapes: Vec::new(), peak, plateau: 0 };
        rounds.classify(&levels);
        rounds
    }

    /// Whether the level at a time lasted so long that a congestion window, which grows by a segment a round after a
    /// loss (RFC 5681, 3.1), would have left it by a quarter.
    pub fn outlasts_growth(&self, time_ns: i64, segment: i64) -> bool {
        let run = self.shaped_at(time_ns).map_or(0, |shaped| shaped.run);
        run as i64 * segment * 4 >= self.plateau
    }

    /// The shape at a time.
    pub fn shape(&self, time_ns: i64) -> RoundShape {
        self.shaped_at(time_ns).map_or(RoundShape::Other, |shaped| shaped.shape)
    }

    fn shaped_at(&self, time_ns: i64) -> Option<&ShapedRounds> {
        let round = self.clock.round_at(time_ns);
        let behind = self.shapes.partition_point(|shaped| shaped.from <= round);
        self.shapes[..behind].last()
    }

    fn classify(&mut self, levels: &RoundLevels) {
        let mut at = levels.start();
        while !levels.is_end(at) {
            let level = levels.level(at);
            let high = plateau_length(levels, at, self.peak);
            let long = if high >= SHORT { high } else { plateau_length(levels, at, level) };
            let is_run = high >= SHORT || long >= LONG;
            let (count, run) = match (is_run, level) {
                (true, _) => (long, long),
                // Before anything is in flight only the last round can be one of growth.
                (false, 0) => (levels.rounds_left(at).saturating_sub(1).max(1), 1),
                (false, _) => (1, 1),
            };
            let shape = match is_run {
                true if is_flat(levels, at, count) => RoundShape::Plateau,
                false if levels.is_record(at) && grows(levels, at) => RoundShape::Growing,
                _ => RoundShape::Other,
            };
            if shape == RoundShape::Plateau {
                self.plateau = self.plateau.max(levels.peak_within(at, count));
            }
            let is_like = |last: &ShapedRounds| last.shape == shape && last.run == run;
            if is_run || !self.shapes.last().is_some_and(is_like) {
                self.shapes.push(ShapedRounds { from: at.round, shape, run });
            }
            at = levels.advance(at, at.round + count);
        }
    }
}

/// Rounds of a plateau at the transfer's peak.
const SHORT: usize = 3;
/// Consecutive lower rounds that end a plateau: the buffer holds less than was in flight before.
const LONG: usize = 8;

/// How many rounds in a row stay within a quarter of this level, or above it within a third.
fn plateau_length(levels: &RoundLevels, at: LevelPlace, level: i64) -> usize {
    let is_near = |peak: i64| peak * 4 >= level * 3 && peak * 3 <= level * 4;
    if level > 0 { levels.rounds_with(at, is_near) } else { 0 }
}

/// Whether the last third of a run is hardly higher than its first: a congestion window would still be growing.
fn is_flat(levels: &RoundLevels, at: LevelPlace, count: usize) -> bool {
    let third = count / 3;
    let first = levels.sum(at, third);
    let last = levels.sum(levels.advance(at, at.round + count - third), third);
    last * 100 <= first * 118
}

/// Growth by a quarter within two rounds. Too few rounds to show it count as growth.
fn grows(levels: &RoundLevels, at: LevelPlace) -> bool {
    if levels.count() <= 2 {
        return true;
    }
    let near = |round: usize| levels.level_near(at, round);
    let round = at.round;
    let next = near(round + 1);
    let ahead = next.max(near(round + 2)).unwrap_or(0);
    let is_more = |later: i64, earlier: Option<i64>| later * 4 >= earlier.unwrap_or(0) * 5;
    match round.checked_sub(2) {
        None => is_more(ahead, near(round)) || (round == 1 && is_more(levels.level(at), near(0))),
        Some(before) => {
            is_more(levels.level(at), near(before))
                || next.is_some_and(|next| is_more(next, near(round)))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{Just, Strategy};

    use super::*;

    const MS: i64 = 1_000_000;

    fn rounds_of(peaks: &[i64]) -> TransferRounds {
        let flights = peaks.iter().enumerate();
        let flights: Vec<FlightSample> = flights
            .map(|(at, peak)| FlightSample { time_ns: at as i64 * MS, in_flight: *peak })
            .collect();
        TransferRounds::from_flights(&flights, MS)
    }

    fn shapes_of(peaks: &[i64]) -> Vec<RoundShape> {
        let rounds = rounds_of(peaks);
        (0..rounds.clock.count as i64).map(|at| rounds.shape(at * MS)).collect()
    }

    // Rows: D08
    #[test]
    fn doubling_is_growth_and_a_long_level_is_a_plateau() {
        use RoundShape::{Growing, Plateau};
        assert_eq!(shapes_of(&[10, 20, 40, 80]), [Growing; 4]);
        assert_eq!(
            shapes_of(&[10, 20, 32, 32, 31, 32]),
            [Growing, Growing, Plateau, Plateau, Plateau, Plateau]
        );
        let slow: Vec<i64> = (0..30).map(|at| 100 + at).collect();
        assert!(!shapes_of(&slow).contains(&Plateau), "one segment a round");
    }

    #[test]
    fn bursts_out_of_step_with_round_trips_are_a_plateau() {
        let shapes = shapes_of(&[10, 20, 40, 68, 68, 26, 68, 66, 43, 68, 28, 68, 60, 68]);
        assert_eq!(shapes[..3], [RoundShape::Growing; 3]);
        assert!(shapes[3..].iter().all(|shape| *shape == RoundShape::Plateau), "{shapes:?}");
        let halved = shapes_of(&[10, 20, 40, 20, 21, 22, 23, 24]);
        let held = shapes_of(&[10, 20, 40, 80, 80, 20, 21, 20, 19, 20, 21, 20, 20, 20]);
        assert_eq!(held[5..], [RoundShape::Plateau; 9], "{held:?}");
        assert!(
            !halved.contains(&RoundShape::Plateau),
            "{halved:?}: half as much for good is no dip"
        );
    }

    #[test]
    fn few_packets_far_apart_make_few_rounds() {
        let hour_ns = 3_600_000_000_000;
        let rounds = TransferRounds::from_flights(
            &[0, hour_ns].map(|time_ns| FlightSample { time_ns, in_flight: 10 }),
            1_000_000,
        );
        assert!(rounds.clock.count <= 2 * MAX_FOR_A_PACKET as usize + 1);
        assert_eq!(rounds.shape(hour_ns), rounds.shape(hour_ns / 2), "all alike");
    }

    proptest::proptest! {
        /// Rounds without a packet are like a packet with as much in flight as before.
        #[test]
        fn silent_rounds_need_no_packets(
            steps in proptest::collection::vec(step(), 1..40),
        ) {
            let mut flights = vec![FlightSample { time_ns: 0, in_flight: steps[0].1 }];
            let mut peaks = vec![steps[0].1];
            for (rounds, in_flight) in steps {
                peaks.extend(std::iter::repeat_n(0, rounds - 1));
                peaks.push(in_flight);
                let time_ns = (peaks.len() as i64 - 1) * MS;
                flights.push(FlightSample { time_ns, in_flight });
            }
            let sparse = TransferRounds::from_flights(&flights, MS);
            if sparse.clock.round_ns == MS {
                let dense = dense::DenseRounds::from_peaks(&peaks, RESTART_MS + 1);
                for at in 0..peaks.len() {
                    let time_ns = at as i64 * MS;
                    proptest::prop_assert_eq!(sparse.shape(time_ns), dense.shapes[at], "{}", at);
                    let run = sparse.shaped_at(time_ns).map(|shaped| shaped.run);
                    proptest::prop_assert_eq!(run, Some(dense.runs[at]), "{}", at);
                }
                proptest::prop_assert_eq!([sparse.peak, sparse.plateau], [dense.peak, dense.plateau]);
            }
        }
    }

    const RESTART_MS: usize = 200;

    /// Rounds since the packet before, and bytes in flight. Some pauses are longer than `RESTART_MS`.
    fn step() -> impl Strategy<Value = (usize, i64)> {
        let rounds = proptest::prop_oneof![3 => 1_usize..4, 3 => 1_usize..12, 1 => 1_usize..230];
        (rounds, proptest::prop_oneof![Just(0), 1_i64..40, 28_i64..36])
    }

    /// The same, round by round.
    mod dense {
        use super::super::{LONG, RoundShape, SHORT};

        pub struct DenseRounds {
            pub shapes: Vec<RoundShape>,
            pub runs: Vec<usize>,
            pub peak: i64,
            pub plateau: i64,
        }

        impl DenseRounds {
            pub fn from_peaks(peaks: &[i64], quiet: usize) -> DenseRounds {
                let records = records(peaks, quiet);
                let mut filled = peaks.to_vec();
                for at in 1..filled.len() {
                    if filled[at] == 0 {
                        filled[at] = filled[at - 1];
                    }
                }
                let mut raised = filled.clone();
                for at in 1..filled.len().saturating_sub(1) {
                    raised[at] = filled[at].max(filled[at - 1].min(filled[at + 1]));
                }
                let peak = filled.iter().copied().max().unwrap_or(0);
                let mut dense = DenseRounds { shapes: vec![], runs: vec![], peak, plateau: 0 };
                while dense.shapes.len() < raised.len() {
                    dense.add_rounds(&raised, &records);
                }
                let of_plateau = |at: &usize| dense.shapes[*at] == RoundShape::Plateau;
                let plateau = (0..filled.len()).filter(of_plateau).map(|at| filled[at]).max();
                DenseRounds { plateau: plateau.unwrap_or(0), ..dense }
            }

            fn add_rounds(&mut self, peaks: &[i64], records: &[bool]) {
                let at = self.shapes.len();
                let high = length(&peaks[at..], self.peak);
                let level = length(&peaks[at..], peaks[at]);
                let (count, is_run) = match (high >= SHORT, level >= LONG) {
                    (true, _) => (high, true),
                    (false, true) => (level, true),
                    (false, false) => (1, false),
                };
                let run = &peaks[at..at + count];
                let sum = |part: &[i64]| part.iter().sum::<i64>();
                let is_flat = sum(&run[count - count / 3..]) * 100 <= sum(&run[..count / 3]) * 118;
                let shape = match is_run {
                    true if is_flat => RoundShape::Plateau,
                    false if records[at] && grows(peaks, at) => RoundShape::Growing,
                    _ => RoundShape::Other,
                };
                self.shapes.extend(std::iter::repeat_n(shape, count));
                self.runs.extend(std::iter::repeat_n(count, count));
            }
        }

        fn records(peaks: &[i64], quiet: usize) -> Vec<bool> {
            let mut most = 0;
            let mut silent = 0;
            let record = |at: usize| {
                silent = if peaks[at] == 0 { silent + 1 } else { 0 };
                if silent >= quiet {
                    most = 0;
                }
                let next = peaks.get(at + 1).copied().unwrap_or(0);
                let is_record = next.max(peaks[at]) > most;
                most = most.max(peaks[at]);
                is_record
            };
            (0..peaks.len()).map(record).collect()
        }

        fn length(peaks: &[i64], level: i64) -> usize {
            let near = |peak: &&i64| **peak * 4 >= level * 3 && **peak * 3 <= level * 4;
            if level > 0 { peaks.iter().take_while(near).count() } else { 0 }
        }

        fn grows(peaks: &[i64], at: usize) -> bool {
            let more = |later: usize, earlier: usize| {
                peaks.get(later).copied().unwrap_or(0) * 4 >= peaks[earlier] * 5
            };
            match at.checked_sub(2) {
                _ if peaks.len() <= 2 => true,
                None => more(at + 1, at) || more(at + 2, at) || (at == 1 && more(1, 0)),
                Some(before) => more(at, before) || (at + 1 < peaks.len() && more(at + 1, at)),
            }
        }
    }
}
