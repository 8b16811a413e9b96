//! Whether a connection failed: refused, unanswered, reset, cut short or stuck, and which side is the cause.
//!
//! Pure rules over counters and the decoded messages. A connection fails once: the first rule that holds decides.
//! `failure_tally` sums over connections.

use model::limit::TimeOwner;

use crate::conversation::{ConnectionNotice, Conversation};
use crate::event::ConnectionSide;
use crate::link::UnreachableNotice;
use crate::open_exchange::{OpenPart, PendingExchange};
use crate::progress::{PacketMoment, SideProgress};
use model::failure_code::FailureCode;

/// How the connection ended afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureEnd {
    /// It did not, within the capture.
    Open,
    Closed(ConnectionSide),
    Reset(ConnectionSide),
}

/// The failure of one connection.
#[derive(Clone, Debug)]
pub struct ConnectionFailure {
    pub code: FailureCode,
    pub owner: TimeOwner,
    /// The packet from which on nothing went well.
    pub since: PacketMoment,
    /// Number of the last packet that belongs to it.
    pub to: u32,
    /// From that packet until the connection or the capture ended.
    pub waited_ns: i64,
    pub ended: FailureEnd,
    /// Bytes of the message that were sent.
    pub bytes: i64,
    /// Bytes that its head announced.
    pub announced: Option<i64>,
    /// How TLS was refused.
    pub refusal: Option<TlsRefusal>,
    /// How ICMP told that the server is not reached.
    pub notice: Option<Box<UnreachableNotice>>,
    /// Method and target, for HTTP.
    pub title: Option<Box<str>>,
}

/// What ended a handshake of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsRefusal {
    /// An alert with this description (RFC 8446, 6).
    Alert(u8),
    /// An alert that is encrypted.
    SealedAlert,
    /// The server answered the hello in another protocol.
    OtherProtocol,
}

/// The end of a capture.
#[derive(Clone, Copy, Debug)]
pub struct CaptureEnd {
    /// Nanoseconds since the capture began.
    pub time_ns: i64,
    /// How long something may stay unanswered before it counts, nanoseconds.
    pub patience_ns: i64,
}

/// How long a side that is expected to reply may be silent, nanoseconds.
/// The retransmission timeout before the first sample (RFC 6298, 2.1).
const SILENT_NS: i64 = 1_000_000_000;
/// Retransmissions without a reply that show a lost peer: one may be a tail loss, the second is its timeout.
const REPEATS: u32 = 2;
/// Keep-alive probes without a reply; one reply may be lost.
const PROBES: u32 = 2;

/// The failure of a connection, if it failed.
pub fn detect_failure(conversation: &Conversation, end: CaptureEnd) -> Option<ConnectionFailure> {
    let look = FailureLook { of: conversation, end };
    if is_one_way(conversation) {
        return None;
    }
    if !look.is_established() {
        return look.failed_setup();
    }
    let open = PendingExchange::find(conversation);
    look.stuck_window()
        .or_else(|| look.silent_peer())
        .or_else(|| look.refused_tls())
        .or_else(|| look.reset(&open))
        .or_else(|| look.closed(&open))
        .or_else(|| look.unfinished(&open))
}

/// Whether packets of one side were not captured although the other side acknowledges them.
pub fn is_one_way(conversation: &Conversation) -> bool {
    let [client, server] = &conversation.directions;
    let replies = client.counts.packets > client.counts.syns + client.counts.resets;
    (server.counts.packets == 0 && replies)
        || (client.counts.packets == 0 && server.counts.packets > server.counts.resets)
}

/// A connection under the rules.
#[derive(Clone, Copy)]
struct FailureLook<'a> {
    of: &'a Conversation,
    end: CaptureEnd,
}

impl FailureLook<'_> {
    fn side(&self, side: ConnectionSide) -> &SideProgress {
        self.of.progress.of(side)
    }

    fn is_established(&self) -> bool {
        let shake = &self.of.handshake;
        let counts = &self.of.directions[0].counts;
        shake.ack_ns.is_some() || counts.packets > counts.syns + counts.resets
    }

    /// A setup that failed.
    fn failed_setup(&self) -> Option<ConnectionFailure> {
        let shake = &self.of.handshake;
        let [client, server] =
            [ConnectionSide::Client, ConnectionSide::Server].map(|s| self.side(s));
        let first = PacketMoment { time_ns: self.of.first_ns, number: self.of.first_number };
        if shake.syn_acks == 0 {
            if let Some(reset) = server.reset {
                return Some(self.failure(FailureCode::ConnectRefused, TimeOwner::Server, reset));
            }
            if let Some(ConnectionNotice { notice, moment }) = self.of.notice.as_deref().copied() {
                let is_server = notice.by == self.of.ends[1].address;
                let by = if is_server { TimeOwner::Server } else { TimeOwner::Network };
                let failure = self.failure(FailureCode::ConnectRefused, by, moment);
                return Some(ConnectionFailure { notice: Some(Box::new(notice)), ..failure });
            }
            let waited = self.end.time_ns - self.of.first_ns >= SILENT_NS.min(self.end.patience_ns);
            let given_up = client.reset.is_some();
            return (shake.syns > 0 && (waited || shake.syns > 1) && !given_up)
                .then(|| self.failure(FailureCode::ConnectUnanswered, TimeOwner::Server, first));
        }
        if let Some(reset) = server.reset {
            return Some(self.failure(FailureCode::ConnectionReset, TimeOwner::Server, reset));
        }
        // A client that resets at once only wanted to know whether somebody listens.
        let waited = self.end.time_ns - shake.syn_ack_ns? >= SILENT_NS;
        (client.reset.is_none() && waited)
            .then(|| self.failure(FailureCode::ConnectUnfinished, TimeOwner::Client, first))
    }

    fn stuck_window(&self) -> Option<ConnectionFailure> {
        [ConnectionSide::Client, ConnectionSide::Server].into_iter().find_map(|side| {
            let since = self.side(side).closed?;
            let probed = self.of.directions[side.peer().index()].counts.probes > 0;
            let is_over = self.side(side).fin.is_some() && self.side(side.peer()).fin.is_some();
            let long = self.ended_ns() - since.time_ns >= SILENT_NS;
            (probed && long && !is_over)
                .then(|| self.failure(FailureCode::WindowClosed, owner(side), since))
        })
    }

    fn silent_peer(&self) -> Option<ConnectionFailure> {
        [ConnectionSide::Client, ConnectionSide::Server].into_iter().find_map(|side| {
            let unheard = self.side(side).unheard;
            let since = unheard.since?;
            let last = self.side(side).last?.time_ns.max(self.ended_ns());
            let shake = &self.of.handshake;
            let code = match (unheard.repeats >= REPEATS, unheard.probes >= PROBES) {
                _ if last - since.time_ns < SILENT_NS => return None,
                (true, _) => FailureCode::PeerGone,
                (_, true) => FailureCode::KeepaliveUnanswered,
                _ => return None,
            };
            Some(self.failure(code, owner(side.peer()), since)).map(|failure| {
                let counts = &self.of.directions[1].counts;
                let only_shakes = counts.packets == counts.syns && shake.syn_acks > 1;
                let queued = only_shakes && side == ConnectionSide::Client;
                let code = if queued { FailureCode::AcceptQueueFull } else { failure.code };
                ConnectionFailure { code, ..failure }
            })
        })
    }

    fn refused_tls(&self) -> Option<ConnectionFailure> {
        [ConnectionSide::Client, ConnectionSide::Server].into_iter().find_map(|side| {
            let clear = self.side(side).alert.map(TlsRefusal::Alert);
            let refusal = clear
                .or_else(|| self.of.talk.has_sealed_alert(side).then_some(TlsRefusal::SealedAlert));
            let other = side == ConnectionSide::Server && self.of.talk.answers_in_clear();
            let refusal = refusal.or(other.then_some(TlsRefusal::OtherProtocol))?;
            let since = self.side(side).run.last;
            // A server without TLS is what keeps the client out.
            let blamed = if refusal == TlsRefusal::OtherProtocol { side } else { side.peer() };
            let failure = self.failure(FailureCode::TlsRefused, owner(blamed), since);
            Some(ConnectionFailure { refusal: Some(refusal), ..failure })
        })
    }

    fn reset(&self, open: &PendingExchange) -> Option<ConnectionFailure> {
        let by = match self.ended() {
            FailureEnd::Reset(by) => by,
            FailureEnd::Open | FailureEnd::Closed(_) => return None,
        };
        let reset = self.side(by).reset?;
        let quick = reset.time_ns - open.since.time_ns < SILENT_NS;
        let code = match (open.part, by) {
            // A server that had closed took no request for one: it ended a stream.
            (OpenPart::Request, ConnectionSide::Server)
                if !open.is_certain && self.closed_in_stream() =>
            {
                return None;
            }
            (OpenPart::Request, ConnectionSide::Server) => FailureCode::RequestReset,
            (OpenPart::Request, ConnectionSide::Client) if quick => FailureCode::RequestCut,
            (OpenPart::Request, ConnectionSide::Client) => FailureCode::RequestUnanswered,
            (OpenPart::HalfRequest, ConnectionSide::Server) => FailureCode::RequestReset,
            (OpenPart::HalfRequest, ConnectionSide::Client) => FailureCode::RequestCut,
            (OpenPart::Answer | OpenPart::AnswerUntilClose, ConnectionSide::Client) if !quick => {
                FailureCode::AnswerStalled
            }
            (OpenPart::Answer | OpenPart::AnswerUntilClose, _) => FailureCode::AnswerCut,
            (OpenPart::Unread, ConnectionSide::Client) => FailureCode::AnswerCut,
            // Without a close before it, a server's reset throws away what the client may still need.
            (OpenPart::Unknown | OpenPart::Unread, ConnectionSide::Server) if !self.any_fin() => {
                FailureCode::ConnectionReset
            }
            _ => return None,
        };
        let owner = match code {
            FailureCode::RequestUnanswered | FailureCode::AnswerStalled => TimeOwner::Server,
            _ => owner(by),
        };
        let waits = matches!(code, FailureCode::RequestUnanswered | FailureCode::AnswerStalled);
        let since = if waits { open.since } else { reset };
        Some(self.exchange_failure(code, owner, since, open))
    }

    fn closed(&self, open: &PendingExchange) -> Option<ConnectionFailure> {
        let client = self.side(ConnectionSide::Client).fin;
        let server = self.side(ConnectionSide::Server).fin;
        let unless_server =
            |fin: PacketMoment| server.is_none_or(|server| fin.time_ns < server.time_ns);
        let fail = |code, owner, since| self.exchange_failure(code, owner, since, open);
        Some(match (open.part, client, server) {
            (OpenPart::HalfRequest, Some(fin), _) => {
                fail(FailureCode::RequestCut, TimeOwner::Client, fin)
            }
            (OpenPart::Answer, _, Some(fin)) => {
                fail(FailureCode::AnswerCut, TimeOwner::Server, fin)
            }
            // Without a close of the server, a client's that follows at once is a half-close and waits for the rest.
            (OpenPart::Answer, Some(fin), None)
                if fin.time_ns - open.since.time_ns >= SILENT_NS =>
            {
                fail(FailureCode::AnswerStalled, TimeOwner::Server, open.since)
            }
            (OpenPart::Request, Some(fin), _)
                if fin.time_ns - open.since.time_ns >= SILENT_NS && unless_server(fin) =>
            {
                fail(FailureCode::RequestUnanswered, TimeOwner::Server, open.since)
            }
            (OpenPart::Request, Some(fin), Some(_)) if open.is_certain && unless_server(fin) => {
                fail(FailureCode::RequestCut, TimeOwner::Client, fin)
            }
            (OpenPart::Request, _, Some(fin)) if open.is_certain => {
                fail(FailureCode::RequestClosed, TimeOwner::Server, fin)
            }
            (OpenPart::Request, Some(_), None)
                if self.end.time_ns - open.since.time_ns >= self.end.patience_ns.max(SILENT_NS) =>
            {
                fail(FailureCode::RequestUnanswered, TimeOwner::Server, open.since)
            }
            _ => return None,
        })
    }

    /// An exchange that is open when the capture ends.
    fn unfinished(&self, open: &PendingExchange) -> Option<ConnectionFailure> {
        let code = match open.part {
            OpenPart::Request => FailureCode::RequestUnanswered,
            OpenPart::Answer => FailureCode::AnswerStalled,
            OpenPart::HalfRequest => FailureCode::RequestCut,
            OpenPart::AnswerUntilClose | OpenPart::Unread | OpenPart::Unknown | OpenPart::Idle => {
                return None;
            }
        };
        let by =
            if code == FailureCode::RequestCut { TimeOwner::Client } else { TimeOwner::Server };
        let ended = self.ended();
        let mut patience_ns = self.end.patience_ns;
        if code == FailureCode::AnswerStalled {
            // A capture may end in the middle of any transfer.
            patience_ns = patience_ns.max(SILENT_NS);
        }
        let long = self.ended_ns() - open.since.time_ns >= patience_ns;
        (long && ended == FailureEnd::Open)
            .then(|| self.exchange_failure(code, by, open.since, open))
    }

    fn exchange_failure(
        &self,
        code: FailureCode,
        owner: TimeOwner,
        since: PacketMoment,
        open: &PendingExchange,
    ) -> ConnectionFailure {
        ConnectionFailure {
            bytes: open.bytes,
            announced: open.announced,
            title: open.title.clone(),
            ..self.failure(code, owner, since)
        }
    }

    /// Whether the server closed while the client was in the middle of sending.
    fn closed_in_stream(&self) -> bool {
        let begun = self.side(ConnectionSide::Client).run.since;
        let fin = self.side(ConnectionSide::Server).fin;
        begun.zip(fin).is_some_and(|(begun, fin)| begun.time_ns < fin.time_ns)
    }

    fn any_fin(&self) -> bool {
        self.of.progress.sides.iter().any(|side| side.fin.is_some())
    }

    /// How the connection ended.
    fn ended(&self) -> FailureEnd {
        let sides = [ConnectionSide::Client, ConnectionSide::Server];
        let first = |moment: fn(&SideProgress) -> Option<PacketMoment>| {
            let all =
                sides.into_iter().filter_map(|side| Some((moment(self.side(side))?.time_ns, side)));
            all.min_by_key(|(time_ns, _)| *time_ns).map(|(_, side)| side)
        };
        let both = self.of.progress.sides.iter().all(|side| side.fin.is_some());
        match (first(|side| side.reset), first(|side| side.fin)) {
            (Some(by), _) if !both => FailureEnd::Reset(by),
            (_, Some(by)) => FailureEnd::Closed(by),
            _ => FailureEnd::Open,
        }
    }

    /// When the connection ended, or the capture did.
    fn ended_ns(&self) -> i64 {
        let ends = self.of.progress.sides.iter().flat_map(|side| [side.fin, side.reset]);
        ends.flatten().map(|moment| moment.time_ns).min().unwrap_or(self.end.time_ns)
    }

    fn failure(
        &self,
        code: FailureCode,
        owner: TimeOwner,
        since: PacketMoment,
    ) -> ConnectionFailure {
        let last = self.of.progress.sides.iter().filter_map(|side| side.last);
        ConnectionFailure {
            code,
            owner,
            since,
            to: last.map(|moment| moment.number).max().unwrap_or(since.number),
            waited_ns: (self.ended_ns().max(self.of.last_ns) - since.time_ns).max(0),
            ended: self.ended(),
            bytes: 0,
            announced: None,
            refusal: None,
            notice: None,
            title: None,
        }
    }
}

fn owner(side: ConnectionSide) -> TimeOwner {
    match side {
        ConnectionSide::Client => TimeOwner::Client,
        ConnectionSide::Server => TimeOwner::Server,
    }
}
