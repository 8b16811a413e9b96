//! Messages of a connection: where they begin and end, from HTTP/1 heads or TLS records.
//!
//! Bodies are skipped: between heads only offsets count. Other protocols are divided into turns, which need no
//! decoding.

mod head;
mod http;
mod message;
mod need;
mod tls;

use std::collections::VecDeque;

use crate::event::ConnectionSide;
use crate::packet::TcpPacket;
use http::HttpDecoder;
use need::{DecodeStep, StreamBuffer};
use tls::TlsDecoder;

pub use message::{HttpMessage, MessageStart};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PayloadProtocol {
    #[default]
    Silent,
    Http,
    Tls,
    /// Several requests at once: HTTP/2 without TLS.
    Multiplexed,
    /// Something else, or mid-stream.
    Opaque,
}

/// The side that sends a payload with this beginning, where the beginning shows it: an HTTP head, or a TLS hello (RFC
/// 8446, 4).
pub fn detect_speaker(payload: &[u8]) -> Option<ConnectionSide> {
    let handshake = payload.get(5).filter(|_| tls::is_record(payload));
    match handshake {
        Some(1) => Some(ConnectionSide::Client),
        Some(2) => Some(ConnectionSide::Server),
        _ if head::is_request(payload) => Some(ConnectionSide::Client),
        _ if payload.starts_with(b"HTTP/1.") => Some(ConnectionSide::Server),
        _ => None,
    }
}

/// Messages that are stored until they are analysed: bounds the memory.
const MAX_MESSAGES: usize = 65_536;

#[derive(Debug, Default)]
pub struct PayloadDecoder {
    pub protocol: PayloadProtocol,
    /// Complete and begun messages of each side, in order. Only with HTTP.
    pub messages: [VecDeque<HttpMessage>; 2],
    /// Offset of the first byte of application data by side. Only with TLS.
    pub first_data: [Option<i64>; 2],
    speaking: Option<Box<ActiveDecoder>>,
}

#[derive(Debug)]
struct ActiveDecoder {
    needs: [StreamBuffer; 2],
    decoder: ProtocolDecoder,
}

#[derive(Debug)]
enum ProtocolDecoder {
    Http(HttpDecoder),
    Tls([TlsDecoder; 2]),
}

impl PayloadDecoder {
    /// Listens to a packet with payload.
    #[inline]
    pub fn add_packet(&mut self, side: ConnectionSide, from: i64, packet: &TcpPacket<'_>) {
        match self.protocol {
            PayloadProtocol::Opaque | PayloadProtocol::Multiplexed => return,
            PayloadProtocol::Silent => self.detect_protocol(side, from, packet.payload),
            PayloadProtocol::Http | PayloadProtocol::Tls => {}
        }
        let Some(speaking) = &mut self.speaking else { return };
        let need = &mut speaking.needs[side.index()];
        if need.offset() >= from + i64::from(packet.length) {
            return;
        }
        need.add_payload(from, packet.payload, packet.length);
        if self.decode_available(side).is_none() {
            self.give_up();
        }
    }

    fn give_up(&mut self) {
        self.protocol = PayloadProtocol::Opaque;
        self.speaking = None;
        self.first_data = [None; 2];
    }

    /// Detects the protocol from the first payload of a connection.
    fn detect_protocol(&mut self, side: ConnectionSide, from: i64, payload: &[u8]) {
        let at = |offset| StreamBuffer::starting_at(offset);
        let words = match side {
            ConnectionSide::Client if payload.starts_with(b"PRI * HTTP/2.0") => {
                self.protocol = PayloadProtocol::Multiplexed;
                return;
            }
            ConnectionSide::Client if head::is_request(payload) => {
                self.protocol = PayloadProtocol::Http;
                ProtocolDecoder::Http(HttpDecoder::default())
            }
            _ if tls::is_record(payload) => {
                self.protocol = PayloadProtocol::Tls;
                ProtocolDecoder::Tls([TlsDecoder::default(), TlsDecoder::default()])
            }
            _ => {
                self.protocol = PayloadProtocol::Opaque;
                return;
            }
        };
        let mut needs = [at(0), at(0)];
        needs[side.index()] = at(from);
        self.speaking = Some(Box::new(ActiveDecoder { needs, decoder: words }));
    }

    /// Decodes the available bytes. `None` if the bytes are not of the protocol.
    fn decode_available(&mut self, side: ConnectionSide) -> Option<()> {
        let speaking = self.speaking.as_mut()?;
        let need = &mut speaking.needs[side.index()];
        loop {
            let step = match &mut speaking.decoder {
                ProtocolDecoder::Http(http) => http.step(side, need, &mut self.messages),
                ProtocolDecoder::Tls(both) => {
                    let tls = &mut both[side.index()];
                    let step = tls.step(need);
                    self.first_data[side.index()] = tls.first_data();
                    step
                }
            };
            match step {
                DecodeStep::Advanced => {}
                DecodeStep::Wait => break,
                DecodeStep::Unreadable => return None,
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
            (&b"GET / HTTP/1.1\r\n"[..], Some(ConnectionSide::Client)),
            (b"HTTP/1.1 200 OK\r\n", Some(ConnectionSide::Server)),
            (b"\x16\x03\x01\x02\x00\x01\x00", Some(ConnectionSide::Client)),
            (b"\x16\x03\x03\x00\x7a\x02\x00", Some(ConnectionSide::Server)),
            (b"\x16\x03\x03\x00\x7a\x0b", None),
            (b"\x16\x03\x03\x00\x7a", None),
            (b"220 mail.example\r\n", None),
            (b"", None),
        ] {
            assert_eq!(detect_speaker(payload), whose, "{}", payload.escape_ascii());
        }
    }
}
