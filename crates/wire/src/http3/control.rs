//! A client's unidirectional streams (RFC 9114 §6.2): the control stream and the QPACK streams.
//!
//! These streams have no effect beyond their protocol checks: the balancer supports neither server push nor a dynamic
//! table.

use super::error::{Http3Error, code};
use super::frames::{FrameHeader, FrameHeaderReader, is_http2_frame_type, kind};
use super::varint;

/// Longest control frame that is buffered, in bytes. 64 settings of two numbers of eight bytes fit; the bound stops a
/// frame that claims gigabytes.
const MAX_BUFFERED: u64 = 1024;

/// The instruction that sets the capacity of the dynamic table to 0 (RFC 9204 §4.3.1).
const NO_CAPACITY: u8 = 0x20;

/// The first two bits of the Stream Cancellation instruction (RFC 9204 §4.4.2); the stream id starts in the other six.
const CANCELLATION: u8 = 0b01;

/// A unidirectional stream, from its first byte.
#[derive(Debug)]
pub enum UniStream {
    /// The stream type is not known yet; its number may arrive in pieces.
    Unidentified(Vec<u8>),
    Control(ControlStream),
    /// Instructions for a dynamic table, which is not supported.
    Encoder,
    /// The instructions of the client's QPACK decoder.
    Decoder(DecoderStream),
    /// A stream type without meaning here; the rest of the stream is ignored.
    Unknown,
}

impl UniStream {
    /// A stream that was just opened.
    pub fn new() -> UniStream {
        UniStream::Unidentified(Vec::new())
    }

    /// Processes the next bytes of the stream.
    ///
    /// # Errors
    /// The violated rule.
    pub fn feed(&mut self, mut bytes: &[u8]) -> Result<(), Http3Error> {
        while let UniStream::Unidentified(held) = self {
            let Some((&first, rest)) = bytes.split_first() else { return Ok(()) };
            bytes = rest;
            held.push(first);
            let Some(kind) = varint::read(held) else { continue };
            *self = match kind.value {
                0 => UniStream::Control(ControlStream::default()),
                // Only servers open push streams (RFC 9114 §6.2.2).
                1 => return Err(Http3Error::Connection(code::STREAM_CREATION_ERROR)),
                2 => UniStream::Encoder,
                3 => UniStream::Decoder(DecoderStream::default()),
                _ => UniStream::Unknown,
            };
        }
        match self {
            UniStream::Control(control) => control.feed(bytes),
            UniStream::Decoder(decoder) => decoder.feed(bytes),
            UniStream::Encoder if bytes.iter().any(|byte| *byte != NO_CAPACITY) => {
                Err(Http3Error::Connection(code::QPACK_ENCODER_STREAM_ERROR))
            }
            _ => Ok(()),
        }
    }

    /// An index for the stream types that a client may open once; `None` for all others.
    pub fn unique_kind(&self) -> Option<usize> {
        match self {
            UniStream::Control(_) => Some(0),
            UniStream::Encoder => Some(1),
            UniStream::Decoder(_) => Some(2),
            UniStream::Unidentified(_) | UniStream::Unknown => None,
        }
    }
}

impl Default for UniStream {
    fn default() -> UniStream {
        UniStream::new()
    }
}

/// The instructions of a decoder stream (RFC 9204 §4.4). The balancer's heads use no dynamic table, so the only valid
/// instruction is the cancellation of a stream.
#[derive(Debug, Default)]
pub struct DecoderStream {
    /// Whether the number of an instruction continues in the next byte.
    continues: bool,
}

impl DecoderStream {
    fn feed(&mut self, bytes: &[u8]) -> Result<(), Http3Error> {
        for byte in bytes {
            if self.continues {
                self.continues = byte & 0x80 != 0;
            } else if byte >> 6 == CANCELLATION {
                self.continues = byte & 0x3f == 0x3f;
            } else {
                return Err(Http3Error::Connection(code::QPACK_DECODER_STREAM_ERROR));
            }
        }
        Ok(())
    }
}

/// The frames of a control stream (RFC 9114 §7.2.4).
#[derive(Debug, Default)]
pub struct ControlStream {
    begin: FrameHeaderReader,
    frame_type: Option<u64>,
    payload_left: u64,
    payload: Vec<u8>,
    has_settings: bool,
    /// The latest numbers of GOAWAY, which may only decrease, and of MAX_PUSH_ID, which may only increase.
    last_goaway_id: Option<u64>,
    max_push_id: Option<u64>,
}

impl ControlStream {
    fn feed(&mut self, mut bytes: &[u8]) -> Result<(), Http3Error> {
        loop {
            if self.frame_type.is_none() {
                let begun = self.begin.feed(bytes);
                bytes = &bytes[begun.used..];
                let Some(FrameHeader { kind, length }) = begun.header else { return Ok(()) };
                self.begin_frame(kind, length)?;
            }
            let Some(kind) = self.frame_type else { continue };
            let n = usize::try_from(self.payload_left).unwrap_or(usize::MAX).min(bytes.len());
            if is_ours(kind) {
                self.payload.extend_from_slice(&bytes[..n]);
            }
            bytes = &bytes[n..];
            self.payload_left -= n as u64;
            if self.payload_left > 0 {
                return Ok(());
            }
            self.frame_type = None;
            self.finish_frame(kind)?;
            self.payload.clear();
        }
    }

    fn begin_frame(&mut self, kind: u64, length: u64) -> Result<(), Http3Error> {
        if !self.has_settings && kind != kind::SETTINGS {
            return Err(Http3Error::Connection(code::MISSING_SETTINGS));
        }
        let misplaced = matches!(kind, kind::DATA | kind::HEADERS | kind::PUSH_PROMISE)
            || (kind == kind::SETTINGS && self.has_settings)
            || is_http2_frame_type(kind);
        if misplaced {
            return Err(Http3Error::Connection(code::FRAME_UNEXPECTED));
        }
        if is_ours(kind) && length > MAX_BUFFERED {
            return Err(Http3Error::Connection(code::EXCESSIVE_LOAD));
        }
        self.frame_type = Some(kind);
        self.payload_left = length;
        Ok(())
    }

    fn finish_frame(&mut self, kind: u64) -> Result<(), Http3Error> {
        match kind {
            kind::SETTINGS => {
                self.has_settings = true;
                check_settings(&self.payload)
            }
            kind::GOAWAY => {
                let id = self.id()?;
                let raised = self.last_goaway_id.replace(id).is_some_and(|before| id > before);
                if raised { Err(Http3Error::Connection(code::ID_ERROR)) } else { Ok(()) }
            }
            kind::MAX_PUSH_ID => {
                let id = self.id()?;
                let lowered = self.max_push_id.replace(id).is_some_and(|before| id < before);
                if lowered { Err(Http3Error::Connection(code::ID_ERROR)) } else { Ok(()) }
            }
            // There was no push that a client could cancel (RFC 9114 §7.2.3).
            kind::CANCEL_PUSH => Err(Http3Error::Connection(code::ID_ERROR)),
            _ => Ok(()),
        }
    }

    /// The number that is the whole payload of a frame.
    fn id(&self) -> Result<u64, Http3Error> {
        match varint::read(&self.payload) {
            Some(id) if id.length == self.payload.len() => Ok(id.value),
            _ => Err(Http3Error::Connection(code::FRAME_ERROR)),
        }
    }
}

fn is_ours(kind: u64) -> bool {
    matches!(kind, kind::SETTINGS | kind::GOAWAY | kind::MAX_PUSH_ID | kind::CANCEL_PUSH)
}

/// Checks a client's settings (RFC 9114 §7.2.4.1); none of them changes what the balancer sends.
fn check_settings(mut bytes: &[u8]) -> Result<(), Http3Error> {
    let mut seen = Vec::new();
    while !bytes.is_empty() {
        let cut = Http3Error::Connection(code::FRAME_ERROR);
        let name = varint::read(bytes).ok_or(cut)?;
        let value = varint::read(&bytes[name.length..]).ok_or(cut)?;
        bytes = &bytes[name.length + value.length..];
        let name = name.value;
        // The reserved settings of HTTP/2, and a repeated setting.
        if matches!(name, 2..=5) || seen.contains(&name) {
            return Err(Http3Error::Connection(code::SETTINGS_ERROR));
        }
        seen.push(name);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feed_stream(bytes: &[u8]) -> Result<Option<usize>, u64> {
        let whole = |size: usize| {
            let mut uni = UniStream::new();
            for piece in bytes.chunks(size) {
                match uni.feed(piece) {
                    Ok(()) => {}
                    Err(Http3Error::Connection(code)) => return Err(code),
                    Err(Http3Error::TooLarge) => unreachable!("heads are not here"),
                }
            }
            Ok(uni.unique_kind())
        };
        let at_once = whole(bytes.len().max(1));
        for size in 1..bytes.len() {
            assert_eq!(whole(size), at_once, "{bytes:?} in pieces of {size}");
        }
        at_once
    }

    #[test]
    fn streams_are_distinguished_and_held_to_their_rules() {
        type Row = (&'static [u8], Result<Option<usize>, u64>);
        let rows: [Row; 29] = [
            (&[], Ok(None)),
            (&[0x40], Ok(None)),
            (&[0, 4, 0], Ok(Some(0))),
            (&[0, 4, 2, 6, 5, 13, 1, 9, 7, 1, 0, 0x21, 3, 1, 2, 3], Ok(Some(0))),
            (&[0x40, 0, 4, 0], Ok(Some(0))),
            (&[0, 13, 1, 9], Err(code::MISSING_SETTINGS)),
            (&[0, 0x21, 0], Err(code::MISSING_SETTINGS)),
            (&[0, 4, 0, 4, 0], Err(code::FRAME_UNEXPECTED)),
            (&[0, 4, 0, 0, 0], Err(code::FRAME_UNEXPECTED)),
            (&[0, 4, 0, 9, 0], Err(code::FRAME_UNEXPECTED)),
            (&[0, 4, 0, 3, 1, 0], Err(code::ID_ERROR)),
            (&[0, 4, 0, 7, 2, 0, 0], Err(code::FRAME_ERROR)),
            (&[0, 4, 1, 6], Err(code::FRAME_ERROR)),
            (&[0, 4, 2, 2, 0], Err(code::SETTINGS_ERROR)),
            (&[0, 4, 4, 6, 0, 6, 0], Err(code::SETTINGS_ERROR)),
            (&[0, 4, 0x48, 0], Err(code::EXCESSIVE_LOAD)),
            (&[1], Err(code::STREAM_CREATION_ERROR)),
            (&[2, 0x20, 0x20], Ok(Some(1))),
            (&[2, 0x3f, 1], Err(code::QPACK_ENCODER_STREAM_ERROR)),
            (&[0, 4, 0, 7, 1, 9, 7, 1, 9, 7, 1, 4], Ok(Some(0))),
            (&[0, 4, 0, 7, 1, 4, 7, 1, 5], Err(code::ID_ERROR)),
            (&[0, 4, 0, 13, 1, 4, 13, 1, 4, 13, 1, 9], Ok(Some(0))),
            (&[0, 4, 0, 13, 1, 4, 13, 1, 3], Err(code::ID_ERROR)),
            (&[3, 0x44, 0x7f, 0x80, 0x80, 1, 0x40], Ok(Some(2))),
            (&[3, 0x44, 0x80], Err(code::QPACK_DECODER_STREAM_ERROR)),
            (&[3, 0x81], Err(code::QPACK_DECODER_STREAM_ERROR)),
            (&[3, 0], Err(code::QPACK_DECODER_STREAM_ERROR)),
            (&[3, 1], Err(code::QPACK_DECODER_STREAM_ERROR)),
            (&[3, 0x7f, 0x80, 1, 0x3f], Err(code::QPACK_DECODER_STREAM_ERROR)),
        ];
        for (bytes, wanted) in rows {
            assert_eq!(feed_stream(bytes), wanted, "{bytes:?}");
        }
    }
}
