//! Writes what the balancer sends in HTTP/3: settings, heads and trailers of responses, headers of DATA frames, and
//! GOAWAY.
//!
//! Nothing is parsed here: [`crate::http1`] supplies parsed heads.

use super::frames::kind;
use super::{qpack, varint};
use crate::http1::ParsedResponseHead;

/// `SETTINGS_MAX_FIELD_SECTION_SIZE` (RFC 9114 §7.2.4.1).
const MAX_FIELD_SECTION_SIZE: u64 = 6;

/// `SETTINGS_ENABLE_CONNECT_PROTOCOL` (RFC 9220 §3).
const ENABLE_CONNECT_PROTOCOL: u64 = 8;

/// The start of the control stream: its stream type and the settings. `heads`: size limit of a request head in bytes.
pub fn control_stream_preface(heads: u64) -> Vec<u8> {
    let mut payload = Vec::new();
    for number in [MAX_FIELD_SECTION_SIZE, heads, ENABLE_CONNECT_PROTOCOL, 1] {
        varint::write(number, &mut payload);
    }
    let mut out = vec![0];
    frame(kind::SETTINGS, &payload, &mut out);
    out
}

/// A GOAWAY frame: requests from this stream id on are not processed (RFC 9114 §5.2).
pub fn goaway_frame(stream: u64) -> Vec<u8> {
    let mut payload = Vec::new();
    let mut out = Vec::new();
    varint::write(stream, &mut payload);
    frame(kind::GOAWAY, &payload, &mut out);
    out
}

/// Appends the header of a DATA frame with `length` bytes of payload.
pub fn data_header(length: usize, out: &mut Vec<u8>) {
    varint::write(kind::DATA, out);
    varint::write(length as u64, out);
}

/// Appends a response head with `status`, which differs from the response's own status for an accepted upgrade.
pub fn write_head(response: &ParsedResponseHead<'_, '_>, status: u16, out: &mut Vec<u8>) {
    let mut block = Vec::with_capacity(256);
    qpack::begin_field_section(&mut block);
    let digits = [
        b'0' + (status / 100 % 10) as u8,
        b'0' + (status / 10 % 10) as u8,
        b'0' + (status % 10) as u8,
    ];
    qpack::append_field(b":status", &digits, &mut block);
    let mut name = Vec::new();
    for field in response.forwarded_headers() {
        name.clear();
        name.extend(field.name.bytes().map(|byte| byte.to_ascii_lowercase()));
        if response.status == 101 && name == b"sec-websocket-accept" {
            continue;
        }
        qpack::append_field(&name, field.value, &mut block);
    }
    if let Some(length) = response.content_length
        && response.status >= 200
        && response.status != 204
    {
        qpack::append_field(b"content-length", length.to_string().as_bytes(), &mut block);
    }
    frame(kind::HEADERS, &block, out);
}

/// Appends trailers from lines of HTTP/1.1, each with its line end, which were checked before.
pub fn write_trailers(lines: &[u8], out: &mut Vec<u8>) {
    let mut block = Vec::with_capacity(lines.len());
    qpack::begin_field_section(&mut block);
    for line in lines.split(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
        let name = line[..colon].to_ascii_lowercase();
        qpack::append_field(&name, line[colon + 1..].trim_ascii(), &mut block);
    }
    frame(kind::HEADERS, &block, out);
}

fn frame(kind: u64, payload: &[u8], out: &mut Vec<u8>) {
    varint::write(kind, out);
    varint::write(payload.len() as u64, out);
    out.extend_from_slice(payload);
}

#[cfg(test)]
mod tests {
    use super::super::frames::{FrameEvent, FrameReader, FrameStep};
    use super::super::{UniStream, decode};
    use super::*;
    use crate::http1::{HeadLimits, HeaderSlots, ResponseContext, parse_response};

    fn decoded_fields(frame: &[u8]) -> Vec<(String, String)> {
        let mut frames = FrameReader::new(1 << 16);
        assert_eq!(
            frames.step(frame),
            Ok(FrameStep { used: frame.len(), event: FrameEvent::Head })
        );
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let fields = decode(&frames.take_field_section(), 1 << 16).unwrap();
        fields.iter().map(|(name, value)| (text(name), text(value))).collect()
    }

    #[test]
    fn answers_become_blocks_without_what_holds_for_one_hop() {
        let head = b"HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nConnection: close\r\n\
            X-Own: Y\r\nTransfer-Encoding: chunked\r\n\r\n";
        let mut slots = HeaderSlots::new();
        let response =
            parse_response(head, &HeadLimits::default(), &mut slots, ResponseContext::Other);
        let mut out = Vec::new();
        write_head(&response.unwrap().unwrap(), 404, &mut out);
        let wanted = [(":status", "404"), ("content-type", "text/plain"), ("x-own", "Y")];
        assert_eq!(decoded_fields(&out), wanted.map(|(a, b)| (a.to_owned(), b.to_owned())));
    }

    #[test]
    fn trailers_and_settings_are_well_formed() {
        let mut out = Vec::new();
        write_trailers(b"Grpc-Status: 0\r\nx:  y \r\n", &mut out);
        let wanted = [("grpc-status", "0"), ("x", "y")];
        assert_eq!(decoded_fields(&out), wanted.map(|(a, b)| (a.to_owned(), b.to_owned())));
        let mut uni = UniStream::new();
        assert_eq!(uni.feed(&[control_stream_preface(65_536), goaway_frame(400)].concat()), Ok(()));
        assert_eq!(uni.unique_kind(), Some(0));
    }
}
