//! Puts the report together from what an analysis found.
//!
//! Connections are told by what their users waited, the slowest first to stay when there are too many.

use crate::analysis::{Analysed, Facts};
use crate::report::number::seconds;
use crate::report::{Capture, Connection, Report, SCHEMA};
use crate::tally::Tally;
use crate::verdict::verdict;

/// What the reader of files knows beside the frames.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// Files, in the order read.
    pub files: Vec<String>,
    /// Packets that the capturing program says it lost.
    pub drops: u64,
    /// The most bytes kept of a packet; 0: unlimited.
    pub snaplen: u32,
    /// What was wrong with a file.
    pub damage: Option<String>,
}

/// Connections that are told of in full.
const MAX_TOLD: usize = 20_000;
/// Transactions that are told of, over all connections.
const MAX_TRANSACTIONS: usize = 20_000;

/// The report.
pub fn report(mut analysed: Analysed, source: Source) -> Report {
    let mut tally = Tally::default();
    for (_, ledger) in &analysed.connections {
        tally.join(&ledger.tally);
    }
    limit_transactions(&mut analysed);
    let connections = analysed.connections.as_slice();
    let mut told: Vec<usize> = (0..connections.len()).collect();
    told.sort_by_key(|at| std::cmp::Reverse(connections[*at].1.tally.total_ns));
    told.truncate(MAX_TOLD);
    told.sort_unstable();
    let one = |at: &usize| {
        let (conversation, ledger) = &connections[*at];
        Connection::of(conversation, ledger, verdict(&ledger.tally, connections))
    };
    Report {
        schema: SCHEMA,
        capture: capture(&analysed.facts, &source),
        files: source.files,
        connections_total: connections.len(),
        connections_left_out: connections.len() - told.len(),
        transactions_total: tally.transactions,
        verdict: verdict(&tally, connections),
        connections: told.iter().map(one).collect(),
    }
}

/// Leaves out the fastest where connections have kept more than fits together.
fn limit_transactions(analysed: &mut Analysed) {
    let kept: usize = analysed.connections.iter().map(|(_, ledger)| ledger.kept.len()).sum();
    if kept <= MAX_TRANSACTIONS {
        return;
    }
    let all = analysed.connections.iter().flat_map(|(_, ledger)| &ledger.kept);
    let mut totals: Vec<i64> = all.map(|transaction| transaction.total_ns()).collect();
    let bound = *totals.select_nth_unstable(kept - MAX_TRANSACTIONS).1;
    for (_, ledger) in &mut analysed.connections {
        let before = ledger.kept.len();
        ledger.kept.retain(|transaction| transaction.total_ns() >= bound);
        ledger.left_out += (before - ledger.kept.len()) as u64;
    }
}

fn capture(facts: &Facts, source: &Source) -> Capture {
    Capture {
        frames: facts.frames,
        captured_bytes: facts.captured_bytes,
        tcp_packets: facts.tcp_packets,
        start_epoch_seconds: seconds(facts.first_ns),
        seconds: seconds(facts.last_ns),
        duplicates: facts.duplicates,
        drops: source.drops,
        snaplen: source.snaplen,
        filtered: facts.filtered,
        beyond_limit: facts.beyond_limit,
        unknown_link: facts.unknown_link,
        not_ip: facts.not_ip,
        not_tcp: facts.not_tcp,
        fragments: facts.fragments,
        broken: facts.broken,
        too_deep: facts.too_deep,
        backwards: facts.backwards,
        damage: source.damage.clone(),
    }
}
