//! Cuts the transfer of a message at every acknowledgement and attributes each slice to the first matching limit.
//!
//! All times are by the sender's clock. A gap lies between two data packets of the message. The acknowledgements that
//! reached the sender within the gap divide it into slices. The rules and their constants are in docs/explain.md.

use std::cell::OnceCell;

use model::limit::Limit;

use super::arrival_line;
use super::bursts::{self, SentBursts};
use super::lag;
use super::message_transfer::{MessageTransfer, TransferBreakdown};
use super::round_levels::FlightSample;
use super::rounds::{RoundShape, TransferRounds};
use super::sender::SentSegment;
use super::shares::{LimitEvidence, LimitShares};
use super::transaction::{EffectiveWindowRange, LimitStretch};
use super::window_lags::{self, WindowLags};

/// Answers sooner than this after an acknowledgement are triggered by it, nanoseconds.
/// 3 ms allow for the scheduler of the host that answers.
const TRIGGER_NS: i64 = 3_000_000;
/// An acknowledgement that is later than a round trip by this time was delayed by a timer. Nanoseconds.
/// Half of Linux's shortest timer, 40 ms (TCP_DELACK_MIN).
const DELAYED_NS: i64 = 20_000_000;
/// The least time after a loss that counts as recovery, in nanoseconds.
/// The minimum retransmission timeout of Linux.
pub const RECOVERY_NS: i64 = 200_000_000;

/// Adds the time by limit to `shares`: in sum the time between the first and the last packet.
pub fn attribute_transfer(
    transfer: &MessageTransfer<'_>,
    shares: &mut LimitShares,
) -> TransferBreakdown {
    let mut run = TransferSlicer::new(transfer, shares);
    for at in transfer.first..transfer.last {
        run.attribute_gap(at);
    }
    run.shares.reassign_sending();
    if run.varies && arrival_line::is_buffered(run.shares) {
        let arrived =
            arrival_line::judge_arrivals(&transfer.sender.sent[transfer.first..=transfer.last]);
        arrival_line::settle_buffer(run.shares, arrived);
    }
    let plateau = run.shares.ns(Limit::SendBuffer) > 0;
    TransferBreakdown {
        max_in_flight: run.rounds.peak,
        cap: if plateau { run.rounds.plateau } else { 0 },
        stretches: run.stretches,
        window: run.window,
    }
}

struct TransferSlicer<'a> {
    transfer: &'a MessageTransfer<'a>,
    shares: &'a mut LimitShares,
    rounds: TransferRounds,
    /// By packet of the transfer.
    flights: Vec<FlightSample>,
    /// Few transfers need the next two, which are computed when one does.
    bursts: OnceCell<SentBursts>,
    /// Whether most long waits ended without an acknowledgement.
    is_mostly_idle: OnceCell<bool>,
    /// Times of packets that repaired a loss.
    repairs: Vec<i64>,
    trigger_ns: i64,
    /// Whether the delay between the sender and the capture varies, and no clock of the sender shows how.
    varies: bool,
    /// How long behind the acknowledgement that opened the window packets come. `None`: they do not wait for it, or the
    /// delay does not vary.
    window_lags: Option<WindowLags>,
    /// Acknowledgements known at the start of the gap.
    acks_known: usize,
    window: Option<EffectiveWindowRange>,
    /// The window of the slice that was classified last.
    window_in_force: Option<i64>,
    stretches: Vec<LimitStretch>,
}

/// A gap between two packets.
struct PacketGap<'a> {
    /// The packet before it, as an index in the transfer.
    at: usize,
    earlier: &'a SentSegment,
    later: &'a SentSegment,
    from_ns: i64,
    high: i64,
    /// The gap ends in a repair, or near one.
    lossy: bool,
    /// The packet behind it followed an acknowledgement.
    triggered: bool,
    /// The packet behind the gap left late after the last acknowledgement.
    ack_late: bool,
    /// The gap is short and without acknowledgements.
    plain: bool,
    /// The gap is as long as the previous one, between full segments: the sender uses pacing.
    paced: bool,
}

impl<'a> TransferSlicer<'a> {
    fn new(of: &'a MessageTransfer<'a>, shares: &'a mut LimitShares) -> TransferSlicer<'a> {
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
            let in_flight = (sender.high[at] - acked).max(0);
            flights.push(FlightSample { time_ns: sent.time_ns, in_flight });
            if sent.repairs {
                repairs.push(sent.time_ns);
            }
        }
        let rounds = TransferRounds::from_flights(&flights, of.round_trip_ns);
        let is_bulk = rounds.peak > 4 * of.segment;
        let lag_ns = || if is_bulk { lag::usual_lag(sender, of.first..=of.last) } else { 0 };
        let varies_ns = of.varies_ns.unwrap_or_else(lag_ns).min(of.near_ns);
        let steady_ns = TRIGGER_NS.max(of.round_trip_ns * 8 / 100);
        let trigger_ns = steady_ns.max(varies_ns);
        TransferSlicer {
            transfer: of,
            shares,
            rounds,
            flights,
            bursts: OnceCell::new(),
            is_mostly_idle: OnceCell::new(),
            repairs,
            trigger_ns,
            varies: !of.by_clock && trigger_ns > steady_ns && of.near_ns * 2 > of.round_trip_ns,
            window_lags: WindowLags::measure(sender, of.first..=of.last, of.near_ns, trigger_ns),
            acks_known: 0,
            window: None,
            window_in_force: None,
            stretches: Vec::new(),
        }
    }

    fn attribute_gap(&mut self, at: usize) {
        let sender = self.transfer.sender;
        let a = &sender.sent[at];
        let b = &sender.sent[at + 1];
        let from_ns = a.time_ns.max(self.transfer.from_ns);
        if b.time_ns <= from_ns {
            return;
        }
        while sender.acks.get(self.acks_known).is_some_and(|ack| ack.time_ns <= from_ns) {
            self.acks_known += 1;
        }
        let within =
            sender.acks[self.acks_known..].iter().take_while(|ack| ack.time_ns <= b.time_ns);
        let behind = self.acks_known + within.count();
        let last_ns = sender.acks[..behind].last().map_or(i64::MIN / 2, |ack| ack.time_ns);
        let gap = PacketGap {
            at: at - self.transfer.first,
            earlier: a,
            later: b,
            from_ns,
            high: sender.high[at],
            lossy: b.repairs || self.is_lossy(a.time_ns, b.time_ns),
            triggered: b.time_ns - last_ns <= self.trigger_ns,
            ack_late: b.time_ns - last_ns.max(from_ns) > self.trigger_ns,
            plain: behind == self.acks_known && b.time_ns - from_ns <= self.trigger_ns,
            paced: self.transfer.is_paced(at),
        };
        if let Some(limit) = self.waited_for_delayed(&gap, at) {
            return self.add_limit(limit, &gap, from_ns, b.time_ns);
        }
        if self.waited_for_window(&gap) {
            return self.add_limit(Limit::Rwnd, &gap, from_ns, b.time_ns);
        }
        let mut start_ns = from_ns;
        for index in self.acks_known..=behind {
            let end_ns = if index == behind { b.time_ns } else { sender.acks[index].time_ns };
            if end_ns > start_ns {
                let limit = self.classify_slice(&gap, index.checked_sub(1), start_ns);
                self.add_limit(limit, &gap, start_ns, end_ns);
                start_ns = end_ns;
            }
        }
    }

    /// Whether the packet behind the gap could not leave before an acknowledgement opened the window, and came so soon
    /// behind it as a varying delay explains. Which acknowledgements the sender knew at the gap's beginning is not known
    /// then.
    fn waited_for_window(&self, gap: &PacketGap<'_>) -> bool {
        let Some(usual) = self.window_lags.filter(|_| !gap.lossy) else { return false };
        let since = window_lags::lag_behind_window(self.transfer.sender, gap.later);
        since.is_some_and(|since| usual.contains(since))
    }

    fn add_limit(&mut self, limit: Limit, gap: &PacketGap<'_>, from_ns: i64, to_ns: i64) {
        let bytes = if to_ns == gap.later.time_ns {
            (gap.later.to - gap.later.from).cast_unsigned()
        } else {
            0
        };
        let from = gap.earlier.number;
        let to = gap.later.number;
        let longest_ns = to_ns - from_ns;
        if self.transfer.detailed {
            match self.stretches.last_mut() {
                Some(last) if last.limit == limit && last.to_ns == from_ns => last.to_ns = to_ns,
                _ => self.stretches.push(LimitStretch { limit, from_ns, to_ns }),
            }
        }
        let window = self.window_in_force;
        let unread_ns = if self.is_unread(window) { longest_ns } else { 0 };
        let stretch =
            LimitEvidence { times: 1, longest_ns, from_ns, from, to, bytes, window, unread_ns };
        self.shares.add(limit, stretch);
    }

    /// A small segment whose delayed acknowledgement released the next packet.
    fn waited_for_delayed(&self, gap: &PacketGap<'_>, at: usize) -> Option<Limit> {
        let of = self.transfer;
        let sender = self.transfer.sender;
        let small = gap.earlier.to - gap.earlier.from < of.segment && !gap.lossy;
        if !small || gap.from_ns != gap.earlier.time_ns {
            return None;
        }
        let covering = sender.acks.partition_point(|ack| ack.ack < sender.high[at]);
        let ack = sender.acks.get(covering)?;
        let took = ack.time_ns - gap.earlier.time_ns;
        let since = gap.later.time_ns - ack.time_ns;
        // The window in force during the wait: the acknowledgement that ends it may also open a full one.
        let in_force = self.acks_known.checked_sub(1).map(|at| &sender.acks[at]);
        let room = in_force.map_or(i64::MAX, |ack| ack.edge - gap.high);
        let open = room >= of.segment.min(of.to - gap.high);
        // The way between sender and capture may take longer at times, but not so much longer as the wait itself.
        let is_triggered =
            since <= self.trigger_ns + self.trigger_ns.min(of.varies_ns.unwrap_or(0)) / 2;
        let is_near = is_triggered || (since <= of.near_ns && since * 4 <= took);
        let is_let_go = since >= 0 && is_near;
        if !is_let_go || !open {
            return None;
        }
        let next_small = gap.later.to - gap.later.from < of.segment;
        let delayed_ns = DELAYED_NS.max(of.peer_varies_ns + of.varies_ns.unwrap_or(0));
        match (took > of.round_trip_ns + delayed_ns, next_small) {
            (true, true) => Some(Limit::NagleDelayedAck),
            (true, false) => Some(Limit::DelayedAck),
            // Nothing else is outstanding, so no window of the path can be full: only the small segment was in the way.
            (false, _) => {
                let acked = in_force.map_or(gap.earlier.from, |ack| ack.ack);
                let is_soon = since * 4 <= took || is_triggered;
                let is_prompt = is_soon && took * 2 > of.round_trip_ns;
                (acked >= gap.earlier.from && is_prompt).then_some(Limit::Nagle)
            }
        }
    }

    /// The first matching rule for a slice; `latest`: the last known acknowledgement.
    fn classify_slice(
        &mut self,
        gap: &PacketGap<'_>,
        latest: Option<usize>,
        start_ns: i64,
    ) -> Limit {
        let of = self.transfer;
        let ack = latest.map(|at| &of.sender.acks[at]);
        let (edge, window) = ack.map_or((i64::MAX / 4, None), |ack| {
            (ack.edge, (of.sender.scaled || ack.raw_window == 0).then_some(ack.window))
        });
        self.window_in_force = window;
        if let Some(window) = window {
            let first = EffectiveWindowRange { smallest: window, largest: window };
            let range = self.window.get_or_insert(first);
            range.smallest = range.smallest.min(window);
            range.largest = range.largest.max(window);
        }
        let outstanding = gap.high - ack.map_or(gap.earlier.from, |ack| ack.ack);
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
        if full && !in_repair && (self.is_unread(window) || of.is_aggregated_ack(latest)) {
            return Limit::Rwnd;
        }
        let bulk = self.rounds.peak > 4 * of.segment;
        let is_busy = || {
            if gap.lossy {
                return of.link.is_draining(start_ns);
            }
            let at_its_rate = !full && !self.is_near_edge(room) && of.link.keeps_pace(start_ns);
            at_its_rate || of.link.is_full(start_ns, window)
        };
        if bulk && outstanding > 0 && is_busy() {
            return Limit::LinkRate;
        }
        if full && !in_repair {
            return Limit::Rwnd;
        }
        if gap.lossy {
            return Limit::Loss;
        }
        if gap.ack_late && outstanding > 0 && gap.paced && of.is_aggregated_ack(latest) {
            return Limit::Rwnd;
        }
        if outstanding <= 0 || (gap.ack_late && !gap.triggered) {
            return self.classify_silence(gap, outstanding);
        }
        // Back-to-back packets in a growing round are part of slow start. Otherwise their time belongs to the largest
        // limit.
        if gap.plain && self.rounds.shape(start_ns) != RoundShape::Growing {
            return Limit::Send;
        }
        self.classify_ack_clocked(gap, start_ns, room)
    }

    /// The limit of a time in which the sender had no data outstanding, or did not use an acknowledgement.
    fn classify_silence(&self, gap: &PacketGap<'_>, outstanding: i64) -> Limit {
        // Two round trips: the last acknowledgement may be one away, and delayed.
        let long = RECOVERY_NS.max(2 * self.transfer.round_trip_ns);
        let lost =
            gap.later.jump && outstanding > 0 && gap.later.time_ns - gap.earlier.time_ns > long;
        if lost { Limit::LossSuspected } else { Limit::AppSender }
    }

    /// The limit of a transfer that acknowledgements clock.
    fn classify_ack_clocked(&self, gap: &PacketGap<'_>, start_ns: i64, room: i64) -> Limit {
        let of = self.transfer;
        let is_repaired = self.repairs.first().is_some_and(|first| *first <= start_ns);
        match self.rounds.shape(start_ns) {
            RoundShape::Plateau
                if !self.repairs.is_empty()
                    && !self.rounds.outlasts_growth(start_ns, of.segment) =>
            {
                Limit::Cwnd
            }
            RoundShape::Plateau if self.rounds.peak <= 2 * of.segment => Limit::Cwnd,
            RoundShape::Plateau if self.is_near_edge(room) => Limit::Rwnd,
            RoundShape::Plateau => Limit::SendBuffer,
            RoundShape::Growing if !is_repaired && self.is_unused(gap) => Limit::AppSender,
            RoundShape::Growing if !is_repaired => Limit::SlowStart,
            // Without a loss a congestion window does not shrink: what is below it is not limited by it.
            RoundShape::Other if !is_repaired && !gap.paced => Limit::AppSender,
            _ => Limit::Cwnd,
        }
    }

    /// Whether the sender left unused what its congestion window had allowed before: an acknowledgement came by chance
    /// when its program wrote.
    fn is_unused(&self, gap: &PacketGap<'_>) -> bool {
        let of = self.transfer;
        let is_long = (gap.later.time_ns - gap.earlier.time_ns) * 2 > of.round_trip_ns;
        if !is_long {
            return false;
        }
        let is_below = || {
            let ack = of.sender.ack_before(gap.later.time_ns);
            let is_all_acked = ack.is_some_and(|ack| ack.ack >= gap.high);
            let bursts =
                self.bursts.get_or_init(|| SentBursts::from_flights(&self.flights, of.sender));
            bursts.is_below(gap.at + 1, is_all_acked, of.segment)
        };
        let is_mostly_idle = || {
            bursts::is_mostly_idle(of.sender, of.first..=of.last, of.round_trip_ns, self.trigger_ns)
        };
        *self.is_mostly_idle.get_or_init(is_mostly_idle) || is_below()
    }

    /// Whether the bytes in flight leave hardly any room in the window.
    fn is_near_edge(&self, room: i64) -> bool {
        let room_at_peak = self.window.map(|window| window.largest - self.rounds.peak);
        room <= 2 * self.transfer.segment
            || room_at_peak
                .is_some_and(|room| room <= (2 * self.transfer.segment).max(self.rounds.peak / 8))
    }

    /// Whether the receiving program left so much data unread that the window is well below its largest value. The
    /// receiver then acknowledges late, as if packets queued (RFC 9293, 3.8.6.3).
    fn is_unread(&self, window: Option<i64>) -> bool {
        let largest = self.window.map_or(0, |range| range.largest);
        window.is_some_and(|window| window * 4 < largest * 3)
    }

    /// Whether a retransmission is so close that this time belongs to it.
    fn is_lossy(&self, from_ns: i64, to_ns: i64) -> bool {
        // Without SACK, recovery repairs one loss a round trip (RFC 6582), so several losses take several.
        let after = RECOVERY_NS.max(6 * self.transfer.usual_round_trip_ns);
        let before = self.transfer.usual_round_trip_ns;
        let first = self.repairs.partition_point(|repair| *repair + after < from_ns);
        self.repairs.get(first).is_some_and(|repair| *repair <= to_ns + before)
    }
}
