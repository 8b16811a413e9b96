//! The sampler as a pure model: the same figures from the same packets, by other means than the datapath's. Sequence
//! numbers count from the first one without wrapping.

use std::ops::Range;

use super::packet::{ACK, FIN, RST, SYN};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketSample {
    /// 0: the client's, 1: the server's.
    pub side: usize,
    pub at: u64,
    pub flags: u8,
    /// Relative to the side's first number.
    pub seq: i64,
    pub bytes: i64,
    pub window: u32,
    /// Of a SYN: segment size and shift.
    pub mss: u32,
    pub shift: Option<u32>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowHalf {
    pub packets: u32,
    pub syns: u32,
    pub retransmitted: u32,
    pub filled: u32,
    pub reordered: u32,
    pub zero: u32,
    pub silly: u32,
    pub resets: u32,
    pub zero_ns: u64,
    pub silly_ns: u64,
    pub loss_ns: u64,
    next: Option<i64>,
    sent: u64,
    gap: Option<(Range<i64>, u64)>,
    /// Segment size, and shift if it was offered.
    syn: Option<(u32, Option<u32>)>,
    low: Option<(WindowLimit, u64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WindowLimit {
    Zero,
    Silly,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowModel {
    pub both: bool,
    pub halves: [FlowHalf; 2],
    /// First and last SYN, first and last SYN-ACK, and the acknowledgement.
    pub syn: Option<[u64; 2]>,
    pub syn_ack: Option<[u64; 2]>,
    pub ack: Option<u64>,
    pub ended: bool,
    pub refused: bool,
    pub fins: [bool; 2],
}

impl FlowModel {
    pub fn packet(&mut self, g: &PacketSample) {
        let is = |flag: u8| g.flags & flag != 0;
        if is(SYN) {
            let at = if g.side == 0 { &mut self.syn } else { &mut self.syn_ack };
            *at = Some([at.map_or(g.at, |[first, _]| first), g.at]);
            self.halves[g.side].syns += 1;
            self.halves[g.side].syn = Some((g.mss, g.shift));
        } else if g.side == 0 && !is(RST) {
            let before = if self.both { self.syn_ack } else { self.syn };
            self.ack = self.ack.or(before.map(|_| g.at));
        }
        self.numbers(g);
        if g.flags & (ACK | SYN | FIN | RST) == ACK {
            self.window(g);
        }
        if is(RST) {
            self.halves[g.side].resets += 1;
            self.ended = true;
            self.refused |= g.side == 1 && self.syn.is_some() && self.syn_ack.is_none();
            self.halves.iter_mut().for_each(|half| half.raise(g.at));
        } else if is(FIN) {
            self.fins[g.side] = true;
            self.ended |= !self.both || self.fins == [true; 2];
        }
        self.halves[g.side].packets += 1;
    }

    fn numbers(&mut self, g: &PacketSample) {
        let control = i64::from(g.flags & SYN != 0) + i64::from(g.flags & FIN != 0);
        let takes = g.bytes + control;
        let closed = self.closed(1 - g.side);
        let patience = self.patience();
        let half = &mut self.halves[g.side];
        let span = g.seq..g.seq + takes;
        let Some(next) = half.next else {
            half.next = Some(span.end);
            half.sent = g.at;
            return;
        };
        let asks = takes == 1 && control == 0 && (span.end == next || span.start == next && closed);
        if takes == 0 || g.flags & RST != 0 || asks {
            return;
        }
        if span.start < next {
            half.repair(&span, g.at, patience, closed);
        } else if span.start > next {
            let (from, since) = match &half.gap {
                Some((gap, since)) => (gap.start, *since),
                None => (next, g.at),
            };
            half.gap = Some((from..span.start, since));
        }
        half.next = Some(next.max(span.end));
        half.sent = g.at;
    }

    /// How long another order may take.
    fn patience(&self) -> u64 {
        let once = self.halves[0].syns == 1 && self.halves[1].syns < 2;
        match (self.syn, self.ack.filter(|_| once)) {
            (Some([_, last]), Some(ack)) => ack - last - ((ack - last) >> 3),
            (None, Some(ack)) => ack - (ack >> 3),
            _ => 3_000_000,
        }
    }

    fn closed(&self, side: usize) -> bool {
        self.halves[side].low.is_some_and(|(low, _)| low == WindowLimit::Zero)
    }

    /// The largest value of a window, if its scale is known.
    fn largest(&self, side: usize, raw: u32) -> Option<u32> {
        let own = self.halves[side].syn;
        let other = self.halves[1 - side].syn;
        let off = |syn: Option<(u32, Option<u32>)>| syn.is_some_and(|(_, shift)| shift.is_none());
        if off(own) || self.both && off(other) {
            return Some(raw);
        }
        if self.both && other.is_none() {
            return None;
        }
        own.and_then(|(_, shift)| shift).map(|shift| raw << shift.min(14))
    }

    fn window(&mut self, g: &PacketSample) {
        let largest = self.largest(g.side, g.window);
        let half = &mut self.halves[g.side];
        let mss = half.syn.map_or(0, |(mss, _)| mss);
        half.raise(g.at);
        if g.window == 0 {
            half.zero += 1;
            half.low = Some((WindowLimit::Zero, g.at));
        } else if largest.is_some_and(|largest| largest < mss) {
            half.silly += 1;
            half.low = Some((WindowLimit::Silly, g.at));
        }
    }
}

impl FlowHalf {
    fn repair(&mut self, span: &Range<i64>, at: u64, patience: u64, closed: bool) {
        let gap = self.gap.take_if(|(gap, _)| gap.contains(&span.start));
        match gap {
            Some((gap, since)) => {
                let left = if span.start == gap.start {
                    span.end.min(gap.end)..gap.end
                } else if span.end >= gap.end {
                    gap.start..span.start
                } else {
                    gap
                };
                self.gap = Some((left, since)).filter(|(left, _)| !left.is_empty());
                if at - since < patience {
                    self.reordered += 1;
                    return;
                }
                self.filled += 1;
            }
            None => self.retransmitted += 1,
        }
        if !closed {
            self.loss_ns += at - self.sent;
        }
    }

    fn raise(&mut self, at: u64) {
        match self.low.take() {
            Some((WindowLimit::Zero, since)) => self.zero_ns += at - since,
            Some((WindowLimit::Silly, since)) => self.silly_ns += at - since,
            None => {}
        }
    }
}
