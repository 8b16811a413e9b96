//! A transfer in rounds of one round trip: the most bytes in flight in each, and the meaning of that shape.
//!
//! Growth from round to round is slow start. A plateau of three or more rounds near the transfer's peak is a limit of
//! the sender's buffer or of the window. Single gaps are not considered.

/// The most rounds; longer transfers get longer rounds.
const MAX_ROUNDS: i64 = 4_096;
/// The limit of rounds per packet. More rounds show nothing new, and a thousand short transfers in a row must not cost
/// as much as a thousand long ones.
const MAX_FOR_A_PACKET: i64 = 64;
/// Rounds shorter than this are made this long, nanoseconds.
/// Below 100 µs the clock of a capture shows noise.
const SHORTEST_NS: i64 = 100_000;

/// A sender that was silent for as long may begin with a small congestion window again, nanoseconds: the least timeout
/// of Linux.
const RESTART_NS: i64 = 200_000_000;

/// The shape of a round among its neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoundShape {
    /// More and more is in flight.
    Growing,
    /// As much as could be, three rounds and longer.
    Plateau,
    Other,
}

/// The data in flight when a packet was sent.
#[derive(Clone, Copy, Debug)]
pub struct FlightSample {
    /// The packet's time, nanoseconds since the capture began.
    pub time_ns: i64,
    /// Bytes in flight behind the packet.
    pub in_flight: i64,
}

/// The rounds of a transfer.
#[derive(Debug)]
pub struct TransferRounds {
    from_ns: i64,
    round_ns: i64,
    shapes: Vec<RoundShape>,
    /// For each round, how many in a row have its level.
    runs: Vec<u32>,
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
        let mut peaks = vec![0; count];
        for FlightSample { time_ns, in_flight } in flights {
            let at = usize::try_from((time_ns - from_ns) / round_ns).unwrap_or(0);
            if let Some(peak) = peaks.get_mut(at) {
                *peak = i64::max(*peak, *in_flight);
            }
        }
        let records = records(&peaks, RESTART_NS / round_ns + 1);
        // A round without a packet has the previous bytes in flight.
        for at in 1..count {
            if peaks[at] == 0 {
                peaks[at] = peaks[at - 1];
            }
        }
        let peak = peaks.iter().copied().max().unwrap_or(0);
        let classified = classify_rounds(&without_dips(&peaks), peak, &records);
        let runs = classified.iter().map(|round| round.run).collect();
        let shapes: Vec<RoundShape> = classified.iter().map(|round| round.shape).collect();
        let level =
            |(peak, shape): (&i64, &RoundShape)| (*shape == RoundShape::Plateau).then_some(*peak);
        let plateau = peaks.iter().zip(&shapes).filter_map(level).max().unwrap_or(0);
        TransferRounds { from_ns, round_ns, shapes, runs, peak, plateau }
    }

    /// Whether the level at a time lasted so long that a congestion window, which grows by a segment a round after a
    /// loss (RFC 5681, 3.1), would have left it by a quarter.
    pub fn outlasts_growth(&self, time_ns: i64, segment: i64) -> bool {
        let run = self.runs.get(self.round_at(time_ns)).or(self.runs.last()).copied();
        i64::from(run.unwrap_or(0)) * segment * 4 >= self.plateau
    }

    fn round_at(&self, time_ns: i64) -> usize {
        usize::try_from((time_ns - self.from_ns) / self.round_ns).unwrap_or(0)
    }

    /// The shape at a time.
    pub fn shape(&self, time_ns: i64) -> RoundShape {
        let at = self.round_at(time_ns);
        self.shapes.get(at).or(self.shapes.last()).copied().unwrap_or(RoundShape::Other)
    }
}

/// Raises each round to the lower of its neighbours. A sender that waits for room in its buffer sends in bursts, which
/// do not align with round trips and leave a round with only the rest of a burst.
fn without_dips(peaks: &[i64]) -> Vec<i64> {
    let mut all = peaks.to_vec();
    for (at, three) in peaks.windows(3).enumerate() {
        all[at + 1] = three[1].max(three[0].min(three[2]));
    }
    all
}

/// Whether no earlier round had more in flight than each one or the next: a congestion window that grows. After `quiet`
/// rounds without a packet it may begin anew (RFC 5681, 4.1).
fn records(peaks: &[i64], quiet: i64) -> Vec<bool> {
    let mut most = 0;
    let mut silent = 0;
    let mut records = Vec::with_capacity(peaks.len());
    for (at, peak) in peaks.iter().enumerate() {
        silent = if *peak == 0 { silent + 1 } else { 0 };
        if silent >= quiet {
            most = 0;
        }
        let next = peaks.get(at + 1).copied().unwrap_or(0);
        records.push(next.max(*peak) > most);
        most = most.max(*peak);
    }
    records
}

/// A round with its shape, and how many rounds in a row are alike.
#[derive(Clone, Copy, Debug)]
struct ClassifiedRound {
    shape: RoundShape,
    run: u32,
}

fn classify_rounds(peaks: &[i64], peak: i64, records: &[bool]) -> Vec<ClassifiedRound> {
    let mut shapes = Vec::with_capacity(peaks.len());
    while shapes.len() < peaks.len() {
        let at = shapes.len();
        let high = plateau_length(&peaks[at..], peak);
        let level = plateau_length(&peaks[at..], peaks[at]);
        let (count, is_run) = match (high >= SHORT, level >= LONG) {
            (true, _) => (high, true),
            (false, true) => (level, true),
            (false, false) => (1, false),
        };
        let shape = match is_run {
            true if is_flat(&peaks[at..at + count]) => RoundShape::Plateau,
            false if records[at] && grows(peaks, at) => RoundShape::Growing,
            _ => RoundShape::Other,
        };
        let run = u32::try_from(count).unwrap_or(u32::MAX);
        shapes.extend(std::iter::repeat_n(ClassifiedRound { shape, run }, count));
    }
    shapes
}

/// Rounds of a plateau at the transfer's peak.
const SHORT: usize = 3;
/// Consecutive lower rounds that end a plateau: the buffer holds less than was in flight before.
const LONG: usize = 8;

/// How many rounds in a row stay within a quarter of this level, or above it within a third.
fn plateau_length(peaks: &[i64], level: i64) -> usize {
    let near = |peak: &&i64| **peak * 4 >= level * 3 && **peak * 3 <= level * 4;
    if level > 0 { peaks.iter().take_while(near).count() } else { 0 }
}

/// Whether the last third of a run is hardly higher than its first: a congestion window would still be growing.
fn is_flat(run: &[i64]) -> bool {
    let third = run.len() / 3;
    let sum = |part: &[i64]| part.iter().sum::<i64>();
    let first = sum(&run[..third]);
    let last = sum(&run[run.len() - third..]);
    last * 100 <= first * 118
}

/// Growth by a quarter within two rounds. Too few rounds to show it count as growth.
fn grows(peaks: &[i64], at: usize) -> bool {
    if peaks.len() <= 2 {
        return true;
    }
    let ahead = peaks[at..].iter().skip(1).take(2).copied().max().unwrap_or(0);
    let is_more = |later: i64, earlier: i64| later * 4 >= earlier * 5;
    match at.checked_sub(2) {
        None => is_more(ahead, peaks[at]) || (at == 1 && is_more(peaks[1], peaks[0])),
        Some(before) => {
            is_more(peaks[at], peaks[before])
                || peaks.get(at + 1).is_some_and(|next| is_more(*next, peaks[at]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shapes_of(peaks: &[i64]) -> Vec<RoundShape> {
        let flights = peaks.iter().enumerate();
        let flights: Vec<FlightSample> = flights
            .map(|(at, peak)| FlightSample { time_ns: at as i64 * 1_000_000, in_flight: *peak })
            .collect();
        TransferRounds::from_flights(&flights, 1_000_000).shapes
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
        assert!(rounds.shapes.len() <= 2 * MAX_FOR_A_PACKET as usize + 1);
        assert_eq!(rounds.shape(hour_ns), rounds.shape(hour_ns / 2), "all alike");
    }
}
