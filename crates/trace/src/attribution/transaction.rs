//! A request with its response: the time and duration of each part, and its limits.
//!
//! Plain data with consistent sums: setup, request, queue, server, response and latency make up the total exactly.

use model::limit::{Limit, Part, TimeOwner};

use super::shares::{LimitEvidence, LimitShares};
use crate::event::ConnectionSide;

/// The kind of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExchangeKind {
    /// A request and its answer.
    Exchange,
    /// A part of TLS's handshake.
    TlsHandshake,
    /// The server spoke first, or its answer began before the capture.
    AnswerOnly,
}

#[derive(Clone, Copy, Debug)]
pub struct PhaseCause {
    pub limit: Limit,
    /// For how long, nanoseconds.
    pub ns: i64,
    /// Where to see it.
    pub evidence: LimitEvidence,
}

/// The effective windows under which data was sent, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EffectiveWindowRange {
    pub smallest: i64,
    pub largest: i64,
}

/// Numbers of the first and the last packet of a message in the capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessagePackets {
    pub first: u32,
    pub last: u32,
}

/// A time during which one limit held, nanoseconds since the capture began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitStretch {
    pub limit: Limit,
    pub from_ns: i64,
    pub to_ns: i64,
}

/// When a transaction began and ended at the capture, nanoseconds since the capture began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionSpan {
    pub from_ns: i64,
    pub to_ns: i64,
}

/// The transfer of a message.
#[derive(Clone, Debug, Default)]
pub struct TransferPhase {
    /// First packet, nanoseconds since the capture began.
    pub from_ns: i64,
    pub to_ns: i64,
    pub numbers: MessagePackets,
    pub packets: u64,
    /// Bytes of the message.
    pub bytes: u64,
    /// The phase's part of the total. Less than the time from the first to the last packet if the response came early.
    pub ns: i64,
    /// Most bytes in flight in the sender's view.
    pub max_in_flight: i64,
    /// The estimated size of the sender's buffer in bytes; 0: no evidence of a limit.
    pub cap: i64,
    /// The effective windows, where known.
    pub window: Option<EffectiveWindowRange>,
    /// The rate of the densest packets in bytes a second; 0: the capture cannot show it.
    pub link_rate: f64,
    /// The limits, the longest first; their sum is `ns`.
    pub causes: Vec<PhaseCause>,
    /// Every slice, if needed.
    pub stretches: Vec<LimitStretch>,
}

/// A request with its answer.
#[derive(Clone, Debug)]
pub struct TracedTransaction {
    pub kind: ExchangeKind,
    /// Method and target, for HTTP.
    pub title: Option<Box<str>>,
    pub status: Option<u16>,
    pub request: TransferPhase,
    pub response: Option<TransferPhase>,
    /// The connection setup in nanoseconds, for the first transaction.
    pub setup_ns: i64,
    /// The part of the setup that losses caused.
    pub setup_lost_ns: i64,
    /// Time that the end of the request waited in a queue of the path.
    pub queue_ns: i64,
    /// Time that the end of the response waited in a queue behind the capture.
    pub tail_ns: i64,
    pub server_ns: i64,
    /// Time between request and answer that nobody owns, because packets are missing in the capture.
    pub unknown_ns: i64,
    /// Time between request and answer in which an answer was probably lost before the capture, and sent again.
    pub lost_ns: i64,
    /// The path's length: round trips.
    pub latency_ns: i64,
    /// The client's pause since the answer before.
    pub pause_ns: i64,
    /// Round trip between the capture and the client, and the server.
    pub near_ns: [i64; 2],
    /// Whether both messages were captured to their end.
    pub complete: bool,
}

impl TransferPhase {
    /// Bytes a second between the first and the last packet. `None` with one packet.
    pub fn rate(&self) -> Option<f64> {
        let ns = self.to_ns - self.from_ns;
        (ns > 0 && self.packets > 1).then(|| self.bytes as f64 / ns as f64 * 1e9)
    }

    /// The possible rate: the link's, or a window in every round trip; bytes a second.
    pub fn ideal_rate(&self, round_trip_ns: i64) -> Option<f64> {
        let by_window = self.window.filter(|_| round_trip_ns > 0);
        let by_window = by_window.map(|window| window.largest as f64 / round_trip_ns as f64 * 1e9);
        let by_link = (self.link_rate > 0.0).then_some(self.link_rate);
        match (by_window, by_link) {
            (Some(window), Some(link)) => Some(window.min(link)),
            (window, link) => window.or(link),
        }
    }

    pub fn set_causes(&mut self, shares: &LimitShares) {
        let cause =
            |limit| PhaseCause { limit, ns: shares.ns(limit), evidence: shares.evidence(limit) };
        self.causes = shares.ranked().into_iter().map(cause).collect();
    }
}

impl TracedTransaction {
    /// The user's wait: from the client's first packet until the last one reaches it, setup included.
    pub fn total_ns(&self) -> i64 {
        self.setup_ns + self.latency_ns + self.working_ns()
    }

    /// The total without the path's latency.
    pub fn working_ns(&self) -> i64 {
        let response = self.response.as_ref().map_or(0, |phase| phase.ns);
        let between = self.server_ns + self.unknown_ns + self.lost_ns;
        self.request.ns + self.queue_ns + between + response + self.tail_ns
    }

    /// Begins with opening the connection.
    pub fn set_up(&mut self, setup_ns: i64, setup_lost_ns: i64) {
        self.setup_ns = setup_ns;
        self.setup_lost_ns = setup_lost_ns;
    }

    /// The phases with who sends in them.
    pub fn phases(&self) -> impl Iterator<Item = (ConnectionSide, &TransferPhase)> {
        let request = std::iter::once((ConnectionSide::Client, &self.request));
        request.chain(self.response.iter().map(|phase| (ConnectionSide::Server, phase)))
    }

    /// The phases, to change them.
    pub fn phases_mut(&mut self) -> impl Iterator<Item = &mut TransferPhase> {
        std::iter::once(&mut self.request).chain(self.response.iter_mut())
    }

    /// When it began and ended at the capture.
    pub fn span(&self) -> TransactionSpan {
        let end = self.response.as_ref().map_or(self.request.to_ns, |phase| phase.to_ns);
        TransactionSpan { from_ns: self.request.from_ns, to_ns: end.max(self.request.to_ns) }
    }
}

/// Who owns a limit's time when `sender` sends.
pub fn limit_owner(limit: Limit, sender: ConnectionSide) -> TimeOwner {
    let of = |side: ConnectionSide| match side {
        ConnectionSide::Client => TimeOwner::Client,
        ConnectionSide::Server => TimeOwner::Server,
    };
    match (limit, limit.part()) {
        (Limit::ServerThink, _) => TimeOwner::Server,
        (Limit::ClientThink, _) => TimeOwner::Client,
        (Limit::BalancerHold, _) => TimeOwner::Balancer,
        (_, Part::Sender) => of(sender),
        (_, Part::Receiver) => of(sender.peer()),
        (_, Part::Network) => TimeOwner::Network,
    }
}
