//! Packets of records in flight, and the places in them. Pure.

use std::collections::VecDeque;
use std::time::Duration;

use model::monotonic_time::MonotonicTime;

use super::receive_window::{ACK_WINDOW, Acknowledgement};

/// Packets that may be in flight. At this number sending stops, and later changes wait.
/// At 20 ms a round trip, 128 packets carry 74 Mbit/s of changes.
pub const WINDOW: usize = 128;
/// A packet without an acknowledgement after this time counts as lost.
/// Seven rounds of 20 ms: the acknowledgement has had time also on a loaded path.
pub const LOSS_TIMEOUT: Duration = Duration::from_millis(150);

/// The greatest age of a change at its acknowledgement that counts as timely.
/// Two rounds of 20 ms and a round trip within a site.
pub const TIMELY_LIMIT: Duration = Duration::from_millis(50);

const _: () = assert!(WINDOW < ACK_WINDOW, "each packet that is under way is told of");

/// The packets in flight.
#[derive(Clone, Debug, Default)]
pub struct SendWindow {
    in_flight: VecDeque<SentDatagram>,
    number: u64,
}

#[derive(Clone, Debug)]
struct SentDatagram {
    number: u64,
    at: MonotonicTime,
    /// The oldest change in the packet; `None`: part of a full synchronisation, where age does not count.
    since: Option<MonotonicTime>,
    places: Vec<u64>,
}

/// The outcome of packets in flight.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeliveryReport {
    /// Places to retransmit.
    pub lost: Vec<u64>,
    /// Places that arrived in time.
    pub timely: u64,
    /// Places that arrived late or were lost.
    pub slow: u64,
}

impl DeliveryReport {
    fn record(&mut self, now: MonotonicTime, sent: SentDatagram, came: bool) {
        let places = sent.places.len() as u64;
        match sent.since {
            Some(since) if came && now.since(since) <= TIMELY_LIMIT => self.timely += places,
            Some(_) => self.slow += places,
            None => {}
        }
        if !came {
            self.lost.extend(sent.places);
        }
    }
}

impl SendWindow {
    /// Packets that may be sent now.
    pub fn room(&self) -> usize {
        WINDOW - self.in_flight.len()
    }

    /// No packet is in flight.
    pub fn is_empty(&self) -> bool {
        self.in_flight.is_empty()
    }

    /// The number of the last packet.
    pub fn newest(&self) -> u64 {
        self.number
    }

    /// The number of the first packet in flight.
    pub fn oldest(&self) -> Option<u64> {
        self.in_flight.front().map(|sent| sent.number)
    }

    /// Records a packet with these places, none with a change older than `since`. Returns its number.
    pub fn send(
        &mut self,
        now: MonotonicTime,
        places: Vec<u64>,
        since: Option<MonotonicTime>,
    ) -> u64 {
        self.number += 1;
        self.in_flight.push_back(SentDatagram { number: self.number, at: now, since, places });
        self.number
    }

    pub fn acknowledge(&mut self, now: MonotonicTime, heard: &Acknowledgement) -> DeliveryReport {
        let mut ended = DeliveryReport::default();
        while let Some(came) =
            self.in_flight.front().and_then(|sent| heard.is_received(sent.number))
        {
            self.in_flight.pop_front().into_iter().for_each(|sent| ended.record(now, sent, came));
        }
        ended
    }

    /// Handles elapsed time: which packets count as lost.
    pub fn expire(&mut self, now: MonotonicTime) -> DeliveryReport {
        let mut ended = DeliveryReport::default();
        let lost = |sent: &SentDatagram| now.since(sent.at) >= LOSS_TIMEOUT;
        while self.in_flight.front().is_some_and(lost) {
            self.in_flight.pop_front().into_iter().for_each(|sent| ended.record(now, sent, false));
        }
        ended
    }

    /// Empties the window, because the receiver is down and no acknowledgement can arrive.
    pub fn clear(&mut self) {
        self.in_flight.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replica::receive_window::ReceiveWindow;

    fn at(ms: u64) -> MonotonicTime {
        MonotonicTime::default() + Duration::from_millis(ms)
    }

    #[test]
    fn lost_places_are_sent_again() {
        let mut window = SendWindow::default();
        let mut received = ReceiveWindow::default();
        let numbers: Vec<u64> = (0..4).map(|place| window.send(at(0), vec![place], None)).collect();
        assert_eq!(numbers, [1, 2, 3, 4]);
        assert!(received.accept(1) && received.accept(3));
        assert_eq!(
            window.acknowledge(at(9), &received.acknowledgement()).lost,
            [1],
            "the second packet's place"
        );
        assert_eq!(
            window.acknowledge(at(9), &received.acknowledgement()),
            DeliveryReport::default(),
            "once"
        );
        assert!(window.expire(at(149)).lost.is_empty() && !window.is_empty());
        assert_eq!(window.expire(at(150)).lost, [3], "the last one was never heard of");
        assert_eq!(window.room(), WINDOW);
    }

    #[test]
    fn no_more_is_under_way_than_there_is_room_for() {
        let mut window = SendWindow::default();
        while window.room() > 0 {
            window.send(at(0), vec![7], None);
        }
        assert_eq!(window.expire(at(1_000)).lost.len(), WINDOW);
    }

    #[test]
    fn changes_delivered_within_fifty_ms_are_timely() {
        let mut window = SendWindow::default();
        let mut received = ReceiveWindow::default();
        for since in [Some(at(0)), Some(at(1)), None, Some(at(40))] {
            window.send(at(45), vec![1, 2, 3], since);
        }
        assert!((1..4).all(|number| received.accept(number)));
        let ended = window.acknowledge(at(51), &received.acknowledgement());
        assert_eq!((ended.timely, ended.slow), (3, 3), "one in time, one late, one of who joins");
        let ended = window.expire(at(500));
        assert_eq!((ended.timely, ended.slow, ended.lost.len()), (0, 3, 3));
    }
}
