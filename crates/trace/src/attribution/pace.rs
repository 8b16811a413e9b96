//! The rate of acknowledgements while packets queued before the link. It is the link's rate, and it is also the limit
//! later, when no queue exists because the sender paces at that rate.

use super::sender::Ack;

/// How far the data was acknowledged at a time of the sender.
#[derive(Clone, Copy, Debug)]
struct AckedOffset {
    time_ns: i64,
    /// Offset behind the last acknowledged byte.
    offset: i64,
}

/// The rate, and the acknowledgements from which it is measured.
#[derive(Debug, Default)]
pub struct PaceEstimate {
    acked: Vec<AckedOffset>,
    /// Bytes a second; 0 if no queue was seen.
    rate: f64,
}

/// Rates that are compared, at most.
const MAX_RATES: usize = 4_096;
/// Fewer samples would let one burst decide the rate.
const MIN_RATES: usize = 8;
/// A sender above this part of the rate paces at it: a sender that probes for more is below it now and then.
const NEAR: f64 = 0.85;

impl PaceEstimate {
    /// From a sender's acknowledgements; `queues`: whether packets were queued when data left at this time.
    pub fn estimate(
        acks: &[Ack],
        round_trip_ns: i64,
        span_ns: i64,
        queues: impl Fn(i64) -> bool,
    ) -> PaceEstimate {
        let acked = acks.iter().map(|ack| AckedOffset { time_ns: ack.time_ns, offset: ack.ack });
        let mut pace = PaceEstimate { acked: acked.collect(), rate: 0.0 };
        let stride = acks.len() / MAX_RATES + 1;
        let queued = acks.iter().step_by(stride).filter(|ack| queues(ack.time_ns - round_trip_ns));
        let rates = queued.filter_map(|ack| pace.rate_between(ack.time_ns - span_ns, ack.time_ns));
        let mut rates: Vec<f64> = rates.collect();
        if rates.len() < MIN_RATES {
            return PaceEstimate::default();
        }
        let middle = rates.len() / 2;
        pace.rate = *rates.select_nth_unstable_by(middle, f64::total_cmp).1;
        pace
    }

    /// Whether acknowledgements arrived at that rate, or faster, around this time.
    pub fn is_kept(&self, time_ns: i64, span_ns: i64) -> bool {
        let (Some(first), Some(last)) = (self.acked.first(), self.acked.last()) else {
            return false;
        };
        let from_ns = (time_ns - span_ns).max(first.time_ns);
        let to_ns = (time_ns + span_ns).min(last.time_ns);
        let rate = self.rate_between(from_ns, to_ns).filter(|_| to_ns - from_ns >= span_ns);
        rate.is_some_and(|rate| rate > 0.0 && rate >= NEAR * self.rate)
    }

    /// Bytes a second that were acknowledged between two times.
    fn rate_between(&self, from_ns: i64, to_ns: i64) -> Option<f64> {
        let until = |time_ns| {
            let behind = self.acked.partition_point(|acked| acked.time_ns <= time_ns);
            self.acked[..behind].last().map(|acked| acked.offset)
        };
        let bytes = until(to_ns)? - until(from_ns)?;
        (to_ns > from_ns).then(|| bytes as f64 / (to_ns - from_ns) as f64 * 1e9)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn ack(ms: i64, ack: i64) -> Ack {
        let time_ns = ms * MS;
        Ack { time_ns, sender_ns: time_ns, ack, edge: 0, window: 0, raw_window: 0, number: 0 }
    }

    #[test]
    fn the_rate_of_a_queue_still_holds_after_it() {
        // A megabyte a second for a second, the first half of it with a queue; then half as much.
        let mut acks: Vec<Ack> = (0..1_000).map(|at| ack(at, at * 1_000)).collect();
        acks.extend((0..1_000).map(|at| ack(1_000 + at, 1_000_000 + at * 500)));
        let pace = PaceEstimate::estimate(&acks, 10 * MS, 20 * MS, |time_ns| {
            (0..500 * MS).contains(&time_ns)
        });
        assert!(pace.is_kept(300 * MS, 20 * MS) && pace.is_kept(800 * MS, 20 * MS));
        assert!(!pace.is_kept(1_500 * MS, 20 * MS));
        let none = PaceEstimate::estimate(&acks, 10 * MS, 20 * MS, |_| false);
        assert!(!none.is_kept(300 * MS, 20 * MS), "no queue, no rate");
    }
}
