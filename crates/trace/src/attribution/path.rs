//! Round trips from the place of the capture: to the client, to the server, and every sample with its time.
//!
//! A sample is the time from data to the first acknowledgement that ends exactly behind it. Retransmitted bytes (Karn)
//! and bytes behind a hole give no sample. With only delayed acknowledgements a round trip is an upper bound.

use std::collections::VecDeque;

use crate::conversation::Conversation;
use crate::event::{ConnectionSide, FILLS, PacketEvent, UNSEEN};

#[derive(Clone, Copy, Debug)]
pub struct RoundTripSample {
    /// When the data passed, nanoseconds since the capture began.
    pub time_ns: i64,
    /// How long the acknowledgement took.
    pub round_trip_ns: i64,
    /// Bytes that were outstanding behind the data.
    pub in_flight: i64,
    /// Whether no other data was outstanding, so that the acknowledgement may have been delayed.
    pub lone: bool,
    /// Whether data acknowledged it, which a program may have waited with.
    pub with_data: bool,
}

/// The path on both sides of the capture.
#[derive(Clone, Debug, Default)]
pub struct PathTiming {
    /// Round trip between the capture and each side.
    side_round_trip_ns: [Option<i64>; 2],
    /// Whether it may be much shorter than measured.
    bound: [bool; 2],
    /// How much shorter it may be, where hardly any acknowledgement was seen; nanoseconds.
    doubtful_ns: [i64; 2],
    /// Parts of the handshake: SYN to its answer, and the answer to its acknowledgement.
    pub handshake_ns: [Option<i64>; 2],
    /// How much the delay varies by the senders' clocks, nanoseconds; 0: hardly, or nothing shows it. It is taken out of
    /// the times of packets.
    pub varies_ns: i64,
    /// The round trips to both sides by the packets' own times then: what the capture itself shows of them.
    pub passed_ns: [i64; 2],
    /// How late they passed on average, nanoseconds.
    pub usual_late_ns: i64,
    /// How late each stored packet passed then, nanoseconds; else empty.
    pub lateness_ns: Vec<i64>,
    /// Samples by who acknowledged.
    samples: [Vec<RoundTripSample>; 2],
}

/// The limit of samples stored for each side. Further samples of a long piece are dropped.
const MAX_SAMPLES: usize = 1 << 20;

/// Samples that are compared to see how they vary. A percentile of a thousand is exact to a tenth of a percent.
const MAX_COMPARED: usize = 1_024;
/// Fewer samples would let one late acknowledgement decide.
const MIN_COMPARED: usize = 16;

/// A sent segment whose acknowledgement has not passed yet.
#[derive(Clone, Copy, Debug)]
struct UnackedSegment {
    /// Offset behind its last byte.
    end: i64,
    /// When it passed, nanoseconds since the capture began.
    time_ns: i64,
    /// Bytes that were outstanding behind it.
    in_flight: i64,
    /// Whether its acknowledgement gives a sample: nothing at or before its end was sent again.
    clean: bool,
}

/// Data of one direction that is not acknowledged yet.
#[derive(Debug, Default)]
struct UnackedData {
    segments: VecDeque<UnackedSegment>,
    highest: i64,
    /// Offset behind what is acknowledged.
    acked: i64,
}

impl PathTiming {
    pub fn measure(conversation: &Conversation) -> PathTiming {
        let mut path = PathTiming::default();
        let mut waiting = [UnackedData::default(), UnackedData::default()];
        for event in &conversation.events {
            let from = event.side();
            let to = event.side().peer();
            if event.has_ack() {
                waiting[to.index()].on_acknowledged(event, &mut path.samples[from.index()]);
            }
            if event.length > 0 && !event.has_mark(UNSEEN) {
                waiting[from.index()].on_sent(event);
            }
        }
        path.take_handshake(conversation);
        for side in [ConnectionSide::Client, ConnectionSide::Server] {
            path.take_samples(conversation, side);
        }
        path
    }

    fn take_handshake(&mut self, conversation: &Conversation) {
        let shake = &conversation.handshake;
        let Some(answer) = shake.syn_ack_ns else { return };
        if shake.syn_ns.is_some() && shake.syns == 1 {
            self.handshake_ns[1] = Some((answer - shake.last_syn_ns).max(0));
        }
        if let Some(ack) = shake.ack_ns.filter(|_| shake.syn_acks == 1) {
            self.handshake_ns[0] = Some((ack - answer).max(0));
        }
    }

    fn take_samples(&mut self, conversation: &Conversation, side: ConnectionSide) {
        let samples = &self.samples[side.index()];
        let shortest = |lone: bool| {
            let of_kind = samples.iter().filter(|sample| sample.lone == lone);
            of_kind.map(|sample| sample.round_trip_ns).min()
        };
        let firm = [
            self.handshake_ns[side.index()],
            shortest(false),
            conversation.stamps.shortest_ns(side.peer()),
            conversation.shortest_ns[side.index()],
        ];
        let firm = firm.into_iter().flatten().min();
        let loose = shortest(true);
        self.side_round_trip_ns[side.index()] = match (firm, loose) {
            (Some(firm), Some(loose)) => Some(firm.min(loose)),
            (firm, loose) => firm.or(loose),
        };
        // An acknowledgement within a few milliseconds was not delayed by anybody's timer.
        self.bound[side.index()] =
            firm.is_none() && loose.is_some_and(|loose| loose > NOT_DELAYED_NS);
        if self.bound[side.index()] && samples.len() < FEW {
            let is_timed = |sample: &&RoundTripSample| !sample.with_data;
            let timed = samples.iter().filter(is_timed).map(|sample| sample.round_trip_ns).min();
            self.doubtful_ns[side.index()] = match timed {
                Some(timed) if timed >= UNDELAYED_NS => timed.min(MAX_ACK_DELAY_NS),
                Some(_) => 0,
                // The program may have taken all of the time.
                None => loose.unwrap_or(0),
            };
        }
    }

    /// The timing without its samples, to store it.
    pub fn without_samples(self) -> PathTiming {
        PathTiming { samples: Default::default(), lateness_ns: Vec::new(), ..self }
    }

    /// The round trip between the capture and a side; 0: not known.
    pub fn near_ns(&self, side: ConnectionSide) -> i64 {
        self.side_round_trip_ns[side.index()].unwrap_or(0)
    }

    /// How long an acknowledgement takes from the capture to a side and the answer back, at least. Without the handshake
    /// the shortest sample may contain some of the side's own time; an acknowledgement must not come behind the packet
    /// that it let go.
    pub fn shift_ns(&self, side: ConnectionSide) -> i64 {
        let near = self.near_ns(side);
        if self.varies_ns > 0 {
            return near.min(self.passed_ns[side.index()]);
        }
        let is_exact = self.handshake_ns[side.index()].is_some();
        if is_exact { near } else { near - near / 50 }
    }

    /// How much longer than the base a round trip to a side may take by the path alone: a longer acknowledgement was
    /// delayed by its sender. `None`: too few samples tell.
    pub fn variation_ns(&self, side: ConnectionSide) -> Option<i64> {
        let near_ns = self.near_ns(side);
        let extras = |lone: bool| {
            let samples = self.samples(side);
            let stride = samples.len() / MAX_COMPARED + 1;
            let is_of_kind =
                |sample: &&RoundTripSample| sample.lone == lone && !(lone && sample.with_data);
            let of_kind = samples.iter().step_by(stride).filter(is_of_kind);
            let extras: Vec<i64> = of_kind.map(|sample| sample.round_trip_ns - near_ns).collect();
            (extras.len() >= MIN_COMPARED / 2).then_some(extras)
        };
        let by_clock = near_ns.max(self.varies_ns);
        if let Some(mut firm) = extras(false) {
            return Some(percentile(&mut firm, 95).min(by_clock));
        }
        let mut lone = extras(true)?;
        // The timers of a receiver make many alike.
        let [usual, late] = [50, 90].map(|percent| percentile(&mut lone, percent));
        let is_spread = (late - usual) * 6 > late;
        Some(if is_spread { percentile(&mut lone, 95).min(by_clock) } else { 0 })
    }

    /// How much longer than the base a round trip to a side usually takes by the path alone; `varies_ns`: how much at
    /// most, 0 where nothing tells.
    pub fn usual_extra_ns(&self, side: ConnectionSide, varies_ns: i64) -> i64 {
        let near_ns = self.near_ns(side);
        let mut sum_ns = 0;
        let mut count = 0;
        if varies_ns > STEADY_NS {
            let extras = self.samples(side).iter().filter(|sample| !sample.with_data);
            let extras = extras.map(|sample| sample.round_trip_ns - near_ns);
            for extra_ns in extras.filter(|extra_ns| *extra_ns <= varies_ns) {
                sum_ns += extra_ns;
                count += 1;
            }
        }
        (sum_ns / i64::max(count, 1)).max(self.usual_late_ns.min(near_ns))
    }

    /// The longest round trip to a side that the path alone explains, whatever the others are.
    pub fn prompt_ns(&self, side: ConnectionSide) -> i64 {
        let near_ns = self.near_ns(side);
        near_ns + UNDELAYED_NS.min(near_ns.max(self.varies_ns))
    }

    /// Both, unless only delayed acknowledgements could be measured.
    pub fn firm_ns(&self) -> [Option<i64>; 2] {
        [0, 1].map(|at| self.side_round_trip_ns[at].filter(|_| !self.bound[at]))
    }

    /// Whether it could be measured.
    pub fn is_known(&self, side: ConnectionSide) -> bool {
        self.side_round_trip_ns[side.index()].is_some()
    }

    /// How much of the round trip to a side may have been the timer or the program of that side, because hardly any
    /// acknowledgement was seen.
    pub fn doubtful_ns(&self, side: ConnectionSide) -> i64 {
        self.doubtful_ns[side.index()]
    }

    /// Whether only delayed acknowledgements could be measured.
    pub fn is_bound(&self) -> bool {
        self.bound.contains(&true)
    }

    /// The whole round trip.
    pub fn round_trip_ns(&self) -> i64 {
        self.near_ns(ConnectionSide::Client) + self.near_ns(ConnectionSide::Server)
    }

    /// Samples between the capture and a side, in order of time.
    pub fn samples(&self, side: ConnectionSide) -> &[RoundTripSample] {
        &self.samples[side.index()]
    }
}

/// An acknowledgement this early was not delayed by a timer, nanoseconds. Linux delays by 40 ms at least
/// (TCP_DELACK_MIN).
const NOT_DELAYED_NS: i64 = 10_000_000;

/// A path that varies by less is steady, nanoseconds: hosts vary by as much.
pub const STEADY_NS: i64 = 3_000_000;
/// Linux delays acknowledgements by 40 ms at least (TCP_DELACK_MIN); this leaves room for its timers' ticks.
const UNDELAYED_NS: i64 = 35_000_000;
/// The longest that Linux delays an acknowledgement (TCP_DELACK_MAX), nanoseconds.
const MAX_ACK_DELAY_NS: i64 = 200_000_000;
/// Fewer late acknowledgements do not show the path.
const FEW: usize = 4;

/// The value that so many of a hundred are below. `values` are not empty, and change their places.
fn percentile(values: &mut [i64], percent: usize) -> i64 {
    let at = values.len() * percent / 100;
    *values.select_nth_unstable(at).1
}

impl UnackedData {
    fn on_sent(&mut self, event: &PacketEvent) {
        if event.is_retransmission() || event.has_mark(FILLS) {
            for segment in &mut self.segments {
                segment.clean &= segment.end <= event.seq;
            }
        } else if event.has_new_data() {
            self.highest = event.end();
            let time_ns = event.time_ns;
            let first = self.segments.front().map_or(event.seq, |_| self.acked);
            let in_flight = event.end() - first;
            self.segments.push_back(UnackedSegment {
                end: event.end(),
                time_ns,
                in_flight,
                clean: true,
            });
        }
    }

    fn on_acknowledged(&mut self, event: &PacketEvent, samples: &mut Vec<RoundTripSample>) {
        self.acked = self.acked.max(event.ack);
        while let Some(segment) = self.segments.front().copied() {
            let UnackedSegment { end, time_ns, in_flight, clean } = segment;
            if end > event.ack {
                return;
            }
            self.segments.pop_front();
            let exact = end == event.ack && clean && samples.len() < MAX_SAMPLES;
            if exact && event.time_ns >= time_ns {
                let round_trip_ns = event.time_ns - time_ns;
                let lone = self.segments.is_empty();
                let with_data = event.length > 0;
                samples.push(RoundTripSample {
                    time_ns,
                    round_trip_ns,
                    in_flight,
                    lone,
                    with_data,
                });
            }
        }
    }
}
