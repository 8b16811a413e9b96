//! Which bytes of both directions belong together: requests with their responses.
//!
//! By HTTP heads where they could be read, else by turns: a turn begins with the client's first bytes after the server
//! has sent. When requests overlap there are no turns, and that is reported.

use crate::conversation::Conversation;
use crate::event::ConnectionSide;
use crate::payload::{MessageStart, PayloadProtocol};
use crate::ranges::OffsetRange;

use super::transaction::ExchangeKind;

#[derive(Clone, Debug)]
pub struct ConversationTurn {
    pub kind: ExchangeKind,
    pub request: Option<OffsetRange>,
    pub response: Option<OffsetRange>,
    pub title: Option<Box<str>>,
    pub status: Option<u16>,
}

#[derive(Debug, Default)]
pub struct ConversationTurns {
    pub turns: Vec<ConversationTurn>,
    pub multiplexed: bool,
}

/// Bytes that a server may send unrequested while a client sends: session tickets of TLS 1.3.
/// OpenSSL sends two by default (SSL_CTX_set_num_tickets(3)).
const UNASKED: i64 = 1_024;
/// Overlaps before a connection is called multiplexed.
/// One may be an early answer, such as an error.
const OVERLAPS: usize = 3;

pub fn find_turns(conversation: &Conversation) -> ConversationTurns {
    match conversation.talk.protocol {
        PayloadProtocol::Multiplexed => ConversationTurns { turns: Vec::new(), multiplexed: true },
        PayloadProtocol::Spoken(_) => named_turns(conversation),
        PayloadProtocol::Http if conversation.talk.has_holes() => named_turns(conversation),
        PayloadProtocol::Http => turns_by_heads(conversation),
        PayloadProtocol::Silent | PayloadProtocol::Tls | PayloadProtocol::Opaque => {
            turns_by_direction(conversation)
        }
    }
}

/// Turns, with the names of the heads and requests that were captured.
fn named_turns(conversation: &Conversation) -> ConversationTurns {
    let mut found = turns_by_direction(conversation);
    name_turns(&mut found.turns, conversation);
    found
}

fn turns_by_heads(conversation: &Conversation) -> ConversationTurns {
    let [requests, answers] = &conversation.talk.messages;
    let high = |side: ConnectionSide| conversation.directions[side.index()].next();
    let turns = requests.iter().enumerate().map(|(at, request)| {
        let title = match &request.start {
            MessageStart::Request(title) => Some(title.clone()),
            MessageStart::Status(_) => None,
        };
        let answer = answers.get(at);
        let status = answer.and_then(|answer| match answer.start {
            MessageStart::Status(status) => Some(status),
            MessageStart::Request(_) => None,
        });
        let range =
            |from, to: Option<i64>, side| OffsetRange { from, to: to.unwrap_or(high(side)) };
        ConversationTurn {
            kind: ExchangeKind::Exchange,
            request: Some(range(request.from, request.to, ConnectionSide::Client)),
            response: answer.map(|answer| range(answer.from, answer.to, ConnectionSide::Server)),
            title,
            status,
        }
    });
    ConversationTurns { turns: turns.collect(), multiplexed: false }
}

/// Names turns by the heads that were captured.
fn name_turns(turns: &mut [ConversationTurn], conversation: &Conversation) {
    let [requests, answers] = &conversation.talk.messages;
    let mut requests = requests.iter().peekable();
    let mut answers = answers.iter().peekable();
    for turn in turns {
        let request_to = turn.request.map_or(i64::MIN, |range| range.to);
        while let Some(message) = requests.next_if(|message| message.from < request_to) {
            if let MessageStart::Request(title) = &message.start {
                turn.title.get_or_insert_with(|| title.clone());
            }
        }
        let response_to = turn.response.map_or(i64::MIN, |range| range.to);
        while let Some(message) = answers.next_if(|message| message.from < response_to) {
            if let MessageStart::Status(status) = message.start {
                turn.status = Some(status);
            }
        }
    }
}

/// A turn in progress.
#[derive(Clone, Copy, Default)]
struct OpenTurn {
    request: Option<OffsetRange>,
    response: Option<OffsetRange>,
}

impl OpenTurn {
    fn close(self, first_data: [Option<i64>; 2], is_tls: bool) -> ConversationTurn {
        let before_data = |range: Option<OffsetRange>, side: ConnectionSide| {
            range.is_none_or(|range| first_data[side.index()].is_none_or(|first| range.to <= first))
        };
        let shaking = is_tls && before_data(self.request, ConnectionSide::Client);
        ConversationTurn {
            kind: if shaking { ExchangeKind::TlsHandshake } else { ExchangeKind::Exchange },
            request: self.request,
            response: self.response,
            title: None,
            status: None,
        }
    }
}

fn turns_by_direction(conversation: &Conversation) -> ConversationTurns {
    let is_tls = conversation.talk.protocol == PayloadProtocol::Tls;
    let first_data = conversation.talk.first_data;
    let mut found = ConversationTurns::default();
    let mut open = OpenTurn::default();
    let mut begun = false;
    let mut said_high = i64::MIN;
    let mut overlaps = 0;
    for event in conversation.events.iter().filter(|event| event.has_new_data()) {
        let range = OffsetRange { from: event.seq, to: event.end() };
        if event.side() == ConnectionSide::Server {
            said_high = said_high.max(event.end());
            extend_range(&mut open.response, range);
        } else if open.response.is_none() {
            extend_range(&mut open.request, range);
        } else if said_high != i64::MIN && event.ack + UNASKED < said_high {
            // The client sent these bytes before it can have received the response.
            overlaps += 1;
        } else {
            found.turns.push(open.close(first_data, is_tls));
            open = OpenTurn { request: Some(range), response: None };
        }
        begun = true;
    }
    if begun {
        found.turns.push(open.close(first_data, is_tls));
    }
    if overlaps >= OVERLAPS && overlaps * 4 >= found.turns.len() + overlaps {
        return ConversationTurns { turns: Vec::new(), multiplexed: true };
    }
    found
}

fn extend_range(range: &mut Option<OffsetRange>, by: OffsetRange) {
    match range {
        Some(range) => {
            range.from = range.from.min(by.from);
            range.to = range.to.max(by.to);
        }
        None => *range = Some(by),
    }
}
