//! How long after an acknowledgement packets pass: where acknowledgements let packets go, that is how much the delay between
//! the sender and the capture varies.

use std::ops::RangeInclusive;

use super::sender::SenderView;

/// The lag of nearly all packets in this range that are the first behind an acknowledgement while others are outstanding,
/// nanoseconds; 0: there are none.
pub fn usual_lag(sender: &SenderView, packets: RangeInclusive<usize>) -> i64 {
    let mut known = 0;
    let mut lags = Vec::new();
    let first = *packets.start();
    for at in packets {
        let sent = &sender.sent[at];
        let before = known;
        while sender.acks.get(known).is_some_and(|ack| ack.time_ns <= sent.time_ns) {
            known += 1;
        }
        if let Some(ack) = sender.acks[..known].last()
            && known > before
            && at > first
            && sender.high[at - 1] > ack.ack
            && !sent.repairs
        {
            lags.push(sent.time_ns - ack.time_ns);
        }
    }
    // A tenth may be late for another reason.
    let at = lags.len() * 9 / 10;
    if lags.is_empty() { 0 } else { *lags.select_nth_unstable(at).1 }
}
