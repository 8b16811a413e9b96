//! What a connection says: where messages begin and end, told by HTTP/1 heads or TLS records where these are spoken.
//!
//! Bodies are not looked at: between heads, only offsets count. What is not understood is left to turns of talking,
//! which need no words.

mod head;
mod http;
mod message;
mod need;
mod tls;

use std::collections::VecDeque;

use crate::event::Side;
use crate::packet::Packet;
use http::Http;
use need::{Need, Step};
use tls::Tls;

pub use message::{Message, Said};

/// What is spoken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// Nothing was said yet.
    #[default]
    Silent,
    /// HTTP/1.0 or 1.1.
    Http,
    /// TLS records.
    Tls,
    /// Several requests at once: HTTP/2 without TLS.
    Multiplexed,
    /// Something else, or mid-stream.
    Opaque,
}

/// Whose words begin like this, where words alone tell: a request's or an answer's head, either hello of TLS
/// (RFC 8446, 4).
pub fn speaker(payload: &[u8]) -> Option<Side> {
    let handshake = payload.get(5).filter(|_| tls::is_record(payload));
    match handshake {
        Some(1) => Some(Side::Client),
        Some(2) => Some(Side::Server),
        _ if head::is_request(payload) => Some(Side::Client),
        _ if payload.starts_with(b"HTTP/1.") => Some(Side::Server),
        _ => None,
    }
}

/// Messages that are remembered before judging takes them.
const MAX_MESSAGES: usize = 65_536;

/// A connection's words.
#[derive(Debug, Default)]
pub struct Talk {
    /// What is spoken.
    pub protocol: Protocol,
    /// Complete and begun messages of each side, in order. Only with HTTP.
    pub messages: [VecDeque<Message>; 2],
    /// Offset of the first byte of application data by side. Only with TLS.
    pub first_data: [Option<i64>; 2],
    speaking: Option<Box<Speaking>>,
}

#[derive(Debug)]
struct Speaking {
    needs: [Need; 2],
    words: Words,
}

#[derive(Debug)]
enum Words {
    Http(Http),
    Tls([Tls; 2]),
}

impl Talk {
    /// Listens to a packet with payload.
    #[inline]
    pub fn take(&mut self, side: Side, from: i64, packet: &Packet<'_>) {
        match self.protocol {
            Protocol::Opaque | Protocol::Multiplexed => return,
            Protocol::Silent => self.recognize(side, from, packet.payload),
            Protocol::Http | Protocol::Tls => {}
        }
        let Some(speaking) = &mut self.speaking else { return };
        let need = &mut speaking.needs[side.index()];
        if need.offset() >= from + i64::from(packet.length) {
            return;
        }
        need.offer(from, packet.payload, packet.length);
        if self.listen(side).is_none() {
            self.lose();
        }
    }

    /// Gives up understanding words.
    fn lose(&mut self) {
        self.protocol = Protocol::Opaque;
        self.speaking = None;
        self.first_data = [None; 2];
    }

    /// What the first payload of a connection is.
    fn recognize(&mut self, side: Side, from: i64, payload: &[u8]) {
        let at = |offset| Need::at(offset);
        let words = match side {
            Side::Client if payload.starts_with(b"PRI * HTTP/2.0") => {
                self.protocol = Protocol::Multiplexed;
                return;
            }
            Side::Client if head::is_request(payload) => {
                self.protocol = Protocol::Http;
                Words::Http(Http::default())
            }
            _ if tls::is_record(payload) => {
                self.protocol = Protocol::Tls;
                Words::Tls([Tls::default(), Tls::default()])
            }
            _ => {
                self.protocol = Protocol::Opaque;
                return;
            }
        };
        let mut needs = [at(0), at(0)];
        needs[side.index()] = at(from);
        self.speaking = Some(Box::new(Speaking { needs, words }));
    }

    /// Works through what has come; `None`: it cannot be understood.
    fn listen(&mut self, side: Side) -> Option<()> {
        let speaking = self.speaking.as_mut()?;
        let need = &mut speaking.needs[side.index()];
        loop {
            let step = match &mut speaking.words {
                Words::Http(http) => http.step(side, need, &mut self.messages),
                Words::Tls(both) => {
                    let tls = &mut both[side.index()];
                    let step = tls.step(need);
                    self.first_data[side.index()] = tls.first_data();
                    step
                }
            };
            match step {
                Step::More => {}
                Step::Wait => break,
                Step::Lost => return None,
            }
        }
        let full = self.messages.iter().any(|messages| messages.len() > MAX_MESSAGES);
        (!full).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whose_words_these_are() {
        for (payload, whose) in [
            (&b"GET / HTTP/1.1\r\n"[..], Some(Side::Client)),
            (b"HTTP/1.1 200 OK\r\n", Some(Side::Server)),
            (b"\x16\x03\x01\x02\x00\x01\x00", Some(Side::Client)),
            (b"\x16\x03\x03\x00\x7a\x02\x00", Some(Side::Server)),
            (b"\x16\x03\x03\x00\x7a\x0b", None),
            (b"\x16\x03\x03\x00\x7a", None),
            (b"220 mail.example\r\n", None),
            (b"", None),
        ] {
            assert_eq!(speaker(payload), whose, "{}", payload.escape_ascii());
        }
    }
}
