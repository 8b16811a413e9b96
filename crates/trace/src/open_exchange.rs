//! The exchange that a connection had open at its end: a request without an answer, or half of a message.
//!
//! By HTTP heads where they could be read completely, and by records of TLS; else by who sent data last.

use crate::conversation::Conversation;
use crate::event::ConnectionSide;
use crate::payload::{MessageStart, PayloadProtocol};
use crate::progress::{DataRun, PacketMoment};

/// What was open when the capture ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenPart {
    /// Nothing: the last answer was complete.
    Idle,
    /// A whole request waits for its answer.
    Request,
    HalfRequest,
    /// An answer whose announced end did not come.
    Answer,
    /// An answer that the connection's end completes.
    AnswerUntilClose,
    /// The server sent last, and the client did not acknowledge everything.
    Unread,
    /// The server sent last in a protocol that is not decoded, or nobody sent anything.
    Unknown,
}

#[derive(Clone, Debug)]
pub struct PendingExchange {
    pub part: OpenPart,
    /// The last packet that brought it forward.
    pub since: PacketMoment,
    /// Whether the protocol shows it.
    pub is_certain: bool,
    /// Bytes of the open message that were sent.
    pub bytes: i64,
    /// Bytes that its head announced.
    pub announced: Option<i64>,
    /// Method and target, for HTTP.
    pub title: Option<Box<str>>,
}

/// A protocol under TLS may send this much that is no request: two window updates of HTTP/2, or the end of TLS.
const CONTROL_BYTES: u64 = 64;

impl PendingExchange {
    pub fn find(conversation: &Conversation) -> PendingExchange {
        let talk = &conversation.talk;
        if talk.protocol == PayloadProtocol::Http && !talk.has_holes() {
            PendingExchange::by_heads(conversation)
        } else {
            PendingExchange::by_direction(conversation)
        }
    }

    fn nothing(part: OpenPart, run: &DataRun) -> PendingExchange {
        let since = run.last;
        PendingExchange { part, since, is_certain: false, bytes: 0, announced: None, title: None }
    }

    fn by_heads(conversation: &Conversation) -> PendingExchange {
        let [requests, answers] = &conversation.talk.messages;
        let [client_to, server_to] = [ConnectionSide::Client, ConnectionSide::Server]
            .map(|side| conversation.reached_offset(side));
        let [asked, told] = [0, 1].map(|at| &conversation.progress.sides[at].run);
        let title = |at: usize| match &requests.get(at)?.start {
            MessageStart::Request(title) => Some(title.clone()),
            MessageStart::Status(_) => None,
        };
        let mut found = PendingExchange::nothing(OpenPart::Idle, told);
        found.is_certain = true;
        if let Some(request) = requests.get(answers.len()) {
            let whole = request.to.is_some_and(|to| to <= client_to);
            found.part = if whole { OpenPart::Request } else { OpenPart::HalfRequest };
            found.since = asked.last;
            found.bytes = client_to - request.from;
            found.announced = request.to.map(|to| to - request.from);
            found.title = title(answers.len());
        } else if let Some(answer) = answers.back() {
            found.part = match answer.to {
                Some(to) if to > server_to => OpenPart::Answer,
                Some(_) => OpenPart::Idle,
                None if conversation.talk.is_in_chunks(ConnectionSide::Server) => OpenPart::Answer,
                None => OpenPart::AnswerUntilClose,
            };
            found.bytes = server_to - answer.from;
            found.announced = answer.to.map(|to| to - answer.from);
            found.title = answers.len().checked_sub(1).and_then(title);
        }
        found
    }

    fn by_direction(conversation: &Conversation) -> PendingExchange {
        let progress = &conversation.progress;
        let [asked, told] = [0, 1].map(|at| &progress.sides[at].run);
        let has_spoken = told.since.is_some();
        let is_tls = conversation.talk.protocol == PayloadProtocol::Tls;
        let server_to = conversation.reached_offset(ConnectionSide::Server);
        // A client that has closed may throw away the end of TLS.
        let unneeded = if is_tls { CONTROL_BYTES.cast_signed() } else { 0 };
        let open_record = |side| {
            let reached = conversation.reached_offset(side);
            let record = conversation.talk.open_record(side, reached)?;
            let run = &progress.sides[side.index()].run;
            let part = match side {
                ConnectionSide::Client => OpenPart::HalfRequest,
                ConnectionSide::Server => OpenPart::Answer,
            };
            let bytes = run.bytes.cast_signed().max(reached - record.from);
            Some(PendingExchange { is_certain: true, bytes, ..PendingExchange::nothing(part, run) })
        };
        // Half of a record is nothing that its receiver can read.
        let [asking, telling] = [ConnectionSide::Client, ConnectionSide::Server].map(open_record);
        if let Some(open) = telling.or(asking) {
            return open;
        }
        // Tickets are no answer.
        let only_tickets =
            conversation.talk.tickets().is_some_and(|tickets| tickets.to == server_to);
        match progress.last_speaker {
            Some(_) if only_tickets && conversation.talk.asks_sealed() => {
                let mut found = PendingExchange::nothing(OpenPart::Request, asked);
                found.bytes = asked.bytes.cast_signed();
                found.is_certain = true;
                found
            }
            None => PendingExchange::nothing(OpenPart::Unknown, told),
            Some(ConnectionSide::Server)
                if conversation.directions[0].acked + unneeded < server_to =>
            {
                PendingExchange::nothing(OpenPart::Unread, told)
            }
            Some(ConnectionSide::Server) => PendingExchange::nothing(OpenPart::Unknown, told),
            // Who sends again and again without an answer does not expect one.
            Some(ConnectionSide::Client) if !has_spoken && asked.pauses > 0 => {
                PendingExchange::nothing(OpenPart::Idle, asked)
            }
            Some(ConnectionSide::Client)
                if has_spoken
                    && (is_tls || conversation.talk.protocol == PayloadProtocol::Multiplexed)
                    && asked.bytes <= CONTROL_BYTES =>
            {
                PendingExchange::nothing(OpenPart::Idle, asked)
            }
            Some(ConnectionSide::Client) => {
                let mut found = PendingExchange::nothing(OpenPart::Request, asked);
                found.bytes = asked.bytes.cast_signed();
                let is_read = is_tls || conversation.talk.protocol == PayloadProtocol::Http;
                found.is_certain = is_read && !has_spoken;
                found
            }
        }
    }
}
