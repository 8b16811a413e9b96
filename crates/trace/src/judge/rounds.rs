//! A transfer in rounds of one round trip: how much was in flight at most in each, and what that shape means.
//!
//! Growth from round to round is slow start; a plateau of three rounds and more near the transfer's peak is a limit of
//! the sender's buffer or of the window. It knows nothing of single gaps.

/// The most rounds; longer transfers get longer rounds.
const MAX_ROUNDS: i64 = 4_096;
/// The most rounds for each packet: where fewer come, they show no more, and a thousand short transfers that wait for
/// each other must not cost a thousand long ones.
const MAX_FOR_A_PACKET: i64 = 64;
/// Rounds shorter than this are made this long, nanoseconds.
const SHORTEST_NS: i64 = 100_000;

/// What a round looks like among its neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// More and more is in flight.
    Growing,
    /// As much as could be, three rounds and longer.
    Plateau,
    /// Neither.
    Other,
}

/// The rounds of a transfer.
#[derive(Debug)]
pub struct Rounds {
    from_ns: i64,
    round_ns: i64,
    shapes: Vec<Shape>,
    /// Most in flight in any round, bytes.
    pub peak: i64,
}

impl Rounds {
    /// From each packet's time and what was in flight then.
    pub fn of(flights: &[(i64, i64)], round_trip_ns: i64) -> Rounds {
        let (from_ns, to_ns) = match flights {
            [first, .., last] => (first.0, last.0),
            _ => (0, 0),
        };
        let most = (flights.len() as i64).saturating_mul(MAX_FOR_A_PACKET).clamp(1, MAX_ROUNDS);
        let round_ns = round_trip_ns.max(SHORTEST_NS).max((to_ns - from_ns) / most + 1);
        let count = usize::try_from((to_ns - from_ns) / round_ns).unwrap_or(0) + 1;
        let mut peaks = vec![0; count];
        for (time_ns, in_flight) in flights {
            let at = usize::try_from((time_ns - from_ns) / round_ns).unwrap_or(0);
            if let Some(peak) = peaks.get_mut(at) {
                *peak = i64::max(*peak, *in_flight);
            }
        }
        // A round without a packet keeps what was in flight.
        for at in 1..count {
            if peaks[at] == 0 {
                peaks[at] = peaks[at - 1];
            }
        }
        let peak = peaks.iter().copied().max().unwrap_or(0);
        let shapes = shapes(&peaks, peak);
        Rounds { from_ns, round_ns, shapes, peak }
    }

    /// The shape at a time.
    pub fn shape(&self, time_ns: i64) -> Shape {
        let at = usize::try_from((time_ns - self.from_ns) / self.round_ns).unwrap_or(0);
        self.shapes.get(at).or(self.shapes.last()).copied().unwrap_or(Shape::Other)
    }
}

fn shapes(peaks: &[i64], peak: i64) -> Vec<Shape> {
    let near = |at: usize| peaks[at] * 4 >= peak * 3 && peak > 0;
    let mut shapes = Vec::with_capacity(peaks.len());
    while shapes.len() < peaks.len() {
        let at = shapes.len();
        let run = (at..peaks.len()).take_while(|at| near(*at)).count();
        if run >= 3 {
            let shape = if is_flat(&peaks[at..at + run]) { Shape::Plateau } else { Shape::Other };
            shapes.extend(std::iter::repeat_n(shape, run));
        } else {
            shapes.push(if grows(peaks, at) { Shape::Growing } else { Shape::Other });
        }
    }
    shapes
}

/// Whether the last third of a run is hardly higher than its first: a congestion window would still be growing.
fn is_flat(run: &[i64]) -> bool {
    let third = run.len() / 3;
    let sum = |part: &[i64]| part.iter().sum::<i64>();
    let (first, last) = (sum(&run[..third]), sum(&run[run.len() - third..]));
    last * 100 <= first * 118
}

/// Growth by a quarter in a round, seen over two; the first two rounds begin it.
fn grows(peaks: &[i64], at: usize) -> bool {
    at < 2
        || peaks[at] * 4 >= peaks[at - 2] * 5
        || peaks.get(at + 1).is_some_and(|next| next * 4 >= peaks[at] * 5)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shapes_of(peaks: &[i64]) -> Vec<Shape> {
        let flights: Vec<(i64, i64)> =
            peaks.iter().enumerate().map(|(at, peak)| (at as i64 * 1_000_000, *peak)).collect();
        Rounds::of(&flights, 1_000_000).shapes
    }

    #[test]
    fn doubling_is_growth_and_a_long_level_is_a_plateau() {
        use Shape::{Growing, Plateau};
        assert_eq!(shapes_of(&[10, 20, 40, 80]), [Growing; 4]);
        assert_eq!(
            shapes_of(&[10, 20, 32, 32, 31, 32]),
            [Growing, Growing, Plateau, Plateau, Plateau, Plateau]
        );
        let slow: Vec<i64> = (0..30).map(|at| 100 + at).collect();
        assert!(!shapes_of(&slow).contains(&Plateau), "one segment a round");
    }

    #[test]
    fn few_packets_far_apart_make_few_rounds() {
        let hour_ns = 3_600_000_000_000;
        let rounds = Rounds::of(&[(0, 10), (hour_ns, 10)], 1_000_000);
        assert!(rounds.shapes.len() <= 2 * MAX_FOR_A_PACKET as usize + 1);
        assert_eq!(rounds.shape(hour_ns), rounds.shape(hour_ns / 2), "all alike");
    }
}
