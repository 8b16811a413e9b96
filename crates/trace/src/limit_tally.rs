//! Sums over transactions: time by phase and limit, by place and by owner. For a connection, and for a whole file.
//!
//! `diagnosis` turns the sums into findings.

use model::limit::{Limit, TimeOwner};

use crate::attribution::bands::TimeBands;
use crate::attribution::shares::LimitEvidence;
use crate::attribution::transaction::{
    EffectiveWindowRange, TracedTransaction, TransferPhase, limit_owner,
};
use crate::event::ConnectionSide;

/// Where in a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TransactionPlace {
    /// Before the first request.
    Setup,
    /// While the request was sent.
    Request,
    /// Between request and answer.
    Server,
    /// While the answer was sent.
    Response,
    Path,
}

impl TransactionPlace {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            TransactionPlace::Setup => "setup",
            TransactionPlace::Request => "request",
            TransactionPlace::Server => "server",
            TransactionPlace::Response => "response",
            TransactionPlace::Path => "path",
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct LimitCell {
    pub place: TransactionPlace,
    pub limit: Limit,
    pub owner: TimeOwner,
    pub ns: i64,
    /// Where to see it.
    pub evidence: LimitEvidence,
    /// Number of the connection that shows it best.
    pub connection: u32,
    /// How much of `ns` that connection has.
    pub connection_ns: i64,
    /// Bytes that were sent under it.
    pub bytes: u64,
    /// The estimated size of the sender's buffer in bytes; 0: no evidence of a limit.
    pub cap: i64,
    /// The effective windows, where known.
    pub window: Option<EffectiveWindowRange>,
    /// Most in flight, bytes.
    pub max_in_flight: i64,
    /// The path's round trip, nanoseconds.
    pub round_trip_ns: i64,
    /// The densest packets' rate, bytes a second; 0: unknown.
    pub link_rate: f64,
    /// Turns in which it held.
    pub turns: u64,
}

#[derive(Clone, Debug, Default)]
pub struct LimitTally {
    pub transactions: u64,
    /// Connections, and those of them without transactions to judge: with one direction captured, or overlapping requests.
    pub connections: u64,
    pub unjudged: u64,
    /// By place and owner.
    pub bands: TimeBands,
    /// The users' wait in nanoseconds.
    pub total_ns: i64,
    /// The wait without the path's latency.
    pub working_ns: i64,
    /// The clients' pauses between turns, which are no part of the wait.
    pub pause_ns: i64,
    /// Bytes of answers and requests.
    pub bytes: [u64; 2],
    cells: Vec<LimitCell>,
}

/// A message of so many packets is no bulk, as in the rules of transfers.
const FEW_PACKETS: u64 = 4;

impl LimitTally {
    /// Adds a transaction of a connection.
    pub fn add(&mut self, transaction: &TracedTransaction, connection: u32) {
        self.transactions += 1;
        self.bands.merge(&TimeBands::from_transaction(transaction));
        self.total_ns += transaction.total_ns();
        self.working_ns += transaction.working_ns();
        self.pause_ns += transaction.pause_ns;
        let numbers = transaction.request.numbers;
        let server = (TransactionPlace::Server, Limit::ServerThink, transaction.server_ns);
        let unknown = (TransactionPlace::Server, Limit::Unknown, transaction.unknown_ns);
        // A few packets fill no link: what delays them is the path.
        let is_bulk = |phase: &TransferPhase| phase.packets > FEW_PACKETS;
        let mut queue_ns = transaction.queue_ns;
        let mut tail_ns = transaction.tail_ns;
        let mut path_ns = transaction.latency_ns;
        if !is_bulk(&transaction.request) {
            path_ns += std::mem::take(&mut queue_ns);
        }
        if !transaction.response.as_ref().is_some_and(is_bulk) {
            path_ns += std::mem::take(&mut tail_ns);
        }
        let queue = (TransactionPlace::Request, Limit::LinkRate, queue_ns);
        let tail = (TransactionPlace::Response, Limit::LinkRate, tail_ns);
        let path = (TransactionPlace::Path, Limit::Latency, path_ns);
        let lost = (TransactionPlace::Setup, Limit::Loss, transaction.setup_lost_ns);
        let setup = transaction.setup_ns - transaction.setup_lost_ns;
        let setup = (TransactionPlace::Setup, Limit::Connect, setup);
        let hidden = (TransactionPlace::Response, Limit::LossSuspected, transaction.lost_ns);
        for (place, limit, ns) in [server, unknown, queue, tail, hidden, path, lost, setup] {
            if ns > 0 {
                let (from_ns, from, to) = match (place, &transaction.response) {
                    (TransactionPlace::Response, Some(response)) if limit == Limit::LinkRate => {
                        (response.to_ns, response.numbers.last, response.numbers.last)
                    }
                    (_, Some(response)) => {
                        (transaction.request.to_ns, numbers.last, response.numbers.first)
                    }
                    (_, None) => (transaction.request.to_ns, numbers.last, numbers.last),
                };
                let times = 1;
                let longest_ns = ns;
                let evidence = LimitEvidence {
                    times,
                    longest_ns,
                    from_ns,
                    from,
                    to,
                    ..LimitEvidence::default()
                };
                let cell =
                    build_cell(place, limit, ConnectionSide::Client, ns, evidence, connection);
                self.add_cell(cell, transaction);
            }
        }
        for (sender, phase) in transaction.phases() {
            self.bytes[sender.index()] += phase.bytes;
            self.add_phase(sender, phase, transaction, connection);
        }
    }

    fn add_phase(
        &mut self,
        sender: ConnectionSide,
        phase: &TransferPhase,
        of: &TracedTransaction,
        connection: u32,
    ) {
        let place = if sender == ConnectionSide::Client {
            TransactionPlace::Request
        } else {
            TransactionPlace::Response
        };
        for cause in &phase.causes {
            let limit = cause.limit;
            let evidence = cause.evidence;
            let mut cell = build_cell(place, limit, sender, cause.ns, evidence, connection);
            cell.cap = phase.cap;
            cell.window = phase.window;
            cell.max_in_flight = phase.max_in_flight;
            cell.link_rate = phase.link_rate;
            self.add_cell(cell, of);
        }
    }

    fn add_cell(&mut self, mut cell: LimitCell, of: &TracedTransaction) {
        cell.round_trip_ns = of.near_ns.iter().sum();
        self.merge_cell(&cell);
    }

    pub fn add_tally(&mut self, other: &LimitTally) {
        self.transactions += other.transactions;
        self.connections += other.connections;
        self.unjudged += other.unjudged;
        self.bands.merge(&other.bands);
        self.total_ns += other.total_ns;
        self.working_ns += other.working_ns;
        self.pause_ns += other.pause_ns;
        for (mine, theirs) in self.bytes.iter_mut().zip(other.bytes) {
            *mine += theirs;
        }
        other.cells.iter().for_each(|cell| self.merge_cell(cell));
    }

    fn merge_cell(&mut self, cell: &LimitCell) {
        let same = |known: &&mut LimitCell| {
            (known.place, known.limit, known.owner) == (cell.place, cell.limit, cell.owner)
        };
        let Some(known) = self.cells.iter_mut().find(same) else {
            self.cells.push(*cell);
            return;
        };
        let longer = cell.evidence.longest_ns > known.evidence.longest_ns;
        known.evidence.merge(&cell.evidence);
        known.ns += cell.ns;
        known.bytes += cell.bytes;
        known.turns += cell.turns;
        if cell.connection == known.connection {
            known.connection_ns += cell.ns;
        } else if longer {
            known.connection = cell.connection;
            known.connection_ns = cell.connection_ns;
        }
        if longer || known.window.is_none() {
            known.cap = cell.cap;
            known.window = cell.window;
            known.round_trip_ns = cell.round_trip_ns;
            known.link_rate = cell.link_rate;
        }
        known.max_in_flight = known.max_in_flight.max(cell.max_in_flight);
    }

    /// All sums, the longest first.
    pub fn ranked(&self) -> Vec<LimitCell> {
        let mut cells = self.cells.clone();
        cells.sort_by_key(|cell| (std::cmp::Reverse(cell.ns), cell.place, cell.limit));
        cells
    }
}

fn build_cell(
    place: TransactionPlace,
    limit: Limit,
    sender: ConnectionSide,
    ns: i64,
    evidence: LimitEvidence,
    connection: u32,
) -> LimitCell {
    LimitCell {
        place,
        limit,
        owner: limit_owner(limit, sender),
        ns,
        evidence,
        connection,
        connection_ns: ns,
        bytes: evidence.bytes,
        cap: 0,
        window: None,
        max_in_flight: 0,
        round_trip_ns: 0,
        link_rate: 0.0,
        turns: 1,
    }
}
