//! How much later than the quickest packets of a side the others passed the capture, by the clock in their TCP timestamps
//! (RFC 7323, 3).
//!
//! A varying delay between a sender and a capture looks like pauses of the sender. The sender's clock tells both apart. An
//! offset of that clock has no effect, and its drift is taken out. Where the delay hardly varies, the packets' own times
//! are better than a clock of milliseconds, and no packet counts as late.

use crate::conversation::Conversation;
use crate::event::{ConnectionSide, PacketEvent, STAMPED};

/// A packet with a timestamp.
#[derive(Clone, Copy, Debug)]
struct StampedPacket {
    /// When it passed, nanoseconds since the capture began.
    time_ns: i64,
    /// When it was sent by its sender's clock, nanoseconds since its first packet.
    sent_ns: i64,
}

/// Fewer packets show no least delay.
const FEW: usize = 16;
/// Rates that clocks of timestamps have, ticks a second: RFC 7323, 5.4 allows 1 ms to 1 s; Linux has 1,000, and a million
/// by route since version 6.7. Slower clocks than 250 do not show what varies by milliseconds.
const RATES: [f64; 3] = [250.0, 1_000.0, 1_000_000.0];
/// A measured rate is this near to one of them.
const NEAR: f64 = 0.1;
/// Ticks over which a rate is measured.
const FEW_TICKS: f64 = 100.0;
/// The drift is measured over this time, nanoseconds: a part in ten thousand of it is a millisecond.
const DRIFT_NS: i64 = 10_000_000_000;
/// More drift than clocks have: then the path has changed.
const MOST_DRIFT: f64 = 1e-3;
/// Delays that vary by less are those of hosts, nanoseconds.
const STEADY_NS: i64 = 3_000_000;
/// As above, in ticks of the clock.
const STEADY_TICKS: f64 = 3.0;

/// A connection as it would have passed over a path whose delay does not vary.
#[derive(Debug)]
pub struct SteadyConversation {
    pub conversation: Conversation,
    /// How late each stored packet passed, nanoseconds.
    pub lateness_ns: Vec<i64>,
    /// How late nearly all packets of either side were at most, nanoseconds.
    pub varies_ns: i64,
    /// How late they were on average.
    pub usual_late_ns: i64,
}

/// How late the packets of a side passed.
struct SideLateness {
    /// By index of the stored packets, nanoseconds.
    by_packet: Vec<i64>,
    varies_ns: i64,
    usual_ns: i64,
}

/// The connection by the clocks of its senders. `None`: the delay hardly varies, or nothing shows it.
pub fn steady_by_clocks(conversation: &Conversation) -> Option<SteadyConversation> {
    let sides = [ConnectionSide::Client, ConnectionSide::Server];
    let found = sides.map(|side| measure_lateness(conversation, side));
    let varies_ns = found.iter().flatten().map(|side| side.varies_ns).max()?;
    let usual_late_ns = found.iter().flatten().map(|side| side.usual_ns).max()?;
    let late = |at: usize| found.iter().flatten().map(|side| side.by_packet[at]).sum::<i64>();
    let mut order: Vec<usize> = (0..conversation.events.len()).collect();
    order.sort_by_key(|at| conversation.events[*at].time_ns - late(*at));
    let mut steady = conversation.clone();
    for (event, at) in steady.events.iter_mut().zip(&order) {
        *event = conversation.events[*at];
        event.time_ns -= late(*at);
    }
    let of_syn = |side: ConnectionSide| {
        let is_syn = |event: &PacketEvent| event.is_syn() && event.side() == side;
        conversation.events.iter().position(is_syn).map_or(0, late)
    };
    let shake = &mut steady.handshake;
    shake.syn_ns = shake.syn_ns.map(|ns| ns - of_syn(ConnectionSide::Client));
    shake.last_syn_ns -= of_syn(ConnectionSide::Client);
    shake.syn_ack_ns = shake.syn_ack_ns.map(|ns| ns - of_syn(ConnectionSide::Server));
    shake.ack_ns = shake.ack_ns.map(|ns| {
        let is_ack = |event: &PacketEvent| event.time_ns == ns && !event.is_syn();
        ns - conversation.events.iter().position(is_ack).map_or(0, late)
    });
    let lateness_ns = order.into_iter().map(late).collect();
    Some(SteadyConversation { conversation: steady, lateness_ns, varies_ns, usual_late_ns })
}

fn measure_lateness(conversation: &Conversation, side: ConnectionSide) -> Option<SideLateness> {
    let events = &conversation.events;
    let is_stamped = |event: &&PacketEvent| event.side() == side && event.has_mark(STAMPED);
    let first = events.iter().find(is_stamped)?;
    let last = events.iter().rev().find(is_stamped)?;
    let ticks = f64::from(last.stamp.wrapping_sub(first.stamp).cast_signed());
    let seconds = (last.time_ns - first.time_ns) as f64 / 1e9;
    let rate = clock_rate(ticks, seconds)?;
    let tick_ns = 1e9 / rate;
    let packet = |event: &PacketEvent| {
        let ticks = event.stamp.wrapping_sub(first.stamp).cast_signed();
        StampedPacket { time_ns: event.time_ns, sent_ns: (f64::from(ticks) * tick_ns) as i64 }
    };
    // Cookies change the timestamps of SYNs.
    let usual = events.iter().filter(is_stamped).filter(|event| !event.is_syn());
    let packets: Vec<StampedPacket> = usual.map(packet).collect();
    if packets.len() < FEW {
        return None;
    }
    let drift = clock_drift(&packets);
    let delay = |packet: StampedPacket| {
        let drifted = (packet.time_ns - first.time_ns) as f64 * drift;
        packet.time_ns - packet.sent_ns - drifted as i64
    };
    let least = packets.iter().map(|one| delay(*one)).min()?;
    // A clock shows the tick that began before the packet left: half a tick on average.
    let late = |one: StampedPacket| (delay(one) - least - (tick_ns / 2.0) as i64).max(0);
    let mut all: Vec<i64> = packets.iter().map(|one| late(*one)).collect();
    let usual_ns = all.iter().sum::<i64>() / all.len() as i64;
    let most = all.len() * 9 / 10;
    let varies_ns = *all.select_nth_unstable(most).1;
    if varies_ns <= STEADY_NS.max((STEADY_TICKS * tick_ns) as i64) {
        return None;
    }
    let mut sent_ns = i64::MIN;
    let by_packet = events.iter().map(|event| {
        if !is_stamped(&event) {
            return 0;
        }
        // Packets leave in the order of their passing.
        let late_ns = late(packet(event));
        let late_ns = if event.is_syn() && late_ns > 2 * varies_ns { 0 } else { late_ns };
        let at_ns = (event.time_ns - late_ns).max(sent_ns).min(event.time_ns);
        sent_ns = at_ns;
        event.time_ns - at_ns
    });
    Some(SideLateness { by_packet: by_packet.collect(), varies_ns, usual_ns })
}

fn clock_rate(ticks: f64, seconds: f64) -> Option<f64> {
    let is_near = |rate: &f64| (ticks / (seconds * rate) - 1.0).abs() < NEAR;
    RATES.into_iter().find(|rate| ticks >= FEW_TICKS && seconds > 0.0 && is_near(rate))
}

/// By how much faster than the capture's clock a sender's is slow: what least delays grow by in a time.
fn clock_drift(packets: &[StampedPacket]) -> f64 {
    let third = packets.len() / 3;
    let least = |part: &[StampedPacket]| {
        part.iter().min_by_key(|packet| packet.time_ns - packet.sent_ns).copied()
    };
    let [Some(early), Some(late)] =
        [&packets[..third], &packets[packets.len() - third..]].map(least)
    else {
        return 0.0;
    };
    let span_ns = late.time_ns - early.time_ns;
    if third < FEW || span_ns < DRIFT_NS {
        return 0.0;
    }
    let grown_ns = (late.time_ns - late.sent_ns) - (early.time_ns - early.sent_ns);
    let drift = grown_ns as f64 / span_ns as f64;
    if drift.abs() < MOST_DRIFT { drift } else { 0.0 }
}
