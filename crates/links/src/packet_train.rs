//! What packet trains over links measure when the far end returns them: the rate of a link, and the reordering between
//! links. Pure: times go in.

use std::fmt;
use std::time::Duration;

use model::monotonic_time::MonotonicTime;

/// Packets of a train: enough to measure the gaps of the line, few enough for the queue of a slow one.
pub const PACKETS: u16 = 40;
/// Packets that must return; with fewer the result is noise.
/// Seven gaps: the median of fewer is decided by one interrupt.
const MIN_RECEIVED: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrainPacket {
    pub sent_at: MonotonicTime,
    /// When the packet returned.
    pub received_at: Option<MonotonicTime>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeasuredRate {
    /// Bits a second, including headers of the link.
    pub bits: u64,
    /// Sending took as long as the train: the link may be faster.
    pub at_least: bool,
}

/// The order of the returned packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketOrder {
    pub received: usize,
    /// Packets that arrived after one that was sent later.
    pub reordered: usize,
    /// By how many packets at most.
    pub depth: usize,
}

/// The rate at which a train of packets of this size returned: the narrowest place in either direction makes the gaps.
pub fn train_rate(train: &[TrainPacket], bytes: usize) -> Option<MeasuredRate> {
    let back: Vec<(MonotonicTime, MonotonicTime)> =
        train.iter().filter_map(|sent| Some((sent.sent_at, sent.received_at?))).collect();
    if back.len() < MIN_RECEIVED {
        return None;
    }
    let span = |of: fn(&(MonotonicTime, MonotonicTime)) -> MonotonicTime| -> Option<Duration> {
        Some(back.iter().map(of).max()?.since(back.iter().map(of).min()?))
    };
    let went = span(|one| one.0)?;
    let came = span(|one| one.1)?;
    let bits = (back.len() - 1) as f64 * bytes as f64 * 8.0 / came.as_secs_f64().max(1e-9);
    Some(MeasuredRate { bits: bits as u64, at_least: came < went * 5 / 4 })
}

/// The median rate of several trains, because a busy machine delays single trains.
pub fn median_rate(mut rates: Vec<MeasuredRate>) -> Option<MeasuredRate> {
    rates.sort_unstable_by_key(|rate| rate.bits);
    rates.get(rates.len() / 2).copied()
}

/// The order in which packets returned; `train` is in the order of sending.
pub fn packet_order(train: &[TrainPacket]) -> PacketOrder {
    let mut back: Vec<(MonotonicTime, usize)> = train
        .iter()
        .zip(0..)
        .filter_map(|(sent, number)| Some((sent.received_at?, number)))
        .collect();
    back.sort_unstable();
    let mut order = PacketOrder { received: back.len(), ..PacketOrder::default() };
    let mut highest = 0;
    for (_, number) in back {
        order.reordered += usize::from(number < highest);
        order.depth = order.depth.max(highest.saturating_sub(number));
        highest = highest.max(number);
    }
    order
}

/// A rate for people.
pub fn format_rate(bits: f64) -> String {
    match bits {
        bits if bits >= 1e10 => format!("{:.0} Gbit/s", bits / 1e9),
        bits if bits >= 1e9 => format!("{:.2} Gbit/s", bits / 1e9),
        bits if bits >= 1e7 => format!("{:.0} Mbit/s", bits / 1e6),
        bits => format!("{:.2} Mbit/s", bits / 1e6),
    }
}

impl fmt::Display for MeasuredRate {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bound = if self.at_least { "at least " } else { "" };
        write!(to, "{bound}{}", format_rate(self.bits as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: u64 = 1_000;

    fn train(rows: &[(u64, Option<u64>)]) -> Vec<TrainPacket> {
        let row = |(at, came): &(u64, Option<u64>)| TrainPacket {
            sent_at: MonotonicTime(at * US),
            received_at: came.map(|came| MonotonicTime(came * US)),
        };
        rows.iter().map(row).collect()
    }

    #[test]
    fn gaps_show_the_rate_and_what_was_sent_as_slowly_only_bounds_it() {
        // Twelve microseconds for 1,500 bytes: 1 Gbit/s.
        let rows: Vec<_> = (0..20).map(|n| (n * 2, Some(5_000 + n * 12))).collect();
        let rate_of = |rows: &[_]| train_rate(&train(rows), 1_500);
        assert_eq!(rate_of(&rows), Some(MeasuredRate { bits: 1_000_000_000, at_least: false }));
        let slow: Vec<_> = (0..20).map(|n| (n * 12, Some(5_000 + n * 12))).collect();
        assert_eq!(rate_of(&slow), Some(MeasuredRate { bits: 1_000_000_000, at_least: true }));
        let lost: Vec<_> = (0..20).map(|n| (n, (n < 7).then_some(n))).collect();
        assert_eq!(rate_of(&lost), None);
        let at_once: Vec<_> = (0..20).map(|n| (n, Some(9))).collect();
        assert!(rate_of(&at_once).unwrap().at_least, "no division by nothing");
        let of = |bits| MeasuredRate { bits, at_least: false };
        assert_eq!(median_rate(vec![of(9), of(1), of(5)]), Some(of(5)));
        assert_eq!(median_rate(Vec::new()), None);
        let texts = [4.2e6, 4.96e8, 1.25e9, 4e10].map(format_rate);
        assert_eq!(texts, ["4.20 Mbit/s", "496 Mbit/s", "1.25 Gbit/s", "40 Gbit/s"]);
        assert_eq!(
            MeasuredRate { bits: 10_000_000, at_least: true }.to_string(),
            "at least 10 Mbit/s"
        );
    }

    #[test]
    fn packets_of_a_longer_link_are_overtaken() {
        let even = train(&[(0, Some(10)), (1, Some(11)), (2, Some(12))]);
        assert_eq!(packet_order(&even), PacketOrder { received: 3, reordered: 0, depth: 0 });
        // Every second packet takes 5 µs longer: later packets overtake it within that time.
        let turns: Vec<_> =
            (0..10).map(|n| (n, Some(n + if n % 2 == 0 { 5 } else { 0 }))).collect();
        let found = packet_order(&train(&turns));
        assert_eq!((found.received, found.depth), (10, 3));
        assert_eq!(found.reordered, 5);
        assert_eq!(packet_order(&train(&[(0, None)])), PacketOrder::default());
    }
}
