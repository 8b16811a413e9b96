//! Frames of HTTP/2 (RFC 9113 §4, §6): their headers and payloads as values, and as bytes.
//!
//! What a frame means for a stream or the connection is decided elsewhere. Only what a frame breaks by itself is a
//! violation here: its size, its stream id, and its padding.

use super::error_code::{ErrorCode, FrameViolation};
use super::frame_type::FrameType;

/// The client connection preface (RFC 9113 §3.4).
pub const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Length of a frame header in bytes (RFC 9113 §4.1).
pub(super) const HEADER_BYTES: usize = 9;

/// The largest payload that is accepted, which is what every peer may send without asking (RFC 9113 §4.2).
pub(super) const MAX_PAYLOAD: usize = 16_384;

/// The largest stream id, and the largest window (RFC 9113 §5.1.1, §6.9.1).
pub(super) const MAX_31_BITS: u32 = 0x7fff_ffff;

/// Flags of frames (RFC 9113 §6).
pub(super) mod flag {
    pub(crate) const ACK: u8 = 0x1;
    pub(crate) const END_STREAM: u8 = 0x1;
    pub(crate) const END_HEADERS: u8 = 0x4;
    pub(crate) const PADDED: u8 = 0x8;
    pub(crate) const PRIORITY: u8 = 0x20;
}

/// Types of frames as numbers (RFC 9113 §6, RFC 9218 §7.1).
pub(super) mod kind {
    pub(crate) const DATA: u8 = 0;
    pub(crate) const HEADERS: u8 = 1;
    pub(crate) const RST_STREAM: u8 = 3;
    pub(crate) const SETTINGS: u8 = 4;
    pub(crate) const PING: u8 = 6;
    pub(crate) const GOAWAY: u8 = 7;
    pub(crate) const WINDOW_UPDATE: u8 = 8;
    pub(crate) const CONTINUATION: u8 = 9;
}

/// The header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Http2FrameHeader {
    pub(super) kind: FrameType,
    pub(super) flags: u8,
    /// The payload's length in bytes.
    pub(super) length: usize,
    pub(super) stream: u32,
}

impl Http2FrameHeader {
    /// Reads a header.
    pub(super) fn read(bytes: [u8; HEADER_BYTES]) -> Http2FrameHeader {
        let length = u32::from_be_bytes([0, bytes[0], bytes[1], bytes[2]]) as usize;
        let stream = u32::from_be_bytes([bytes[5], bytes[6], bytes[7], bytes[8]]) & MAX_31_BITS;
        Http2FrameHeader { kind: FrameType::from_byte(bytes[3]), flags: bytes[4], length, stream }
    }

    pub(super) fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Checks the size and the stream id, before the payload has arrived.
    pub(super) fn check(self) -> Result<(), FrameViolation> {
        if self.length > MAX_PAYLOAD {
            return Err(FrameViolation::FRAME_SIZE);
        }
        let of_stream = self.stream != 0;
        let fits = match self.kind {
            FrameType::Data
            | FrameType::Headers
            | FrameType::Priority
            | FrameType::Reset
            | FrameType::Push
            | FrameType::Continuation => of_stream,
            FrameType::Settings
            | FrameType::Ping
            | FrameType::GoAway
            | FrameType::PriorityUpdate => !of_stream,
            FrameType::Window | FrameType::Unknown => true,
        };
        if !fits {
            return Err(FrameViolation::PROTOCOL);
        }
        let sized = match self.kind {
            FrameType::Priority if self.length != 5 => {
                return Err(FrameViolation::stream(self.stream, ErrorCode::FRAME_SIZE_ERROR));
            }
            FrameType::Reset | FrameType::Window => self.length == 4,
            FrameType::Settings if self.has(flag::ACK) => self.length == 0,
            FrameType::Settings => self.length.is_multiple_of(6),
            FrameType::Ping => self.length == 8,
            FrameType::GoAway => self.length >= 8,
            FrameType::PriorityUpdate => self.length >= 4,
            _ => true,
        };
        if sized { Ok(()) } else { Err(FrameViolation::FRAME_SIZE) }
    }
}

/// The fragment of a field block in a HEADERS payload, without padding and the deprecated priority.
pub(super) fn field_fragment(
    header: Http2FrameHeader,
    mut payload: &[u8],
) -> Result<&[u8], FrameViolation> {
    let mut padding = 0;
    if header.has(flag::PADDED) {
        let Some(parts) = payload.split_first() else { return Err(FrameViolation::FRAME_SIZE) };
        padding = usize::from(*parts.0);
        payload = parts.1;
    }
    if header.has(flag::PRIORITY) {
        payload = payload.get(5..).ok_or(FrameViolation::FRAME_SIZE)?;
    }
    let length = payload.len().checked_sub(padding).ok_or(FrameViolation::PROTOCOL)?;
    payload.get(..length).ok_or(FrameViolation::PROTOCOL)
}

/// The first four bytes of a payload as a number; `check` has ensured that there are as many.
pub(super) fn number(payload: &[u8]) -> u32 {
    payload.iter().take(4).fold(0, |number, byte| number << 8 | u32::from(*byte))
}

/// Appends a frame header.
pub(super) fn append_header(kind: u8, flags: u8, stream: u32, length: usize, out: &mut Vec<u8>) {
    let length = (length as u32).to_be_bytes();
    let stream = stream.to_be_bytes();
    out.extend_from_slice(&[
        length[1], length[2], length[3], kind, flags, stream[0], stream[1], stream[2], stream[3],
    ]);
}

pub(super) fn append_reset(stream: u32, code: ErrorCode, out: &mut Vec<u8>) {
    append_header(kind::RST_STREAM, 0, stream, 4, out);
    out.extend_from_slice(&code.0.to_be_bytes());
}

/// Appends a WINDOW_UPDATE, of the connection if `stream` is 0.
pub(super) fn append_window_update(stream: u32, increment: u32, out: &mut Vec<u8>) {
    append_header(kind::WINDOW_UPDATE, 0, stream, 4, out);
    out.extend_from_slice(&increment.to_be_bytes());
}

pub(super) fn append_ping(flags: u8, payload: [u8; 8], out: &mut Vec<u8>) {
    append_header(kind::PING, flags, 0, payload.len(), out);
    out.extend_from_slice(&payload);
}

pub(super) fn append_goaway(last_stream: u32, code: ErrorCode, out: &mut Vec<u8>) {
    append_header(kind::GOAWAY, 0, 0, 8, out);
    out.extend_from_slice(&last_stream.to_be_bytes());
    out.extend_from_slice(&code.0.to_be_bytes());
}

/// Writes the headers of HEADERS and CONTINUATION frames around a field block, which is the end of `out` from `begin`
/// on, after room for the first header.
pub(super) fn frame_field_block(
    stream: u32,
    end_stream: bool,
    begin: usize,
    max_payload: usize,
    out: &mut Vec<u8>,
) {
    let block = out.len() - begin - HEADER_BYTES;
    let end_flag = if end_stream { flag::END_STREAM } else { 0 };
    let whole_flag = if block <= max_payload { flag::END_HEADERS } else { 0 };
    let mut header = Vec::with_capacity(HEADER_BYTES);
    append_header(
        kind::HEADERS,
        end_flag | whole_flag,
        stream,
        block.min(max_payload),
        &mut header,
    );
    out[begin..begin + HEADER_BYTES].copy_from_slice(&header);
    if block <= max_payload {
        return;
    }
    let rest = out.split_off(begin + HEADER_BYTES + max_payload);
    let mut pieces = rest.chunks(max_payload).peekable();
    while let Some(piece) = pieces.next() {
        let last_flag = if pieces.peek().is_none() { flag::END_HEADERS } else { 0 };
        append_header(kind::CONTINUATION, last_flag, stream, piece.len(), out);
        out.extend_from_slice(piece);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type FrameCheck = Result<(), FrameViolation>;
    type FragmentCheck<'p> = Result<&'p [u8], FrameViolation>;

    fn header(kind: u8, flags: u8, stream: u32, length: usize) -> Http2FrameHeader {
        let mut bytes = Vec::new();
        append_header(kind, flags, stream, length, &mut bytes);
        Http2FrameHeader::read(bytes.try_into().unwrap())
    }

    #[test]
    fn sizes_and_stream_ids_are_checked() {
        let size = Err(FrameViolation::FRAME_SIZE);
        let protocol = Err(FrameViolation::PROTOCOL);
        let of_stream = Err(FrameViolation::stream(3, ErrorCode::FRAME_SIZE_ERROR));
        let rows: [(u8, u8, u32, usize, FrameCheck); 26] = [
            (0, 0, 1, 0, Ok(())),
            (0, 0, 1, 16_384, Ok(())),
            (0, 0, 1, 16_385, size),
            (0, 0, 0, 1, protocol),
            (1, 0, 0, 1, protocol),
            (2, 0, 3, 5, Ok(())),
            (2, 0, 3, 4, of_stream),
            (2, 0, 0, 5, protocol),
            (3, 0, 3, 4, Ok(())),
            (3, 0, 3, 5, size),
            (3, 0, 0, 4, protocol),
            (4, 0, 0, 12, Ok(())),
            (4, 0, 0, 13, size),
            (4, 1, 0, 0, Ok(())),
            (4, 1, 0, 6, size),
            (4, 0, 1, 6, protocol),
            (5, 0, 0, 4, protocol),
            (6, 0, 0, 8, Ok(())),
            (6, 0, 0, 7, size),
            (6, 0, 1, 8, protocol),
            (7, 0, 0, 7, size),
            (7, 0, 1, 8, protocol),
            (8, 0, 0, 3, size),
            (9, 0, 0, 3, protocol),
            (16, 0, 0, 3, size),
            (99, 0, 7, 16_385, size),
        ];
        for (kind, flags, stream, length, wanted) in rows {
            let checked = header(kind, flags, stream, length).check();
            assert_eq!(checked, wanted, "{kind} {flags} {stream} {length}");
        }
    }

    #[test]
    fn fragments_lose_padding_and_priority() {
        let rows: [(u8, &[u8], FragmentCheck<'_>); 8] = [
            (0, b"abc", Ok(b"abc")),
            (flag::PADDED, b"\x02abc", Ok(b"a")),
            (flag::PADDED, b"\x03abc", Ok(b"")),
            (flag::PADDED, b"\x04abc", Err(FrameViolation::PROTOCOL)),
            (flag::PADDED, b"", Err(FrameViolation::FRAME_SIZE)),
            (flag::PRIORITY, b"12345abc", Ok(b"abc")),
            (flag::PRIORITY, b"1234", Err(FrameViolation::FRAME_SIZE)),
            (flag::PADDED | flag::PRIORITY, b"\x0112345ab", Ok(b"a")),
        ];
        for (flags, payload, wanted) in rows {
            assert_eq!(field_fragment(header(1, flags, 1, payload.len()), payload), wanted);
        }
    }

    #[test]
    fn long_blocks_continue() {
        let mut out = vec![7; 3];
        out.extend([0; HEADER_BYTES]);
        out.extend(1..=10);
        frame_field_block(5, true, 3, 4, &mut out);
        let wanted: [&[u8]; 4] = [
            &[7, 7, 7],
            &[0, 0, 4, 1, 1, 0, 0, 0, 5, 1, 2, 3, 4],
            &[0, 0, 4, 9, 0, 0, 0, 0, 5, 5, 6, 7, 8],
            &[0, 0, 2, 9, 4, 0, 0, 0, 5, 9, 10],
        ];
        assert_eq!(out, wanted.concat());
    }
}
