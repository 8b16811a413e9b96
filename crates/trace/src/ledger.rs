//! The accumulated analysis of a connection that is analysed in pieces: sums, and the slowest transactions.

use crate::attribution::path::PathTiming;
use crate::attribution::scale::{ScaleOverrides, WindowScale};
use crate::attribution::transaction::TracedTransaction;
use crate::attribution::window_flag::WindowFlag;
use crate::attribution::{ConnectionAttribution, attribute_connection};
use crate::conversation::{ConnectionEnd, Conversation};
use crate::event::ConnectionSide;
use crate::failure::ConnectionFailure;
use crate::limit_tally::LimitTally;
use crate::payload::PayloadProtocol;

/// Transactions stored for a connection: the slowest.
pub const MAX_TRANSACTIONS: usize = 512;
/// Transactions in the report over all connections; while reading twice as many are stored.
pub const MAX_REPORTED: usize = 20_000;

#[derive(Clone, Debug, Default)]
pub struct ConnectionLedger {
    /// Number of the connection, from 1.
    pub number: u32,
    /// Sums over all its transactions.
    pub tally: LimitTally,
    /// The stored transactions in order of time.
    pub transactions: Vec<TracedTransaction>,
    /// The number of dropped transactions.
    pub left_out: u64,
    /// Windows that contradict the announced scale.
    pub flags: Vec<WindowFlag>,
    /// Round trips, by the last piece, without samples.
    pub path: PathTiming,
    /// Window scales of both sides, by the last piece.
    pub scales: Option<[WindowScale; 2]>,
    pub segments: [u32; 2],
    /// Most in flight in the sender's view.
    pub max_in_flight: [i64; 2],
    pub multiplexed: bool,
    /// How the connection failed, if it did.
    pub failure: Option<ConnectionFailure>,
    pub attributions: u32,
}

/// A connection: its packets, and what was found about them.
#[derive(Clone, Debug)]
pub struct AnalysedConnection {
    pub conversation: Conversation,
    pub ledger: ConnectionLedger,
}

impl AnalysedConnection {
    /// Whether an exchange surely finished: its protocol shows it, another followed, or both sides closed.
    pub fn has_finished_exchange(&self) -> bool {
        let AnalysedConnection { conversation, ledger } = self;
        let is_decoded =
            conversation.talk.protocol == PayloadProtocol::Http && !conversation.talk.has_holes();
        let is_over = conversation.ended == ConnectionEnd::Closed;
        let complete =
            ledger.transactions.iter().filter(|transaction| transaction.complete).count();
        complete > 1 || (complete == 1 && (is_decoded || is_over))
    }
}

/// Which part of a connection to analyse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnalysisExtent {
    /// The whole connection, because it has ended.
    All,
    /// The complete part; its packets are freed.
    Complete,
}

impl ConnectionLedger {
    /// Analyses the stored packets of a connection and frees them.
    pub fn attribute_pending(
        &mut self,
        conversation: &mut Conversation,
        extent: AnalysisExtent,
        wishes: &ScaleOverrides,
    ) {
        let mut attribution =
            attribute_connection(conversation, wishes, self.attributions > 0, false);
        self.attributions += 1;
        let mut open = None;
        if extent == AnalysisExtent::Complete {
            let most = conversation.events.len() / 2;
            open = attribution.transactions.pop();
            let first = open.as_ref().map(|t| conversation.index_of(t.request.numbers.first));
            if first.is_none_or(|first| first < most) {
                // One message fills the whole budget: its stored part is analysed now.
                attribution.transactions.extend(open.take());
            }
        }
        conversation.shortest_ns = attribution.path.firm_ns();
        self.add_attribution(attribution);
        let from = open.map(|open| conversation.index_of(open.request.numbers.first));
        conversation.free_before(from.unwrap_or(usize::MAX));
    }

    fn add_attribution(&mut self, attribution: ConnectionAttribution) {
        for transaction in &attribution.transactions {
            self.tally.add(transaction, self.number);
        }
        if self.transactions.is_empty() {
            self.transactions = attribution.transactions;
        } else {
            self.transactions.extend(attribution.transactions);
        }
        self.left_out += keep_slowest(&mut self.transactions, MAX_TRANSACTIONS);
        for flag in attribution.flags {
            if self.flags.iter().all(|known| known.side != flag.side) {
                self.flags.push(flag);
            }
        }
        self.scales = Some(attribution.scales);
        self.segments = attribution.segments;
        self.multiplexed |= attribution.multiplexed;
        for side in [ConnectionSide::Client, ConnectionSide::Server] {
            let most = &mut self.max_in_flight[side.index()];
            *most = (*most).max(attribution.max_in_flight[side.index()]);
        }
        self.path = attribution.path.without_samples();
    }
}

/// Keeps the slowest `most` in their order, and returns the number of dropped ones.
pub fn keep_slowest(transactions: &mut Vec<TracedTransaction>, most: usize) -> u64 {
    if transactions.len() <= most {
        return 0;
    }
    let totals = transactions.iter().map(TracedTransaction::total_ns).collect();
    let Some(SlowestThreshold { bound_ns, mut equal }) = slowest_threshold(totals, most) else {
        return 0;
    };
    let before = transactions.len();
    transactions.retain(|transaction| {
        let ns = transaction.total_ns();
        let stays = ns > bound_ns || (ns == bound_ns && equal > 0);
        equal -= usize::from(stays && ns == bound_ns);
        stays
    });
    (before - transactions.len()) as u64
}

/// Keeps the slowest `most` of all connections together. Among equally slow ones, the first are kept.
pub fn keep_slowest_overall(connections: &mut [AnalysedConnection], most: usize) {
    let all = connections.iter().flat_map(|one| &one.ledger.transactions);
    let Some(SlowestThreshold { bound_ns, mut equal }) =
        slowest_threshold(all.map(TracedTransaction::total_ns).collect(), most)
    else {
        return;
    };
    for AnalysedConnection { ledger, .. } in connections {
        let before = ledger.transactions.len();
        ledger.transactions.retain(|transaction| {
            let ns = transaction.total_ns();
            let stays = ns > bound_ns || (ns == bound_ns && equal > 0);
            equal -= usize::from(stays && ns == bound_ns);
            stays
        });
        ledger.transactions.shrink_to_fit();
        ledger.left_out += (before - ledger.transactions.len()) as u64;
    }
}

/// The bound from which transactions are among the slowest.
#[derive(Debug, PartialEq, Eq)]
struct SlowestThreshold {
    /// The smallest of the largest totals, nanoseconds.
    bound_ns: i64,
    /// How many of exactly that total are among them.
    equal: usize,
}

/// The bound of the `most` largest values. `None` if there are no more values than `most`.
fn slowest_threshold(mut totals: Vec<i64>, most: usize) -> Option<SlowestThreshold> {
    let more = totals.len().checked_sub(most).filter(|more| *more > 0)?;
    if most == 0 {
        return Some(SlowestThreshold { bound_ns: i64::MAX, equal: 0 });
    }
    let bound_ns = *totals.select_nth_unstable(more).1;
    let equal = most - totals.iter().filter(|ns| **ns > bound_ns).count();
    Some(SlowestThreshold { bound_ns, equal })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_so_many_stay_also_where_all_are_alike() {
        let threshold = |bound_ns, equal| Some(SlowestThreshold { bound_ns, equal });
        assert_eq!(slowest_threshold(vec![4, 1, 3, 2], 2), threshold(3, 1));
        assert_eq!(slowest_threshold(vec![5; 9], 2), threshold(5, 2));
        assert_eq!(slowest_threshold(vec![1, 5, 5, 5, 9], 3), threshold(5, 2));
        assert_eq!(slowest_threshold(vec![1, 2], 0), threshold(i64::MAX, 0));
        assert_eq!(slowest_threshold(vec![1, 2], 2), None);
        assert_eq!(slowest_threshold(Vec::new(), 2), None);
    }
}
