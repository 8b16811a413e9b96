//! The frames of a request stream (RFC 9114 §4.1, §7.1): its head, the pieces of its body, its trailers.
//!
//! Heads are buffered until they are complete, up to a limit. Bodies are not buffered, and unknown frames are skipped.

use super::error::{Http3Error, code};
use super::varint;

/// Frame types (RFC 9114 §7.2).
pub(super) mod kind {
    pub(crate) const DATA: u64 = 0;
    pub(crate) const HEADERS: u64 = 1;
    pub(crate) const CANCEL_PUSH: u64 = 3;
    pub(crate) const SETTINGS: u64 = 4;
    pub(crate) const PUSH_PROMISE: u64 = 5;
    pub(crate) const GOAWAY: u64 = 7;
    pub(crate) const MAX_PUSH_ID: u64 = 13;
}

/// Longest frame header: two variable-length integers of up to eight bytes each.
const HEAD: usize = 16;

/// Whether this is an HTTP/2 frame type that is reserved in HTTP/3 (RFC 9114 §7.2.8).
pub(super) fn is_http2_frame_type(kind: u64) -> bool {
    matches!(kind, 2 | 6 | 8 | 9)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameEvent {
    /// Nothing is complete; more bytes are needed.
    More,
    /// The head is complete: `take_field_section` returns it.
    Head,
    /// The trailers are complete: `take_field_section` returns them.
    Trailers,
    /// The last n of the consumed bytes are body bytes.
    Data(usize),
}

/// Consumed bytes, and what is at their end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameStep {
    /// The number of consumed bytes.
    pub used: usize,
    pub event: FrameEvent,
}

/// The type and the payload's length of a frame.
pub(super) struct FrameHeader {
    pub(super) kind: u64,
    pub(super) length: u64,
}

/// Consumed bytes of a header, and the header once it is complete.
pub(super) struct FrameHeaderStep {
    pub(super) used: usize,
    pub(super) header: Option<FrameHeader>,
}

/// Reads the header of a frame, which may arrive in pieces.
#[derive(Debug, Default)]
pub(super) struct FrameHeaderReader {
    buffered: [u8; HEAD],
    buffered_length: usize,
}

impl FrameHeaderReader {
    /// Processes the next bytes up to the end of the header.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> FrameHeaderStep {
        for (at, &byte) in bytes.iter().enumerate() {
            // Sixteen bytes hold any two variable-length integers, so this index is in range.
            self.buffered[self.buffered_length] = byte;
            self.buffered_length += 1;
            let have = &self.buffered[..self.buffered_length];
            let Some(kind) = varint::read(have) else { continue };
            let Some(length) = varint::read(&have[kind.length..]) else { continue };
            self.buffered_length = 0;
            let header = FrameHeader { kind: kind.value, length: length.value };
            return FrameHeaderStep { used: at + 1, header: Some(header) };
        }
        FrameHeaderStep { used: bytes.len(), header: None }
    }

    /// Whether a header is incomplete.
    pub(super) fn is_partial(&self) -> bool {
        self.buffered_length > 0
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FramePosition {
    Header,
    Data,
    FieldSection,
    Ignored,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RequestStage {
    Head,
    Body,
    Ended,
}

/// The frames of one request stream.
#[derive(Debug)]
pub struct FrameReader {
    begin: FrameHeaderReader,
    position: FramePosition,
    payload_left: u64,
    stage: RequestStage,
    field_section: Vec<u8>,
    max_field_section: usize,
}

impl FrameReader {
    /// A reader that accepts an encoded head of up to `most` bytes.
    pub fn new(most: usize) -> FrameReader {
        let begin = FrameHeaderReader::default();
        let block = Vec::new();
        FrameReader {
            begin,
            position: FramePosition::Header,
            payload_left: 0,
            stage: RequestStage::Head,
            field_section: block,
            max_field_section: most,
        }
    }

    /// Processes the next bytes, up to the next event.
    ///
    /// # Errors
    /// The violated rule.
    pub fn step(&mut self, bytes: &[u8]) -> Result<FrameStep, Http3Error> {
        let mut used = 0;
        loop {
            let rest = &bytes[used..];
            if self.position == FramePosition::Header {
                let begun = self.begin.feed(rest);
                used += begun.used;
                let Some(FrameHeader { kind, length }) = begun.header else {
                    return Ok(FrameStep { used, event: FrameEvent::More });
                };
                self.begin_frame(kind, length)?;
            }
            let rest = &bytes[used..];
            let n = usize::try_from(self.payload_left).unwrap_or(usize::MAX).min(rest.len());
            used += n;
            self.payload_left -= n as u64;
            let within = self.position;
            let over = self.payload_left == 0;
            if over {
                self.position = FramePosition::Header;
            }
            match within {
                FramePosition::Data if n > 0 => {
                    return Ok(FrameStep { used, event: FrameEvent::Data(n) });
                }
                FramePosition::FieldSection => {
                    self.field_section.extend_from_slice(&rest[..n]);
                    if over {
                        return Ok(FrameStep { used, event: self.finish_field_section() });
                    }
                }
                _ => {}
            }
            if used == bytes.len() {
                return Ok(FrameStep { used, event: FrameEvent::More });
            }
        }
    }

    fn finish_field_section(&mut self) -> FrameEvent {
        let (next, step) = match self.stage {
            RequestStage::Head => (RequestStage::Body, FrameEvent::Head),
            _ => (RequestStage::Ended, FrameEvent::Trailers),
        };
        self.stage = next;
        step
    }

    fn begin_frame(&mut self, kind: u64, length: u64) -> Result<(), Http3Error> {
        self.payload_left = length;
        self.position = match (kind, self.stage) {
            (kind::HEADERS, RequestStage::Head | RequestStage::Body) => {
                if length > self.max_field_section as u64 {
                    return Err(Http3Error::TooLarge);
                }
                FramePosition::FieldSection
            }
            (kind::DATA, RequestStage::Body) => FramePosition::Data,
            (kind::DATA | kind::HEADERS | kind::CANCEL_PUSH | kind::SETTINGS, _)
            | (kind::PUSH_PROMISE | kind::GOAWAY | kind::MAX_PUSH_ID, _) => {
                return Err(Http3Error::Connection(code::FRAME_UNEXPECTED));
            }
            (kind, _) if is_http2_frame_type(kind) => {
                return Err(Http3Error::Connection(code::FRAME_UNEXPECTED));
            }
            _ => FramePosition::Ignored,
        };
        if length == 0 && self.position == FramePosition::Ignored {
            self.position = FramePosition::Header;
        }
        Ok(())
    }

    /// Returns the head or the trailers that are complete.
    pub fn take_field_section(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.field_section)
    }

    /// Checks that the stream may end here.
    ///
    /// # Errors
    /// The stream ended in the middle of a frame (RFC 9114 §7.1).
    pub fn finish(&self) -> Result<(), Http3Error> {
        match self.position == FramePosition::Header && !self.begin.is_partial() {
            true => Ok(()),
            false => Err(Http3Error::Connection(code::FRAME_ERROR)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u64, payload: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        varint::write(kind, &mut out);
        varint::write(payload.len() as u64, &mut out);
        out.extend_from_slice(payload);
        out
    }

    type FrameTrace = (Vec<u8>, Vec<u8>, Vec<u8>);

    fn read_frames(pieces: &[&[u8]], most: usize) -> Result<FrameTrace, Http3Error> {
        let mut head = Vec::new();
        let mut body = Vec::new();
        let mut trailers = Vec::new();
        let mut frames = FrameReader::new(most);
        for piece in pieces {
            let mut at = 0;
            while at < piece.len() {
                let step = frames.step(&piece[at..])?;
                at += step.used;
                match step.event {
                    FrameEvent::More => {}
                    FrameEvent::Head => head = frames.take_field_section(),
                    FrameEvent::Trailers => trailers = frames.take_field_section(),
                    FrameEvent::Data(n) => body.extend_from_slice(&piece[at - n..at]),
                }
            }
        }
        frames.finish()?;
        Ok((head, body, trailers))
    }

    #[test]
    fn a_request_is_read_however_its_bytes_come() {
        let whole = [
            frame(0x21, b"passed over"),
            frame(0x21, b""),
            frame(1, b"head"),
            frame(0, b"some"),
            frame(0, b""),
            frame(0x1f * 7 + 0x21, &[9; 100]),
            frame(0, b"body"),
            frame(1, b"trailers"),
            frame(0x21, b"x"),
        ]
        .concat();
        let wanted = (b"head".to_vec(), b"somebody".to_vec(), b"trailers".to_vec());
        for size in 1..whole.len() {
            let pieces: Vec<&[u8]> = whole.chunks(size).collect();
            assert_eq!(read_frames(&pieces, 8), Ok(wanted.clone()), "in pieces of {size}");
        }
        assert_eq!(read_frames(&[&frame(1, b""), &frame(1, b"")], 8), Ok(Default::default()));
    }

    #[test]
    fn what_may_not_be_is_named() {
        let unexpected = Err(Http3Error::Connection(code::FRAME_UNEXPECTED));
        let head = frame(1, b"head");
        for kind in [0, 2, 3, 4, 5, 6, 7, 8, 9, 13] {
            assert_eq!(read_frames(&[&frame(kind, b"x")], 8), unexpected, "{kind} first");
        }
        for kind in [2, 3, 4, 5, 6, 7, 8, 9, 13] {
            assert_eq!(read_frames(&[&head, &frame(kind, b"x")], 8), unexpected, "{kind} behind");
        }
        for kind in [0, 1] {
            assert_eq!(
                read_frames(&[&head, &head, &frame(kind, b"x")], 8),
                unexpected,
                "{kind} last"
            );
        }
        assert_eq!(read_frames(&[&frame(1, b"too large")], 8), Err(Http3Error::TooLarge));
        let cut = Err(Http3Error::Connection(code::FRAME_ERROR));
        let data = [head, frame(0, b"body")].concat();
        assert_eq!(read_frames(&[&data[..data.len() - 1]], 8), cut, "in the middle of a body");
        assert_eq!(read_frames(&[&data[..data.len() - 4]], 8), cut, "before its first byte");
        assert_eq!(read_frames(&[&data[..data.len() - 5]], 8), cut, "in a frame's head");
        assert_eq!(read_frames(&[&data[..3]], 8), cut, "in the middle of a head");
    }
}
