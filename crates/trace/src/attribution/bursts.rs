//! What a sender sends from one acknowledgement to the next, beside what it had in flight before.
//!
//! A sender that its congestion window limits has as much in flight as ever after each acknowledgement, and more while the
//! window grows.

use std::ops::RangeInclusive;

use super::round_levels::FlightSample;
use super::sender::SenderView;

/// Fewer long waits show no habit.
const FEW_WAITS: u32 = 4;

/// By packet of a transfer.
#[derive(Debug)]
pub struct SentBursts {
    /// Most in flight from the packet on, before the next acknowledgement.
    ahead: Vec<i64>,
    /// Most in flight before the packet.
    before: Vec<i64>,
}

impl SentBursts {
    /// From the packets of a transfer in order of time.
    pub fn from_flights(flights: &[FlightSample], sender: &SenderView) -> SentBursts {
        let mut known = 0;
        let acks_known: Vec<usize> = flights
            .iter()
            .map(|flight| {
                let acks = sender.acks.get(known..).unwrap_or_default();
                known += acks.iter().take_while(|ack| ack.time_ns <= flight.time_ns).count();
                known
            })
            .collect();
        let mut ahead: Vec<i64> = flights.iter().map(|flight| flight.in_flight).collect();
        for at in (1..ahead.len()).rev() {
            if acks_known[at - 1] == acks_known[at] {
                ahead[at - 1] = ahead[at - 1].max(ahead[at]);
            }
        }
        let before = flights.iter().scan(0, |most, flight| {
            let before = *most;
            *most = flight.in_flight.max(*most);
            Some(before)
        });
        SentBursts { ahead, before: before.collect() }
    }

    /// Whether less is sent from a packet on than was in flight before; `is_all_acked`: nothing else was in flight, so
    /// that a window which had been the limit would have let more go.
    pub fn is_below(&self, at: usize, is_all_acked: bool, segment: i64) -> bool {
        let [Some(ahead), Some(before)] = [&self.ahead, &self.before].map(|all| all.get(at)) else {
            return false;
        };
        ahead + segment <= *before || (is_all_acked && ahead <= before)
    }
}

/// Whether most of the sender's long waits ended without an acknowledgement: then the others did by chance.
pub fn is_mostly_idle(
    sender: &SenderView,
    packets: RangeInclusive<usize>,
    round_trip_ns: i64,
    trigger_ns: i64,
) -> bool {
    let sent = &sender.sent[packets];
    let long = sent
        .windows(2)
        .filter(|pair| (pair[1].time_ns - pair[0].time_ns) * 2 > round_trip_ns && !pair[1].repairs);
    let mut idle = 0;
    let mut all = 0;
    for pair in long {
        let ack = sender.ack_before(pair[1].time_ns);
        let triggered = ack.is_some_and(|ack| pair[1].time_ns - ack.time_ns <= trigger_ns);
        all += 1;
        idle += u32::from(!triggered);
    }
    all >= FEW_WAITS && idle * 3 >= all * 2
}
