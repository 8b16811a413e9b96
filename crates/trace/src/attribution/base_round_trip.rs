//! The round trip without a queue of our own, as it changes over time.
//!
//! The shortest sample of a connection may be of another path, or the path's delay varies: one fast handshake must not make
//! all later time a queue. While little is in flight there is no queue, so such samples around a time show the path as it
//! is then. Where always
//! as much is in flight nothing shows the difference, and the shortest sample counts.

use super::path::RoundTripSample;

/// The base by stretches of time.
#[derive(Debug, Default)]
pub struct BaseRoundTrip {
    first_ns: i64,
    stretch_ns: i64,
    /// For each stretch, nanoseconds.
    bases: Vec<i64>,
    shortest_ns: i64,
}

/// Fewer samples with little in flight change no base.
const FEW: usize = 8;
/// The length of a stretch, nanoseconds. With its neighbours it covers the ten seconds of BBR's filter.
const STRETCH_NS: i64 = 5_000_000_000;
/// More stretches are made longer instead.
const MAX_STRETCHES: i64 = 4_096;
/// Samples of a stretch that are compared: bounds the memory.
const MAX_COMPARED: usize = 64;

/// Samples of a stretch.
#[derive(Clone, Debug, Default)]
struct StretchSamples {
    most_in_flight: i64,
    /// Round trips with little in flight, nanoseconds.
    round_trips: Vec<i64>,
}

impl BaseRoundTrip {
    /// From samples in order of time; `shortest_ns`: the shortest of the connection; `prompt_ns`: the longest that no
    /// timer of the receiver is in.
    pub fn from_samples(
        samples: &[RoundTripSample],
        shortest_ns: i64,
        prompt_ns: i64,
    ) -> BaseRoundTrip {
        let [Some(first), Some(last)] = [samples.first(), samples.last()] else {
            return BaseRoundTrip { shortest_ns, ..BaseRoundTrip::default() };
        };
        let stretch_ns = STRETCH_NS.max((last.time_ns - first.time_ns) / MAX_STRETCHES + 1);
        let first_ns = first.time_ns;
        let place = |sample: &RoundTripSample| {
            usize::try_from((sample.time_ns - first_ns) / stretch_ns).unwrap_or(0)
        };
        let mut stretches = vec![StretchSamples::default(); place(last) + 1];
        for sample in samples {
            let stretch = &mut stretches[place(sample)];
            stretch.most_in_flight = stretch.most_in_flight.max(sample.in_flight);
        }
        for sample in samples {
            let stretch = &mut stretches[place(sample)];
            // A receiver may have waited with the acknowledgement of all that was outstanding.
            let is_prompt =
                !sample.lone || (!sample.with_data && sample.round_trip_ns <= prompt_ns);
            let is_little = is_prompt && sample.in_flight * 2 <= stretch.most_in_flight;
            if is_little && stretch.round_trips.len() < MAX_COMPARED {
                stretch.round_trips.push(sample.round_trip_ns);
            }
        }
        let base = |at: usize| {
            let around = &stretches[at.saturating_sub(1)..(at + 2).min(stretches.len())];
            let round_trips = around.iter().flat_map(|stretch| &stretch.round_trips);
            lower_quartile(round_trips.copied().collect())
                .map_or(shortest_ns, |ns| ns.max(shortest_ns))
        };
        let bases = (0..stretches.len()).map(base).collect();
        BaseRoundTrip { first_ns, stretch_ns, bases, shortest_ns }
    }

    /// The base at a time.
    pub fn at(&self, time_ns: i64) -> i64 {
        let at = usize::try_from((time_ns - self.first_ns) / self.stretch_ns.max(1)).unwrap_or(0);
        self.bases.get(at).or(self.bases.last()).copied().unwrap_or(self.shortest_ns)
    }
}

/// Above the shortest, which a path whose delay varies shows now and then; below what a growing queue adds.
fn lower_quartile(mut round_trips: Vec<i64>) -> Option<i64> {
    let at = round_trips.len() / 4;
    (round_trips.len() >= FEW).then(|| *round_trips.select_nth_unstable(at).1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn base_of(samples: &[RoundTripSample]) -> i64 {
        BaseRoundTrip::from_samples(samples, 10 * MS, 20 * MS).at(60_000 * MS)
    }

    fn sample(tenth: i64, in_flight: i64, round_trip_ms: i64) -> RoundTripSample {
        let round_trip_ns = round_trip_ms * MS;
        RoundTripSample {
            time_ns: tenth * 100 * MS,
            round_trip_ns,
            in_flight,
            lone: false,
            with_data: false,
        }
    }

    // Rows: D13
    #[test]
    fn a_longer_path_is_no_queue_and_a_queue_is_no_longer_path() {
        let longer: Vec<_> = (10..1200).map(|at| sample(at, at % 10 * 1_000 + 1_000, 30)).collect();
        assert_eq!(base_of(&longer), 30 * MS);
        let queue: Vec<_> =
            (10..1200).map(|at| sample(at, at % 10 * 1_000 + 1_000, 10 + at % 10 * 4)).collect();
        assert!(base_of(&queue) <= 14 * MS, "{}", base_of(&queue));
        let steady: Vec<_> = (10..1200).map(|at| sample(at, 60_000, 300)).collect();
        assert_eq!(base_of(&steady), 10 * MS, "always as much in flight");
        assert_eq!(base_of(&[]), 10 * MS);
    }
}
