//! The round trip without a queue of our own, as it changes over time.
//!
//! The shortest sample of a connection may be of another path: one fast handshake must not make all later time a queue.
//! While little is in flight there is no queue, so such samples around a time show the path as it is then. Where always
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

/// The least samples with little in flight that change a base.
const FEW: u64 = 3;
/// The length of a stretch, nanoseconds. With its neighbours it covers the ten seconds of BBR's filter.
const STRETCH_NS: i64 = 5_000_000_000;
/// More stretches are made longer instead.
const MAX_STRETCHES: i64 = 4_096;

/// Samples of a stretch.
#[derive(Clone, Copy, Debug)]
struct StretchSamples {
    most_in_flight: i64,
    /// The shortest round trip with little in flight, nanoseconds.
    shortest_ns: i64,
    count: u64,
}

impl BaseRoundTrip {
    /// From samples in order of time; `shortest_ns`: the shortest of the connection.
    pub fn from_samples(samples: &[&RoundTripSample], shortest_ns: i64) -> BaseRoundTrip {
        let [Some(first), Some(last)] = [samples.first(), samples.last()] else {
            return BaseRoundTrip { shortest_ns, ..BaseRoundTrip::default() };
        };
        let stretch_ns = STRETCH_NS.max((last.time_ns - first.time_ns) / MAX_STRETCHES + 1);
        let first_ns = first.time_ns;
        let place = |sample: &RoundTripSample| {
            usize::try_from((sample.time_ns - first_ns) / stretch_ns).unwrap_or(0)
        };
        let none = StretchSamples { most_in_flight: 0, shortest_ns: i64::MAX, count: 0 };
        let mut stretches = vec![none; place(last) + 1];
        for sample in samples {
            let stretch = &mut stretches[place(sample)];
            stretch.most_in_flight = stretch.most_in_flight.max(sample.in_flight);
        }
        for sample in samples {
            let stretch = &mut stretches[place(sample)];
            if sample.in_flight * 2 <= stretch.most_in_flight {
                stretch.shortest_ns = stretch.shortest_ns.min(sample.round_trip_ns);
                stretch.count += 1;
            }
        }
        let around = |at: usize| &stretches[at.saturating_sub(1)..(at + 2).min(stretches.len())];
        let base = |at: usize| {
            let enough = around(at).iter().map(|stretch| stretch.count).sum::<u64>() >= FEW;
            let shortest = around(at).iter().map(|stretch| stretch.shortest_ns).min();
            shortest
                .filter(|ns| enough && *ns < i64::MAX)
                .map_or(shortest_ns, |ns| ns.max(shortest_ns))
        };
        let bases = (0..stretches.len()).map(base).collect();
        BaseRoundTrip { first_ns, stretch_ns, bases, shortest_ns }
    }

    /// The base at a time.
    pub fn at(&self, time_ns: i64) -> i64 {
        let length = self.stretch_ns.max(1);
        let at = usize::try_from((time_ns - self.first_ns) / length).unwrap_or(0);
        self.bases.get(at).or(self.bases.last()).copied().unwrap_or(self.shortest_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn base_of(samples: &[RoundTripSample]) -> i64 {
        let samples: Vec<&RoundTripSample> = samples.iter().collect();
        BaseRoundTrip::from_samples(&samples, 10 * MS).at(60_000 * MS)
    }

    fn sample(second: i64, in_flight: i64, round_trip_ms: i64) -> RoundTripSample {
        let round_trip_ns = round_trip_ms * MS;
        RoundTripSample { time_ns: second * 1_000 * MS, round_trip_ns, in_flight, lone: false }
    }

    #[test]
    fn a_longer_path_is_no_queue_and_a_queue_is_no_longer_path() {
        let longer: Vec<_> = (1..120).map(|at| sample(at, at % 10 * 1_000 + 1_000, 30)).collect();
        assert_eq!(base_of(&longer), 30 * MS);
        let queue: Vec<_> =
            (1..120).map(|at| sample(at, at % 10 * 1_000 + 1_000, 10 + at % 10 * 4)).collect();
        assert_eq!(base_of(&queue), 10 * MS);
        let steady: Vec<_> = (1..120).map(|at| sample(at, 60_000, 300)).collect();
        assert_eq!(base_of(&steady), 10 * MS, "always as much in flight");
        assert_eq!(base_of(&[]), 10 * MS);
    }
}
