//! Cuts the transfer of a message at every acknowledgement and says of each slice what limited: the first rule that holds.
//!
//! By the sender's clock. A gap lies between two data packets of the message; the acknowledgements that reached the
//! sender within it cut it into slices. The rules and their constants are in docs/explain.md.

use model::limit::Limit;

use super::link::Link;
use super::rounds::{Rounds, Shape};
use super::sender::{Sender, Sent};
use super::shares::{Evidence, Shares};

/// One message's transfer.
#[derive(Debug)]
pub struct Transfer<'a> {
    /// What its sender did.
    pub sender: &'a Sender,
    /// The link in that direction.
    pub link: &'a Link,
    /// First packet, index into what was sent.
    pub first: usize,
    /// Last packet.
    pub last: usize,
    /// Time before this belongs to another phase.
    pub from_ns: i64,
    /// Offset behind the message.
    pub to: i64,
    /// The whole round trip.
    pub round_trip_ns: i64,
    /// Largest segment.
    pub segment: i64,
    /// Whether every slice is wanted, for drawing.
    pub detailed: bool,
}

/// What came of it.
#[derive(Debug)]
pub struct Sliced {
    /// Time by limit; the sum is the time between the first and the last packet.
    pub shares: Shares,
    /// Most in flight in the sender's view.
    pub max_in_flight: i64,
    /// What the send buffer seems to hold, bytes; 0: nothing suggests one.
    pub cap: i64,
    /// Every slice, where wanted: what limited, from when to when.
    pub stretches: Vec<(Limit, i64, i64)>,
    /// Smallest window that was in force, bytes, where known.
    pub window: Option<(i64, i64)>,
}

/// Answers sooner than this after an acknowledgement are triggered by it, nanoseconds.
const TRIGGER_NS: i64 = 3_000_000;
/// How much later than a round trip an acknowledgement comes that a timer held back, nanoseconds.
const DELAYED_NS: i64 = 20_000_000;
/// Segments of one acknowledgement that no receiver leaves unacknowledged while they come one by one.
const MANY_SEGMENTS: i64 = 4;
/// Packets that leave at once where a sender paces itself, at most.
const PACED_BURST: usize = 46;
/// How long a loss is felt at least, nanoseconds.
const RECOVERY_NS: i64 = 200_000_000;

/// Judges a transfer.
pub fn slice(transfer: &Transfer<'_>) -> Sliced {
    let mut run = Run::new(transfer);
    for at in transfer.first..transfer.last {
        run.gap(at);
    }
    run.shares.settle_sending();
    let plateau = run.shares.ns(Limit::SendBuffer) > 0;
    Sliced {
        max_in_flight: run.rounds.peak,
        cap: if plateau { run.rounds.plateau } else { 0 },
        shares: run.shares,
        stretches: run.stretches,
        window: run.window,
    }
}

struct Run<'a> {
    of: &'a Transfer<'a>,
    shares: Shares,
    rounds: Rounds,
    /// Times of packets that repaired a loss.
    repairs: Vec<i64>,
    trigger_ns: i64,
    /// Acknowledgements known at the gap's begin.
    known: usize,
    window: Option<(i64, i64)>,
    stretches: Vec<(Limit, i64, i64)>,
}

/// A gap between two packets.
struct Gap<'a> {
    a: &'a Sent,
    b: &'a Sent,
    from_ns: i64,
    high: i64,
    /// It ends in a repair, or near one.
    lossy: bool,
    /// The packet behind it followed an acknowledgement.
    triggered: bool,
    /// The packet behind it came late after the last acknowledgement.
    late: bool,
    /// No acknowledgement came within, and it is short.
    plain: bool,
    /// It is as long as the one before, between packets as large as any: the sender paces itself.
    paced: bool,
}

impl<'a> Run<'a> {
    fn new(of: &'a Transfer<'a>) -> Run<'a> {
        let sender = of.sender;
        let mut known = 0;
        let mut flights = Vec::with_capacity(of.last + 1 - of.first);
        let mut repairs = Vec::new();
        for at in of.first..=of.last {
            let sent = &sender.sent[at];
            while sender.acks.get(known).is_some_and(|ack| ack.time_ns <= sent.time_ns) {
                known += 1;
            }
            let acked = sender.acks[..known].last().map_or(sender.sent[of.first].from, |a| a.ack);
            flights.push((sent.time_ns, (sender.high[at] - acked).max(0)));
            if sent.repairs {
                repairs.push(sent.time_ns);
            }
        }
        let rounds = Rounds::of(&flights, of.round_trip_ns);
        let trigger_ns = TRIGGER_NS.max(of.round_trip_ns * 8 / 100);
        Run {
            of,
            shares: Shares::default(),
            rounds,
            repairs,
            trigger_ns,
            known: 0,
            window: None,
            stretches: Vec::new(),
        }
    }

    fn gap(&mut self, at: usize) {
        let sender = self.of.sender;
        let (a, b) = (&sender.sent[at], &sender.sent[at + 1]);
        let from_ns = a.time_ns.max(self.of.from_ns);
        if b.time_ns <= from_ns {
            return;
        }
        while sender.acks.get(self.known).is_some_and(|ack| ack.time_ns <= from_ns) {
            self.known += 1;
        }
        let within = sender.acks[self.known..].iter().take_while(|ack| ack.time_ns <= b.time_ns);
        let behind = self.known + within.count();
        let last_ns = sender.acks[..behind].last().map_or(i64::MIN / 2, |ack| ack.time_ns);
        let gap = Gap {
            a,
            b,
            from_ns,
            high: sender.high[at],
            lossy: b.repairs || self.is_lossy(a.time_ns, b.time_ns),
            triggered: b.time_ns - last_ns <= self.trigger_ns,
            late: b.time_ns - last_ns.max(from_ns) > self.trigger_ns,
            plain: behind == self.known && b.time_ns - from_ns <= self.trigger_ns,
            paced: self.is_paced(at),
        };
        if let Some(limit) = self.waited_for_delayed(&gap, at) {
            return self.count(limit, &gap, from_ns, b.time_ns);
        }
        let mut start_ns = from_ns;
        for index in self.known..=behind {
            let end_ns = if index == behind { b.time_ns } else { sender.acks[index].time_ns };
            if end_ns > start_ns {
                let limit = self.limit(&gap, index.checked_sub(1), start_ns);
                self.count(limit, &gap, start_ns, end_ns);
                start_ns = end_ns;
            }
        }
    }

    /// Whether the packet after this one left by the sender's clock, as BBR lets them: whole segments, and a gap as long
    /// as the last one between bursts. A program that writes by the clock leaves the rest of what it wrote.
    fn is_paced(&self, at: usize) -> bool {
        let (sent, whole) = (&self.of.sender.sent, self.of.segment);
        let is_whole = |sent: &Sent| sent.to - sent.from >= whole;
        let gap_ns = |at: usize| sent[at + 1].time_ns - sent[at].time_ns;
        let this_ns = gap_ns(at);
        let first = self.of.first.max(at.saturating_sub(PACED_BURST));
        let before = (first..at).rev().map(gap_ns).find(|ns| *ns * 4 > this_ns);
        let regular = before.is_some_and(|ns| (ns - this_ns).abs() * 4 <= this_ns);
        regular && this_ns < self.of.round_trip_ns && is_whole(&sent[at]) && is_whole(&sent[at + 1])
    }

    fn count(&mut self, limit: Limit, gap: &Gap<'_>, from_ns: i64, to_ns: i64) {
        let bytes =
            if to_ns == gap.b.time_ns { (gap.b.to - gap.b.from).cast_unsigned() } else { 0 };
        let (from, to) = (gap.a.number, gap.b.number);
        let longest_ns = to_ns - from_ns;
        if self.of.detailed {
            match self.stretches.last_mut() {
                Some((last, _, end)) if *last == limit && *end == from_ns => *end = to_ns,
                _ => self.stretches.push((limit, from_ns, to_ns)),
            }
        }
        self.shares.add(limit, Evidence { times: 1, longest_ns, from_ns, from, to, bytes });
    }

    /// A small segment whose acknowledgement came late and let the next packet go.
    fn waited_for_delayed(&self, gap: &Gap<'_>, at: usize) -> Option<Limit> {
        let (of, sender) = (self.of, self.of.sender);
        let small = gap.a.to - gap.a.from < of.segment && !gap.lossy;
        if !small || !gap.triggered || gap.from_ns != gap.a.time_ns {
            return None;
        }
        let covering = sender.acks.partition_point(|ack| ack.ack < sender.high[at]);
        let ack = sender.acks.get(covering)?;
        let took = ack.time_ns - gap.a.time_ns;
        let since = gap.b.time_ns - ack.time_ns;
        let open = ack.edge - gap.high >= of.segment.min(of.to - gap.high);
        let delayed =
            took > of.round_trip_ns + DELAYED_NS && (0..=self.trigger_ns).contains(&since);
        if !delayed || !open {
            return None;
        }
        let next_small = gap.b.to - gap.b.from < of.segment;
        Some(if next_small { Limit::NagleDelayedAck } else { Limit::DelayedAck })
    }

    /// The first rule that holds for a slice; `latest`: the acknowledgement in force.
    fn limit(&mut self, gap: &Gap<'_>, latest: Option<usize>, start_ns: i64) -> Limit {
        let of = self.of;
        let ack = latest.map(|at| &of.sender.acks[at]);
        let (edge, window) = ack.map_or((i64::MAX / 4, None), |ack| {
            (ack.edge, (of.sender.scaled || ack.raw_window == 0).then_some(ack.window))
        });
        if let Some(window) = window {
            let (low, high) = self.window.unwrap_or((window, window));
            self.window = Some((low.min(window), high.max(window)));
        }
        let outstanding = gap.high - ack.map_or(gap.a.from, |ack| ack.ack);
        let room = edge - gap.high;
        let want = of.segment.min((of.to - gap.high).max(1));
        let full = room < want;
        // A hole stops acknowledgements and with them the window: that is the loss's time, not the receiver's.
        let in_repair = gap.lossy && outstanding > 0;
        match window {
            Some(0) => return Limit::ZeroWindow,
            Some(window) if full && window < of.segment => return Limit::SillyWindow,
            _ => {}
        }
        if full && !in_repair && (self.is_unread(window) || self.comes_in_turns(latest)) {
            return Limit::Rwnd;
        }
        let bulk = self.rounds.peak > 4 * of.segment;
        let filled = || {
            let at_its_rate = !full && !self.is_near_edge(room) && of.link.keeps_pace(start_ns);
            at_its_rate || of.link.is_full(start_ns, window)
        };
        if bulk && !gap.lossy && outstanding > 0 && filled() {
            return Limit::LinkRate;
        }
        if full && !in_repair {
            return Limit::Rwnd;
        }
        if gap.lossy {
            return Limit::Loss;
        }
        if gap.late && outstanding > 0 && gap.paced && self.comes_in_turns(latest) {
            return Limit::Rwnd;
        }
        if outstanding <= 0 || (gap.late && !gap.triggered) {
            return self.silence(gap, outstanding);
        }
        // Back to back while growing is slow start itself; otherwise it is the time of whatever limits most.
        if gap.plain && self.rounds.shape(start_ns) != Shape::Growing {
            return Limit::Send;
        }
        self.clocked(start_ns, room)
    }

    /// The sender had nothing outstanding, or let acknowledgements pass.
    fn silence(&self, gap: &Gap<'_>, outstanding: i64) -> Limit {
        let long = RECOVERY_NS.max(2 * self.of.round_trip_ns);
        let lost = gap.b.jump && outstanding > 0 && gap.b.time_ns - gap.a.time_ns > long;
        if lost { Limit::LossSuspected } else { Limit::AppSender }
    }

    /// Acknowledgements let packets go; what says how many?
    fn clocked(&self, start_ns: i64, room: i64) -> Limit {
        let of = self.of;
        match self.rounds.shape(start_ns) {
            Shape::Plateau if !self.repairs.is_empty() => Limit::Cwnd,
            Shape::Plateau if self.rounds.peak <= 2 * of.segment => Limit::Cwnd,
            Shape::Plateau if self.is_near_edge(room) => Limit::Rwnd,
            Shape::Plateau => Limit::SendBuffer,
            Shape::Growing if self.repairs.first().is_none_or(|first| *first > start_ns) => {
                Limit::SlowStart
            }
            _ => Limit::Cwnd,
        }
    }

    /// Whether so much is in flight that the window leaves no room worth speaking of.
    fn is_near_edge(&self, room: i64) -> bool {
        let room_at_peak = self.window.map(|(_, high)| high - self.rounds.peak);
        room <= 2 * self.of.segment
            || room_at_peak
                .is_some_and(|room| room <= (2 * self.of.segment).max(self.rounds.peak / 8))
    }

    /// Whether the receiver's program has left so much unread that its window is well below what it was at its largest.
    /// It acknowledges late then, as if a queue stood (RFC 9293, 3.8.6.3).
    fn is_unread(&self, window: Option<i64>) -> bool {
        let largest = self.window.map_or(0, |(_, high)| high);
        window.is_some_and(|window| window * 4 < largest * 3)
    }

    /// Whether this acknowledgement came alone in half a round trip and for many segments: the receiver's program took a
    /// portion, and that moved the window. A queue before a link empties packet by packet, and is acknowledged so.
    fn comes_in_turns(&self, latest: Option<usize>) -> bool {
        let acks = &self.of.sender.acks;
        let Some((before, ack)) =
            latest.and_then(|at| Some((acks.get(at.checked_sub(1)?)?, &acks[at])))
        else {
            return false;
        };
        let alone = (ack.time_ns - before.time_ns) * 2 >= self.of.round_trip_ns;
        alone && ack.ack - before.ack >= MANY_SEGMENTS * self.of.segment
    }

    /// Whether a repair is so near that the time between belongs to it.
    fn is_lossy(&self, from_ns: i64, to_ns: i64) -> bool {
        let after = RECOVERY_NS.max(6 * self.of.round_trip_ns);
        let before = self.of.round_trip_ns;
        let first = self.repairs.partition_point(|repair| *repair + after < from_ns);
        self.repairs.get(first).is_some_and(|repair| *repair <= to_ns + before)
    }
}
