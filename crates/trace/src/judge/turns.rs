//! Which bytes of both directions belong together: requests with their answers.
//!
//! By HTTP's heads where they could be read, else by turns of talking: a turn begins with what the client says after
//! the server has spoken. When requests overlap there are no turns, and that is said.

use crate::conversation::Conversation;
use crate::event::Side;
use crate::talk::{Protocol, Said};

use super::transaction::Kind;

/// Bytes of a direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// Offset of the first.
    pub from: i64,
    /// Offset behind the last.
    pub to: i64,
}

/// A turn.
#[derive(Clone, Debug)]
pub struct Turn {
    /// What kind.
    pub kind: Kind,
    /// What the client said.
    pub request: Option<Range>,
    /// What the server answered.
    pub response: Option<Range>,
    /// Method and target.
    pub title: Option<Box<str>>,
    /// The answer's status.
    pub status: Option<u16>,
}

/// What was found.
#[derive(Debug, Default)]
pub struct Found {
    /// Turns in order.
    pub turns: Vec<Turn>,
    /// Whether requests overlap.
    pub multiplexed: bool,
}

/// What a server may have under way when a client asks on: tickets of TLS 1.3 are sent when nobody asked, bytes.
const UNASKED: i64 = 1_024;
/// Overlaps before a connection is called multiplexed.
const OVERLAPS: usize = 3;

/// Finds them.
pub fn find(conversation: &Conversation) -> Found {
    match conversation.talk.protocol {
        Protocol::Multiplexed => Found { turns: Vec::new(), multiplexed: true },
        Protocol::Http => by_heads(conversation),
        Protocol::Silent | Protocol::Tls | Protocol::Opaque => by_turns(conversation),
    }
}

fn by_heads(conversation: &Conversation) -> Found {
    let [requests, answers] = &conversation.talk.messages;
    let high = |side: Side| conversation.directions[side.index()].next();
    let turns = requests.iter().enumerate().map(|(at, request)| {
        let title = match &request.said {
            Said::Request(title) => Some(title.clone()),
            Said::Status(_) => None,
        };
        let answer = answers.get(at);
        let status = answer.and_then(|answer| match answer.said {
            Said::Status(status) => Some(status),
            Said::Request(_) => None,
        });
        let range = |from, to: Option<i64>, side| Range { from, to: to.unwrap_or(high(side)) };
        Turn {
            kind: Kind::Exchange,
            request: Some(range(request.from, request.to, Side::Client)),
            response: answer.map(|answer| range(answer.from, answer.to, Side::Server)),
            title,
            status,
        }
    });
    Found { turns: turns.collect(), multiplexed: false }
}

/// A turn that is under way.
#[derive(Clone, Copy, Default)]
struct Open {
    asked: Option<Range>,
    said: Option<Range>,
}

impl Open {
    fn close(self, first_data: [Option<i64>; 2], is_tls: bool) -> Turn {
        let before_data = |range: Option<Range>, side: Side| {
            range.is_none_or(|range| first_data[side.index()].is_none_or(|first| range.to <= first))
        };
        let shaking = is_tls && before_data(self.asked, Side::Client);
        Turn {
            kind: if shaking { Kind::TlsHandshake } else { Kind::Exchange },
            request: self.asked,
            response: self.said,
            title: None,
            status: None,
        }
    }
}

fn by_turns(conversation: &Conversation) -> Found {
    let is_tls = conversation.talk.protocol == Protocol::Tls;
    let first_data = conversation.talk.first_data;
    let mut found = Found::default();
    let (mut open, mut begun) = (Open::default(), false);
    let (mut said_high, mut overlaps) = (i64::MIN, 0);
    for event in conversation.events.iter().filter(|event| event.brings()) {
        let range = Range { from: event.seq, to: event.end() };
        if event.side() == Side::Server {
            said_high = said_high.max(event.end());
            grow(&mut open.said, range);
        } else if open.said.is_none() {
            grow(&mut open.asked, range);
        } else if said_high != i64::MIN && event.ack + UNASKED < said_high {
            // Asked before it can have seen the answer.
            overlaps += 1;
        } else {
            found.turns.push(open.close(first_data, is_tls));
            open = Open { asked: Some(range), said: None };
        }
        begun = true;
    }
    if begun {
        found.turns.push(open.close(first_data, is_tls));
    }
    if overlaps >= OVERLAPS && overlaps * 4 >= found.turns.len() + overlaps {
        return Found { turns: Vec::new(), multiplexed: true };
    }
    found
}

fn grow(range: &mut Option<Range>, by: Range) {
    match range {
        Some(range) => {
            range.from = range.from.min(by.from);
            range.to = range.to.max(by.to);
        }
        None => *range = Some(by),
    }
}
