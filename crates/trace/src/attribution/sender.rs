//! One direction from its sender's view: its packets, and the acknowledgements at the times when they reached it.
//!
//! The capture sees an acknowledgement at `t`. The sender knows it at `t + r` by the clock of its own packets, where
//! `r` is the round trip between capture and sender. Without that shift a capture far from the sender shows hardly
//! anything in flight.

use crate::conversation::Conversation;
use crate::event::{ConnectionSide, FILLS, PROBE, PacketEvent, STAMPED, UNSEEN, UNTIMED};

use super::loss_tracker::LossTracker;
use super::path::{self, PathTiming};
use super::scale::WindowScale;

#[derive(Clone, Copy, Debug)]
pub struct SentSegment {
    pub time_ns: i64,
    /// Offset of its first byte.
    pub from: i64,
    /// Offset behind its last byte.
    pub to: i64,
    /// Number in the capture.
    pub number: u32,
    /// All bytes were seen before.
    pub repeat: bool,
    /// The packet repairs a loss: a retransmission, or data that fills a hole too late for reordering.
    pub repairs: bool,
    /// Packets of the sender before it are missing, by their identification.
    pub jump: bool,
    /// How late it passed by its sender's clock, nanoseconds.
    pub late_ns: i64,
    /// It is not in the capture, and it is not known when it passed.
    pub untimed: bool,
}

/// An acknowledgement. Older ones that arrive late are left out.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// The time when the acknowledgement passed the capture.
    pub time_ns: i64,
    pub sender_ns: i64,
    /// How far it acknowledges.
    pub ack: i64,
    /// How far the sender may send; with an unknown scale beyond everything.
    pub edge: i64,
    /// The window, bytes; with an unknown scale at least this.
    pub window: i64,
    /// The unscaled window of the header.
    pub raw_window: u16,
    /// Number in the capture.
    pub number: u32,
}

#[derive(Debug)]
pub struct SenderView {
    /// Data packets, in order of time.
    pub sent: Vec<SentSegment>,
    /// For each, the offset behind the highest byte sent so far.
    pub high: Vec<i64>,
    /// Acknowledgements, in order of time.
    pub acks: Vec<Ack>,
    /// Whether the window's scale is known.
    pub scaled: bool,
}

/// A quarter of the range: sums of two offsets cannot overflow.
const MAX_AHEAD: i64 = i64::MAX / 4;

impl SenderView {
    /// The view of `side`; `scale`: of the windows that its peer advertises.
    pub fn from_conversation(
        conversation: &Conversation,
        side: ConnectionSide,
        path: &PathTiming,
        scale: Option<WindowScale>,
    ) -> SenderView {
        let is_own = |event: &&PacketEvent| event.side() == side;
        let is_sent = |event: &&PacketEvent| is_own(event) && is_data(event);
        let is_ack = |event: &&PacketEvent| !is_own(event) && event.has_ack();
        let sent = conversation.events.iter().filter(is_sent).count();
        let acks = conversation.events.iter().filter(is_ack).count();
        let mut sender = SenderView {
            sent: Vec::with_capacity(sent),
            high: Vec::with_capacity(sent),
            acks: Vec::with_capacity(acks),
            scaled: scale.is_some_and(WindowScale::is_known),
        };
        let mut holes = LossTracker::new(path.round_trip_ns());
        // Near the sender the capture shows itself when acknowledgements come.
        let is_far = path.varies_ns > 0 && path.near_ns(side) > path::STEADY_NS;
        let mut stamps = AckStamps::default();
        let mut high = i64::MIN;
        let mut acked = i64::MIN;
        for (at, event) in conversation.events.iter().enumerate() {
            let late_ns = path.lateness_ns.get(at).copied().unwrap_or(0);
            if event.side() == side {
                let jump = !event.has_mark(UNSEEN) && holes.id_jumps(event);
                if is_data(event) {
                    let repairs = event.is_retransmission() || holes.is_repair(event, high);
                    high = high.max(event.end());
                    sender.sent.push(SentSegment {
                        time_ns: event.time_ns,
                        from: event.seq,
                        to: event.end(),
                        number: event.number,
                        repeat: event.is_retransmission() && !event.has_mark(FILLS),
                        repairs,
                        jump,
                        late_ns,
                        untimed: event.has_mark(UNTIMED),
                    });
                    sender.high.push(high);
                    if is_far && event.has_mark(STAMPED) {
                        stamps
                            .echoes
                            .push(EchoedStamp { time_ns: event.time_ns, echo: event.echo });
                    }
                }
            } else if event.has_ack() && event.ack >= acked {
                acked = event.ack;
                sender.acks.push(ack(event, late_ns + path.shift_ns(side), scale));
                if is_far {
                    stamps.acks.push(event.has_mark(STAMPED).then_some(event.stamp));
                }
            }
        }
        if is_far {
            stamps.place_acks(&mut sender.acks, path.varies_ns);
        }
        let regular = holes.is_regular();
        if !regular {
            sender.sent.iter_mut().for_each(|sent| sent.jump = false);
        }
        sender
    }

    /// The last acknowledgement that the sender had received at a time of its packets.
    pub fn ack_before(&self, time_ns: i64) -> Option<&Ack> {
        let behind = self.acks.partition_point(|ack| ack.time_ns <= time_ns);
        self.acks[..behind].last()
    }

    /// The first acknowledgement of `offset`.
    pub fn first_ack(&self, offset: i64) -> Option<&Ack> {
        let at = self.acks.partition_point(|ack| ack.ack < offset);
        self.acks.get(at)
    }

    /// When the first acknowledgement of `offset` passed.
    pub fn acked_ns(&self, offset: i64) -> Option<i64> {
        self.first_ack(offset).map(|ack| ack.sender_ns)
    }

    /// Calls `call` with each packet's bytes in flight and the last acknowledgement that the sender had received.
    pub fn each_flight(&self, mut call: impl FnMut(i64, &Ack)) {
        let mut behind = 0;
        for (sent, high) in self.sent.iter().zip(&self.high) {
            while self.acks.get(behind).is_some_and(|ack| ack.time_ns <= sent.time_ns) {
                behind += 1;
            }
            if let Some(ack) = self.acks[..behind].last() {
                call(high - ack.ack, ack);
            }
        }
    }

    /// Most bytes in flight.
    pub fn max_in_flight(&self) -> i64 {
        let mut most = 0;
        self.each_flight(|in_flight, _| most = most.max(in_flight));
        most
    }
}

/// A timestamp of the peer that the sender knew when it sent.
#[derive(Clone, Copy, Debug)]
struct EchoedStamp {
    time_ns: i64,
    echo: u32,
}

/// Timestamps of acknowledgements, and what the sender echoed of them.
#[derive(Debug, Default)]
struct AckStamps {
    echoes: Vec<EchoedStamp>,
    /// Of each acknowledgement.
    acks: Vec<Option<u32>>,
}

impl AckStamps {
    /// Corrects when acknowledgements reached the sender over a path whose delay varies: behind the last packet that
    /// does not echo them, and before the first that does.
    fn place_acks(&self, acks: &mut [Ack], varies_ns: i64) {
        let mut next = 0;
        let mut from_ns = i64::MIN;
        let mut last_stamp = None;
        for (ack, stamp) in acks.iter_mut().zip(&self.acks) {
            let Some(stamp) = *stamp else { continue };
            let is_older = |one: &&EchoedStamp| one.echo.wrapping_sub(stamp).cast_signed() < 0;
            while let Some(older) = self.echoes.get(next).filter(is_older) {
                from_ns = from_ns.max(older.time_ns);
                next += 1;
            }
            // Of several within a tick of the clock, an echo shows the first.
            let is_first = last_stamp.replace(stamp) != Some(stamp);
            let to_ns = self.echoes.get(next).filter(|_| is_first).map(|one| one.time_ns);
            let earliest_ns = ack.time_ns.max(from_ns);
            ack.time_ns = match to_ns {
                Some(to_ns) if to_ns <= ack.time_ns + varies_ns || to_ns < earliest_ns => to_ns,
                _ => earliest_ns,
            };
            from_ns = from_ns.max(ack.time_ns);
        }
    }
}

fn is_data(event: &PacketEvent) -> bool {
    event.length > 0 && !event.has_mark(PROBE)
}

fn ack(event: &PacketEvent, shift_ns: i64, scale: Option<WindowScale>) -> Ack {
    // The window of a SYN is never scaled.
    let known = scale.filter(|scale| scale.is_known());
    let shift = if event.is_syn() { 0 } else { scale.map_or(0, |scale| scale.shift) };
    let window = i64::from(event.window) << shift;
    let edge = match known {
        Some(_) => event.ack + window,
        None if event.window == 0 => event.ack,
        None => MAX_AHEAD,
    };
    Ack {
        time_ns: event.time_ns + shift_ns,
        sender_ns: event.time_ns,
        ack: event.ack,
        edge,
        window,
        raw_window: event.window,
        number: event.number,
    }
}
