//! Whether the link was full: packets queued before it, or arrived at the link's rate.
//!
//! Near the sender a queue shows in growing round trips; near the receiver, in packets that are never slower than the
//! fastest ones. Samples that involve losses or timers are left out.

use std::collections::VecDeque;

use crate::attribution::base_round_trip::BaseRoundTrip;
use crate::attribution::pace::PaceEstimate;
use crate::attribution::path::{PathTiming, RoundTripSample};
use crate::attribution::sender::{SenderView, SentSegment};

/// The bytes that arrived up to a packet, that packet included.
#[derive(Clone, Copy, Debug)]
struct ArrivalSum {
    time_ns: i64,
    bytes: i64,
}

/// The estimate of the link in one direction.
#[derive(Debug)]
pub struct LinkEstimate {
    /// By the time of the data: sums of samples up to there.
    times: Vec<i64>,
    sums: Vec<i64>,
    /// The shortest within two round trips around each sample: a queue makes all of them longer, a path whose delay
    /// varies only most.
    floors: Vec<i64>,
    /// How much round trips usually differ from one to the next.
    rough_ns: i64,
    base: BaseRoundTrip,
    round_trip_ns: i64,
    /// Arrivals by time; only with a capture near the receiver.
    arrivals: Vec<ArrivalSum>,
    /// Bytes a second of the densest packets; 0: unknown.
    fastest: f64,
    /// The rate while packets were queued.
    pace: PaceEstimate,
}

/// How much longer round trips are with a standing queue, nanoseconds.
/// Above the spread that schedulers and interrupts cause, below any queue that users notice.
const QUEUE_NS: i64 = 4_000_000;
/// The shortest time over which consecutive packets are measured, in nanoseconds.
/// Coalesced interrupts deliver packets in bursts, which a longer time evens out.
const STEADY_NS: i64 = 500_000;
/// Rates that are compared to find the fastest.
/// A percentile of 4,096 is exact to a fraction of a percent.
const MAX_RATES: usize = 4_096;
/// Samples that are compared with later ones: a quartile of a thousand is exact to a few percent.
const MAX_ROUGH: usize = 1_024;

impl LinkEstimate {
    /// `receiver`: the side that acknowledges. `sender`: the view of the other side.
    pub fn estimate(
        path: &PathTiming,
        receiver: crate::event::ConnectionSide,
        sender: &SenderView,
    ) -> LinkEstimate {
        let sent = sender.sent.as_slice();
        let far = path.near_ns(receiver);
        let near = path.near_ns(receiver.peer());
        let firm: Vec<&RoundTripSample> =
            path.samples(receiver).iter().filter(|s| !s.lone).collect();
        let mut sums = vec![0];
        sums.extend(firm.iter().scan(0, |sum, sample| {
            *sum += sample.round_trip_ns;
            Some(*sum)
        }));
        // Arrivals show the link's rate in the middle of a path too. Near the sender, and by its clock, they only show
        // the sender's own pace.
        let tells = near > (near + far) / 4 && path.varies_ns == 0;
        let arrivals = if tells { arrivals(sent) } else { Vec::new() };
        let mut link = LinkEstimate {
            times: firm.iter().map(|sample| sample.time_ns).collect(),
            sums,
            floors: floors(&firm, 2 * (near + far)),
            rough_ns: roughness(&firm, near + far),
            base: BaseRoundTrip::from_samples(
                path.samples(receiver),
                far,
                path.prompt_ns(receiver),
            ),
            round_trip_ns: near + far,
            fastest: fastest(&arrivals, near + far),
            arrivals,
            pace: PaceEstimate::default(),
        };
        if firm.iter().any(|sample| link.is_queued(sample.time_ns, sample.round_trip_ns)) {
            let round_trip_ns = link.round_trip_ns;
            let span_ns = link.span_ns();
            link.pace = PaceEstimate::estimate(&sender.acks, round_trip_ns, span_ns, |at| {
                link.has_queue(at)
            });
        }
        link
    }

    /// Whether the link was full around this time; `window`: the receiver's window, if known.
    pub fn is_full(&self, time_ns: i64, window: Option<i64>) -> bool {
        self.has_queue(time_ns) || self.is_dense(time_ns, window)
    }

    /// Whether a sender paces at the rate that it had while packets were queued.
    pub fn keeps_pace(&self, time_ns: i64) -> bool {
        self.pace.is_kept(time_ns, self.span_ns())
    }

    /// An estimate of its rate, bytes a second; 0: unknown.
    pub fn fastest(&self) -> f64 {
        self.fastest
    }

    fn has_queue(&self, time_ns: i64) -> bool {
        let around = 2 * self.round_trip_ns;
        let from = self.times.partition_point(|time| *time < time_ns - around);
        let to = self.times.partition_point(|time| *time <= time_ns + around);
        if to - from < 3 {
            return false;
        }
        let latest = self.times.partition_point(|time| *time <= time_ns);
        let nearest = latest.saturating_sub(1).clamp(from, to - 1);
        let floor_ns = self.floors[nearest];
        let mean_ns = (self.sums[to] - self.sums[from]) / (to - from) as i64;
        let varies_ns = self.rough_ns.max(mean_ns - floor_ns);
        let is_steady = floor_ns - self.base.at(time_ns) > 2 * varies_ns;
        is_steady && self.is_queued(time_ns, floor_ns)
    }

    /// Whether the queue that the last sample stood in still drains: then a loss costs no time of its own. What was sent
    /// until the sample was acknowledged waits as long again.
    pub fn is_draining(&self, time_ns: i64) -> bool {
        let behind = self.times.partition_point(|time| *time <= time_ns);
        let Some(at) = behind.checked_sub(1) else { return false };
        let round_trip_ns = self.sums[at + 1] - self.sums[at];
        self.is_queued(self.times[at], round_trip_ns)
            && self.times[at] + 2 * round_trip_ns >= time_ns
    }

    /// Whether round trips of this length have a queue in them.
    fn is_queued(&self, time_ns: i64, round_trip_ns: i64) -> bool {
        let base_ns = self.base.at(time_ns);
        let queue = round_trip_ns - base_ns;
        queue > QUEUE_NS && queue * 100 > self.round_trip_ns.max(base_ns) * 35
    }

    /// The time over which rates are compared, in nanoseconds.
    fn span_ns(&self) -> i64 {
        // Twice the smallest queue that counts: shorter spans measure interrupts and timers.
        self.round_trip_ns.max(2 * QUEUE_NS)
    }

    fn is_dense(&self, time_ns: i64, window: Option<i64>) -> bool {
        let around = self.span_ns();
        let (Some(first), Some(last)) = (self.arrivals.first(), self.arrivals.last()) else {
            return false;
        };
        let from_ns = (time_ns - around).max(first.time_ns);
        let to_ns = (time_ns + around).min(last.time_ns);
        if to_ns - from_ns < around || self.fastest <= 0.0 {
            return false;
        }
        let bytes_until = |time_ns| {
            let behind = self.arrivals.partition_point(|sum| sum.time_ns <= time_ns);
            self.arrivals[..behind].last().map_or(0, |sum| sum.bytes)
        };
        let bytes = bytes_until(to_ns) - bytes_until(from_ns);
        let rate = bytes as f64 / (to_ns - from_ns) as f64 * 1e9;
        // A window that is used up within a round trip close to the shortest one is the limit.
        let by_window = window
            .is_some_and(|window| window as f64 / rate * 1e9 <= self.round_trip_ns as f64 * 1.35);
        rate > 0.8 * self.fastest && !by_window
    }
}

/// By how much the sample a round trip later differs, in three of four cases at most: a queue changes slowly.
fn roughness(samples: &[&RoundTripSample], round_trip_ns: i64) -> i64 {
    let stride = samples.len() / MAX_ROUGH + 1;
    let mut later = 0;
    let mut steps = Vec::new();
    for sample in samples.iter().step_by(stride) {
        while samples.get(later).is_some_and(|one| one.time_ns < sample.time_ns + round_trip_ns) {
            later += 1;
        }
        if let Some(next) = samples.get(later) {
            steps.push((next.round_trip_ns - sample.round_trip_ns).abs());
        }
    }
    let at = steps.len() * 3 / 4;
    if steps.is_empty() { 0 } else { *steps.select_nth_unstable(at).1 }
}

/// For each sample the shortest round trip of those at most so far from it.
fn floors(samples: &[&RoundTripSample], around_ns: i64) -> Vec<i64> {
    let mut floors = Vec::with_capacity(samples.len());
    // Samples in reach that no later one is shorter than.
    let mut shortest: VecDeque<&RoundTripSample> = VecDeque::new();
    let mut ahead = samples.iter().peekable();
    for sample in samples {
        while let Some(next) = ahead.next_if(|next| next.time_ns <= sample.time_ns + around_ns) {
            while shortest.back().is_some_and(|last| last.round_trip_ns >= next.round_trip_ns) {
                shortest.pop_back();
            }
            shortest.push_back(next);
        }
        while shortest.front().is_some_and(|first| first.time_ns < sample.time_ns - around_ns) {
            shortest.pop_front();
        }
        floors.push(shortest.front().map_or(sample.round_trip_ns, |first| first.round_trip_ns));
    }
    floors
}

fn arrivals(sent: &[SentSegment]) -> Vec<ArrivalSum> {
    let mut bytes = 0;
    let with_sum = |sent: &SentSegment| {
        bytes += sent.to - sent.from;
        ArrivalSum { time_ns: sent.time_ns, bytes }
    };
    sent.iter().map(with_sum).collect()
}

/// The 80th percentile of the rates of consecutive packets. Each rate covers three packets, or as many as arrive within
/// [`STEADY_NS`], because times of single packets vary by interrupts and schedulers.
fn fastest(arrivals: &[ArrivalSum], round_trip_ns: i64) -> f64 {
    // Half a round trip, so that a rate belongs to one flight of packets.
    let longest_ns = (round_trip_ns / 2).max(2 * QUEUE_NS);
    let steady_ns = STEADY_NS.min(round_trip_ns / 4);
    let stride = arrivals.len() / MAX_RATES + 1;
    let mut rates = Vec::new();
    let mut to = 0;
    for from in (0..arrivals.len()).step_by(stride) {
        let since = |at: usize| arrivals[at].time_ns - arrivals[from].time_ns;
        to = to.max(from + 2);
        while to < arrivals.len() && since(to) < steady_ns {
            to += 1;
        }
        // A pause is no part of a train.
        let pauses = |at: usize| since(at) - since(at - 1) > steady_ns;
        let last = if to >= arrivals.len() || (to > from + 2 && pauses(to)) { to - 1 } else { to };
        let ns = if last >= from + 2 { since(last) } else { 0 };
        if (1..=longest_ns).contains(&ns) {
            let bytes = arrivals[last].bytes - arrivals[from].bytes;
            rates.push(bytes as f64 / ns as f64 * 1e9);
        }
    }
    if rates.len() < 8 {
        return 0.0;
    }
    let at = rates.len() * 4 / 5;
    *rates.select_nth_unstable_by(at, f64::total_cmp).1
}
