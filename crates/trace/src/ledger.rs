//! What was found of a connection so far, when it is judged in pieces: sums, and the transactions worth showing.

use crate::conversation::Conversation;
use crate::event::Side;
use crate::judge::flag::Flag;
use crate::judge::path::Path;
use crate::judge::scale::{Scale, Wishes};
use crate::judge::transaction::Transaction;
use crate::judge::{Judged, judge};
use crate::tally::Tally;

/// Transactions of a connection that are kept; the slowest are.
pub const MAX_KEPT: usize = 512;
/// Transactions of all connections together that are told of; while reading twice as many are kept.
pub const MAX_TOLD: usize = 20_000;

/// Findings of one connection.
#[derive(Debug, Default)]
pub struct Ledger {
    /// Number of the connection, from 1.
    pub number: u32,
    /// Sums over all its transactions.
    pub tally: Tally,
    /// Transactions that are kept, in order of time.
    pub kept: Vec<Transaction>,
    /// Those that are not.
    pub left_out: u64,
    /// Windows that contradict what was announced.
    pub flags: Vec<Flag>,
    /// Round trips, by the last piece, without samples.
    pub path: Path,
    /// Window scales of both sides, by the last piece.
    pub scales: Option<[Scale; 2]>,
    /// Segment sizes.
    pub segments: [u32; 2],
    /// Most in flight in the sender's view.
    pub max_in_flight: [i64; 2],
    /// Whether requests overlap.
    pub multiplexed: bool,
    /// Pieces so far.
    pub pieces: u32,
}

/// How much of a connection to judge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All of it; it is over.
    All,
    /// What is complete; its packets are freed.
    Complete,
}

impl Ledger {
    /// Judges what a connection has kept and frees it.
    pub fn take(&mut self, conversation: &mut Conversation, extent: Extent, wishes: &Wishes) {
        let mut judged = judge(conversation, wishes, self.pieces > 0, false);
        self.pieces += 1;
        let mut open = None;
        if extent == Extent::Complete {
            let most = conversation.events.len() / 2;
            open = judged.transactions.pop();
            let first = open.as_ref().map(|t| conversation.place_of(t.request.numbers.0));
            if first.is_none_or(|first| first < most) {
                // One message fills all of what may be kept: what there is of it is judged now.
                judged.transactions.extend(open.take());
            }
        }
        conversation.shortest_ns = judged.path.firm_ns();
        self.enter(judged);
        let from = open.map(|open| conversation.place_of(open.request.numbers.0));
        conversation.free(from.unwrap_or(usize::MAX));
    }

    fn enter(&mut self, judged: Judged) {
        for transaction in judged.transactions {
            self.tally.add(&transaction, self.number);
            self.kept.push(transaction);
        }
        self.left_out += shorten(&mut self.kept, MAX_KEPT);
        for flag in judged.flags {
            if self.flags.iter().all(|known| known.side != flag.side) {
                self.flags.push(flag);
            }
        }
        self.scales = Some(judged.scales);
        self.segments = judged.segments;
        self.multiplexed |= judged.multiplexed;
        for side in [Side::Client, Side::Server] {
            let most = &mut self.max_in_flight[side.index()];
            *most = (*most).max(judged.max_in_flight[side.index()]);
        }
        self.path = judged.path.without_samples();
    }
}

/// Leaves the slowest `most`, in their order, and says how many went.
pub fn shorten(kept: &mut Vec<Transaction>, most: usize) -> u64 {
    if kept.len() <= most {
        return 0;
    }
    let mut totals: Vec<i64> = kept.iter().map(Transaction::total_ns).collect();
    let at = totals.len() - most / 2;
    let bound = *totals.select_nth_unstable(at).1;
    let before = kept.len();
    kept.retain(|transaction| transaction.total_ns() >= bound);
    kept.truncate(most);
    (before - kept.len()) as u64
}

/// Leaves the slowest `most` of all connections together; of those that took equally long, the first.
pub fn shorten_all(connections: &mut [(Conversation, Ledger)], most: usize) {
    let all = connections.iter().flat_map(|(_, ledger)| &ledger.kept);
    let Some((bound, mut equal)) = slowest(all.map(Transaction::total_ns).collect(), most) else {
        return;
    };
    for (_, ledger) in connections {
        let before = ledger.kept.len();
        ledger.kept.retain(|transaction| {
            let ns = transaction.total_ns();
            let stays = ns > bound || (ns == bound && equal > 0);
            equal -= usize::from(stays && ns == bound);
            stays
        });
        ledger.kept.shrink_to_fit();
        ledger.left_out += (before - ledger.kept.len()) as u64;
    }
}

/// The least of the `most` largest, and how many of exactly that are among them; `None`: there are no more than those.
fn slowest(mut totals: Vec<i64>, most: usize) -> Option<(i64, usize)> {
    let more = totals.len().checked_sub(most).filter(|more| *more > 0)?;
    if most == 0 {
        return Some((i64::MAX, 0));
    }
    let bound = *totals.select_nth_unstable(more).1;
    Some((bound, most - totals.iter().filter(|ns| **ns > bound).count()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_so_many_stay_also_where_all_are_alike() {
        assert_eq!(slowest(vec![4, 1, 3, 2], 2), Some((3, 1)));
        assert_eq!(slowest(vec![5; 9], 2), Some((5, 2)));
        assert_eq!(slowest(vec![1, 5, 5, 5, 9], 3), Some((5, 2)));
        assert_eq!(slowest(vec![1, 2], 0), Some((i64::MAX, 0)));
        assert_eq!(slowest(vec![1, 2], 2), None);
        assert_eq!(slowest(Vec::new(), 2), None);
    }
}
