//! Which bytes of both directions belong together: requests with their responses.
//!
//! By HTTP heads where they could be read, else by turns: a turn begins with the client's first bytes after the server
//! has sent. When requests overlap there are no turns, and that is reported.

use crate::conversation::Conversation;
use crate::event::{ConnectionSide, PacketEvent};
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
        PayloadProtocol::Spoken(_) if is_subscribed(conversation) => {
            let mut turns = pushed_turns(conversation, [i64::MIN; 2]);
            name_turns(&mut turns, conversation);
            ConversationTurns { turns, multiplexed: false }
        }
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
    let mut turns: Vec<ConversationTurn> = turns.collect();
    if let Some(tunnel) = conversation.talk.tunnel() {
        let spoken = turns_from(conversation, tunnel.from);
        let pushes = is_pushed(conversation, tunnel.from);
        turns.extend(if pushes { pushed_turns(conversation, tunnel.from) } else { spoken.turns });
    }
    ConversationTurns { turns, multiplexed: false }
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
    turns_from(conversation, [i64::MIN; 2])
}

/// New data from these offsets of client and server on, without session tickets.
fn data_events(
    conversation: &Conversation,
    from: [i64; 2],
) -> impl Iterator<Item = &PacketEvent> + '_ {
    let tickets = conversation.talk.tickets().unwrap_or(OffsetRange { from: 0, to: 0 });
    let is_ticket = move |event: &PacketEvent| {
        event.side() == ConnectionSide::Server
            && tickets.from <= event.seq
            && event.end() <= tickets.to
    };
    let last = last_packets(conversation);
    let counts = move |event: &&PacketEvent| {
        event.has_new_data()
            && event.end() > from[event.side().index()]
            && !is_ticket(event)
            && !is_farewell(event, last)
    };
    conversation.events.iter().filter(counts)
}

/// The packet with which a side of TLS only takes leave: short, the last one of all data, or of the server's before or
/// behind a close. It belongs to no message, however long after it.
fn is_farewell(event: &PacketEvent, last: [Option<u32>; 2]) -> bool {
    event.length <= FAREWELL && last[event.side().index()] == Some(event.number)
}

/// Numbers of the packets of client and server that may only take leave.
fn last_packets(conversation: &Conversation) -> [Option<u32>; 2] {
    let closed = conversation.progress.sides.iter().any(|side| side.fin.is_some());
    if conversation.talk.protocol != PayloadProtocol::Tls || !closed {
        return [None; 2];
    }
    let data = || conversation.events.iter().rev().filter(|event| event.has_new_data());
    let server = data().find(|event| event.side() == ConnectionSide::Server);
    // What the server says behind it may be an answer.
    let client = data().next().filter(|event| event.side() == ConnectionSide::Client);
    [client, server].map(|event| event.map(|event| event.number))
}

/// Bytes of an encrypted closing notice with TLS 1.2 and GCM; with TLS 1.3 less (RFC 5288, 3; RFC 8446, 6.1).
const FAREWELL: u32 = 31;

/// Whether the client asked for messages as they come.
fn is_subscribed(conversation: &Conversation) -> bool {
    conversation.talk.messages[0].iter().any(|message| match &message.start {
        MessageStart::Request(name) => SUBSCRIPTIONS.contains(&&**name),
        MessageStart::Status(_) => false,
    })
}

/// Requests after which the server speaks on its own account.
const SUBSCRIPTIONS: [&str; 4] =
    ["Redis SUBSCRIBE", "Redis PSUBSCRIBE", "Redis SSUBSCRIBE", "Redis MONITOR"];

/// Whether the server says something on its own account: first of all, or after a silence, when it spoke last.
fn is_pushed(conversation: &Conversation, from: [i64; 2]) -> bool {
    let mut before: Option<&PacketEvent> = None;
    data_events(conversation, from).any(|event| {
        let last = before.replace(event);
        let is_server = |one: &PacketEvent| one.side() == ConnectionSide::Server;
        let goes_on =
            |last: &PacketEvent| !is_server(last) || event.time_ns - last.time_ns <= SILENCE_NS;
        is_server(event) && !last.is_some_and(goes_on)
    })
}

/// What each side says by itself: nobody waits for it.
fn pushed_turns(conversation: &Conversation, from: [i64; 2]) -> Vec<ConversationTurn> {
    let mut turns: Vec<ConversationTurn> = Vec::new();
    let mut before: Option<&PacketEvent> = None;
    for event in data_events(conversation, from) {
        let last = before.replace(event);
        let goes_on = last.is_some_and(|last| {
            last.side() == event.side() && event.time_ns - last.time_ns <= SILENCE_NS
        });
        if !goes_on {
            turns.push(OpenTurn::default().close([None; 2], false));
        }
        let Some(turn) = turns.last_mut() else { continue };
        let of = match event.side() {
            ConnectionSide::Client => &mut turn.request,
            ConnectionSide::Server => &mut turn.response,
        };
        extend_range(of, OffsetRange { from: event.seq, to: event.end() });
    }
    turns
}

/// A silence after which a message of a side that pushes is another one, nanoseconds.
/// The shortest timeout of a retransmission: within one a loss may be repaired.
const SILENCE_NS: i64 = 200_000_000;

fn turns_from(conversation: &Conversation, from: [i64; 2]) -> ConversationTurns {
    let is_tls = conversation.talk.protocol == PayloadProtocol::Tls;
    let first_data = conversation.talk.first_data;
    let mut found = ConversationTurns::default();
    let mut open = OpenTurn::default();
    let mut begun = false;
    let mut said_high = i64::MIN;
    let mut overlaps = 0;
    for event in data_events(conversation, from) {
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
