//! Messages of a connection: where they begin and end, from HTTP/1 heads or TLS records.
//!
//! Bodies are skipped: between heads only offsets count. Other protocols are divided into turns, which need no
//! decoding; some of them give their requests names (`spoken`).

mod head;
mod http;
mod message;
mod need;
mod spoken;
mod tls;

use std::collections::VecDeque;

use crate::event::ConnectionSide;
use crate::packet::TcpPacket;
use crate::ranges::OffsetRange;
use http::HttpDecoder;
use need::{DecodeStep, EarlyPayload, StreamBuffer};
use tls::TlsDecoder;

pub use http::TunnelStart;
pub use message::{HttpMessage, MessageStart};
pub use spoken::TurnProtocol;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PayloadProtocol {
    #[default]
    Silent,
    Http,
    Tls,
    /// Several requests at once: HTTP/2 without TLS.
    Multiplexed,
    /// A protocol of turns whose requests have names.
    Spoken(TurnProtocol),
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

#[derive(Clone, Debug, Default)]
pub struct PayloadDecoder {
    pub protocol: PayloadProtocol,
    /// Complete and begun messages of each side, in order. Only with HTTP.
    pub messages: [VecDeque<HttpMessage>; 2],
    /// Offset of the first byte of application data by side. Only with TLS.
    pub first_data: [Option<i64>; 2],
    /// Whether needed bytes are not in the capture. Then messages are only the heads at the beginnings of packets.
    holes: bool,
    /// Whether the server's first bytes answer a hello of TLS in another protocol.
    in_clear: bool,
    /// Whether the server's first bytes are a greeting that clients wait for.
    greets: bool,
    speaking: Option<Box<ActiveDecoder>>,
}

#[derive(Clone, Debug)]
struct ActiveDecoder {
    needs: [StreamBuffer; 2],
    decoder: ProtocolDecoder,
}

#[derive(Clone, Debug)]
enum ProtocolDecoder {
    Http(HttpDecoder),
    Tls([TlsDecoder; 2]),
}

impl PayloadDecoder {
    /// Listens to a packet with payload.
    #[inline]
    pub fn add_packet(&mut self, side: ConnectionSide, from: i64, packet: &TcpPacket<'_>) {
        match self.protocol {
            PayloadProtocol::Multiplexed => return,
            _ if self.holes => return self.note_head(side, from, packet.payload),
            PayloadProtocol::Spoken(spoken) => {
                return self.note_request(spoken, side, from, packet.payload);
            }
            PayloadProtocol::Opaque => return self.find_entry(side, from, packet.payload),
            PayloadProtocol::Silent => self.detect_protocol(side, from, packet.payload),
            PayloadProtocol::Http | PayloadProtocol::Tls => {}
        }
        let Some(speaking) = &mut self.speaking else { return };
        let need = &mut speaking.needs[side.index()];
        if self.protocol == PayloadProtocol::Tls && from == 0 && need.offset() == 0 {
            self.in_clear |= side == ConnectionSide::Server && tls::is_other(packet.payload);
        }
        if need.offset() >= from + i64::from(packet.length) {
            return;
        }
        need.add_payload(from, packet.payload, packet.length);
        let was_http = self.protocol == PayloadProtocol::Http;
        if self.decode_available(side).is_none() {
            let is_cut = packet.payload.len() < packet.length as usize;
            self.give_up();
            if was_http && is_cut {
                // Its head was not captured whole: turns, with the names of heads' first lines.
                self.protocol = PayloadProtocol::Http;
                self.holes = true;
                self.note_head(side, from, packet.payload);
            }
        }
    }

    /// Whether heads are missing, so that requests and answers cannot be counted off.
    pub fn has_holes(&self) -> bool {
        self.holes
    }

    /// Whether a side is within a message of chunks.
    pub fn is_in_chunks(&self, side: ConnectionSide) -> bool {
        match self.speaking.as_deref() {
            Some(ActiveDecoder { decoder: ProtocolDecoder::Http(http), .. }) => {
                http.is_in_chunks(side)
            }
            _ => false,
        }
    }

    /// The record of TLS that a side's bytes up to `reached` end within.
    pub fn open_record(&self, side: ConnectionSide, reached: i64) -> Option<OffsetRange> {
        let ProtocolDecoder::Tls(both) = &self.speaking.as_deref()?.decoder else { return None };
        both[side.index()]
            .last_record()
            .filter(|record| record.from < reached && reached < record.to)
    }

    /// Session tickets of TLS 1.3, which a server sends without being asked.
    pub fn tickets(&self) -> Option<OffsetRange> {
        self.tls_side(ConnectionSide::Server)?.tickets()
    }

    /// Whether the client said more than its part of the handshake of TLS 1.3.
    pub fn asks_sealed(&self) -> bool {
        self.is_sealed() && self.tls_side(ConnectionSide::Client).is_some_and(TlsDecoder::asks)
    }

    /// Whether a side ended the handshake of TLS 1.3 with an alert, which is encrypted.
    pub fn has_sealed_alert(&self, side: ConnectionSide) -> bool {
        self.is_sealed() && self.tls_side(side).is_some_and(TlsDecoder::begins_with_alert)
    }

    /// Whether the server answered a hello of TLS in another protocol.
    pub fn answers_in_clear(&self) -> bool {
        self.in_clear
    }

    /// Whether the server spoke first, with a greeting that clients wait for.
    pub fn is_greeted(&self) -> bool {
        self.greets
    }

    /// Where another protocol begins that HTTP opened: offsets of client and server.
    pub fn tunnel(&self) -> Option<TunnelStart> {
        match &self.speaking.as_deref()?.decoder {
            ProtocolDecoder::Http(http) => http.tunnel(),
            ProtocolDecoder::Tls(_) => None,
        }
    }

    fn is_sealed(&self) -> bool {
        self.tls_side(ConnectionSide::Server).is_some_and(TlsDecoder::is_sealed)
    }

    fn tls_side(&self, side: ConnectionSide) -> Option<&TlsDecoder> {
        let ProtocolDecoder::Tls(both) = &self.speaking.as_deref()?.decoder else { return None };
        Some(&both[side.index()])
    }

    /// Bytes of a side were acknowledged up to `acked`. Needed ones that did not come by then never will.
    #[inline]
    pub fn pass_unseen(&mut self, side: ConnectionSide, acked: i64) {
        let Some(speaking) = &mut self.speaking else { return };
        // The end of a stream takes a number too.
        if speaking.needs[side.index()].offset() + 1 >= acked {
            return;
        }
        if let ProtocolDecoder::Tls(both) = &mut speaking.decoder {
            let tls = &mut both[side.index()];
            if tls.first_data().is_some() {
                // What hides are boundaries of records alone.
                tls.lose_records();
                return;
            }
        }
        self.holes = true;
        let early = speaking.needs[side.index()].take_early();
        self.speaking = None;
        for EarlyPayload { from, captured, .. } in early {
            self.note_head(side, from, &captured);
        }
    }

    /// Frees messages whose answers end before this offset.
    pub fn free_before(&mut self, cut: i64) {
        let [requests, answers] = &mut self.messages;
        if self.holes || matches!(self.protocol, PayloadProtocol::Spoken(_)) {
            requests.clear();
            answers.clear();
        }
        while answers.front().is_some_and(|answer| answer.to.is_some_and(|to| to <= cut)) {
            answers.pop_front();
            requests.pop_front();
        }
    }

    /// Notes the head of a message at the beginning of a packet.
    fn note_head(&mut self, side: ConnectionSide, from: i64, payload: &[u8]) {
        if self.protocol == PayloadProtocol::Tls {
            if tls::is_application_data(payload) {
                self.first_data[side.index()].get_or_insert(from);
            }
            return;
        }
        let messages = &mut self.messages[side.index()];
        if let Some(start) = http::message_start(side, payload)
            && messages.len() < MAX_MESSAGES
        {
            messages.push_back(HttpMessage { from, to: None, start });
        }
    }

    /// Notes the name of a request at the beginning of a packet.
    fn note_request(
        &mut self,
        spoken: TurnProtocol,
        side: ConnectionSide,
        from: i64,
        payload: &[u8],
    ) {
        let messages = &mut self.messages[ConnectionSide::Client.index()];
        if side == ConnectionSide::Client
            && messages.len() < MAX_MESSAGES
            && let Some(name) = spoken.request_name(payload)
        {
            messages.push_back(HttpMessage { from, to: None, start: MessageStart::Request(name) });
        }
    }

    /// Finds a request in a connection whose beginning was not understood.
    #[inline]
    fn find_entry(&mut self, side: ConnectionSide, from: i64, payload: &[u8]) {
        if side == ConnectionSide::Client && head::is_request(payload) {
            self.protocol = PayloadProtocol::Http;
            self.holes = true;
            self.note_head(side, from, payload);
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
            ConnectionSide::Server if payload.starts_with(b"HTTP/1.") => {
                // Its request is not in the capture.
                self.protocol = PayloadProtocol::Http;
                self.holes = true;
                self.note_head(side, from, payload);
                return;
            }
            _ if tls::is_record(payload) => {
                self.protocol = PayloadProtocol::Tls;
                ProtocolDecoder::Tls([TlsDecoder::default(), TlsDecoder::default()])
            }
            _ => {
                self.greets = side == ConnectionSide::Server && spoken::is_greeting(payload);
                let spoken = match side {
                    ConnectionSide::Client => TurnProtocol::of_client(payload),
                    ConnectionSide::Server => TurnProtocol::of_server(payload),
                };
                self.protocol = spoken.map_or(PayloadProtocol::Opaque, PayloadProtocol::Spoken);
                if let Some(spoken) = spoken {
                    self.note_request(spoken, side, from, payload);
                }
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
        let server_to = speaking.needs[ConnectionSide::Server.index()].start();
        let need = &mut speaking.needs[side.index()];
        loop {
            let step = match &mut speaking.decoder {
                ProtocolDecoder::Http(http) => http.step(side, need, &mut self.messages),
                ProtocolDecoder::Tls(both) => {
                    let tls = &mut both[side.index()];
                    let step = tls.step(need);
                    let begins = self.first_data[side.index()].is_none();
                    self.first_data[side.index()] = tls.first_data();
                    let [client, server] = both;
                    // Only a server of TLS 1.3 has sent encrypted records by then.
                    if side == ConnectionSide::Client
                        && begins
                        && client.first_data().is_some()
                        && server.first_data().is_some()
                    {
                        server.begin_sealed(server_to);
                    }
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
