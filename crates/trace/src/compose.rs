//! Puts the report together from what an analysis found.
//!
//! Connections are told by what their users waited, the slowest first to stay when there are too many.

use crate::analysis::{Analysed, Facts};
use crate::ledger::{MAX_TOLD, shorten_all};
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
const MAX_CONNECTIONS: usize = 20_000;

/// The report.
pub fn report(mut analysed: Analysed, source: Source) -> Report {
    let mut tally = Tally::default();
    for (_, ledger) in &analysed.connections {
        tally.join(&ledger.tally);
    }
    shorten_all(&mut analysed.connections, MAX_TOLD);
    let connections = &mut analysed.connections;
    let mut told: Vec<usize> = (0..connections.len()).collect();
    told.sort_by_key(|at| std::cmp::Reverse(connections[*at].1.tally.total_ns));
    told.truncate(MAX_CONNECTIONS);
    told.sort_unstable();
    let (connections_total, connections_left_out) =
        (connections.len(), connections.len() - told.len());
    let one = |at: usize| {
        let verdict = verdict(&connections[at].1.tally, connections.as_slice());
        let (conversation, ledger) = &mut connections[at];
        // What is told of is kept once, not twice.
        let kept = std::mem::take(&mut ledger.kept);
        Connection::of(conversation, ledger, verdict, &kept)
    };
    let told = told.into_iter().map(one).collect();
    Report {
        schema: SCHEMA,
        capture: capture(&analysed.facts, &source),
        files: source.files,
        connections_total,
        connections_left_out,
        transactions_total: tally.transactions,
        verdict: verdict(&tally, analysed.connections.as_slice()),
        connections: told,
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
