//! Which connections an analysis without an end gives up when it has too many, and what stays of them.
//!
//! Open connections and the worst ones stay, then those that were heard of last.

use std::cmp::Reverse;

use crate::conversation::ConnectionEnd;
use crate::failure_tally::FailureTally;
use crate::ledger::AnalysedConnection;
use crate::limit_tally::LimitTally;

/// Connections that stay because their users waited longest: what a screen can show.
const WORST: usize = 256;
/// Packets of a connection that has ended may come this late: two retransmissions of a lost last one fit. Nanoseconds.
const LATE_NS: i64 = 2_000_000_000;

/// What stays of connections that were given up.
#[derive(Clone, Debug, Default)]
pub struct RetiredConnections {
    pub connections: u64,
    /// Sums over their transactions.
    pub tally: LimitTally,
    pub failures: FailureTally,
}

impl RetiredConnections {
    /// Adds one that was analysed to its end.
    pub fn add(&mut self, one: &AnalysedConnection) {
        let AnalysedConnection { conversation, ledger } = one;
        self.connections += 1;
        self.tally.add_tally(&ledger.tally);
        if let Some(failure) = &ledger.failure {
            self.failures.add(failure, conversation.ends, ledger.number);
        }
    }
}

/// Which of the connections stay, at most `most` of them: a value for each place. `now_ns`: the time of the last frame.
pub fn choose_staying(connections: &[AnalysedConnection], most: usize, now_ns: i64) -> Vec<bool> {
    let mut order: Vec<usize> = (0..connections.len()).collect();
    order.sort_unstable_by_key(|at| (Reverse(connections[*at].ledger.tally.total_ns), *at));
    let mut rest = order.split_off(WORST.min(most / 2).min(order.len()));
    let mut stay = vec![false; connections.len()];
    let room = most - order.len();
    order.into_iter().for_each(|at| stay[at] = true);
    rest.sort_unstable_by_key(|at| {
        let conversation = &connections[*at].conversation;
        let is_open = conversation.ended == ConnectionEnd::Open;
        // What comes late for a connection that is not known any more would be another one.
        let may_have_more = now_ns - conversation.last_ns < LATE_NS;
        (Reverse(is_open), Reverse(may_have_more), Reverse(conversation.last_ns), *at)
    });
    rest.into_iter().take(room).for_each(|at| stay[at] = true);
    stay
}
