//! Targets of HTTP/3: a request stream converted from frames to an HTTP/1.1 head, and unidirectional streams.
//!
//! A converted head must be exactly one head for the HTTP/1 parser, with nothing after it. The result of a stream must
//! not depend on how its bytes are split.

use wire::http1::{Defect, HeadLimits, HeaderSlots, parse_request};
use wire::http3::{
    FrameEvent, FrameReader, FrameStep, Http3Error, UniStream, decode, write_request,
    write_trailer_lines,
};

/// Limits for heads that the conversion wrote.
const ROOMY: HeadLimits =
    HeadLimits { head_bytes: 1 << 20, head_count: HeaderSlots::COUNT, target_bytes: 1 << 20 };

/// The size limit of a head, in bytes.
const MOST: usize = 4_096;

/// The head, the body and the trailers of a stream that is split into pieces of this size.
type StreamMessage = Result<(Vec<u8>, Vec<u8>, Vec<u8>), Http3Error>;

fn decode_stream(bytes: &[u8], size: usize) -> StreamMessage {
    let mut head = Vec::new();
    let mut body = Vec::new();
    let mut last = Vec::new();
    let mut frames = FrameReader::new(MOST);
    for piece in bytes.chunks(size) {
        let mut at = 0;
        while at < piece.len() {
            let FrameStep { used, event } = frames.step(&piece[at..])?;
            at += used;
            match event {
                FrameEvent::More => assert_eq!(at, piece.len(), "bytes were left"),
                FrameEvent::Head => head = frames.take_field_section(),
                FrameEvent::Trailers => last = frames.take_field_section(),
                FrameEvent::Data(n) => {
                    assert!((1..=used).contains(&n), "{n} of {used}");
                    body.extend_from_slice(&piece[at - n..at]);
                }
            }
        }
    }
    frames.finish()?;
    Ok((head, body, last))
}

pub fn request(bytes: &[u8]) {
    let whole = decode_stream(bytes, usize::MAX);
    for size in [1, 7] {
        assert_eq!(decode_stream(bytes, size), whole, "in pieces of {size}");
    }
    let Ok((head, _, last)) = whole else { return };
    block(&head);
    if let Ok(fields) = decode(&last, MOST) {
        let mut lines = Vec::new();
        if write_trailer_lines(&fields, &mut lines).is_ok() {
            let ends = lines.windows(2).filter(|two| two == b"\r\n").count();
            assert_eq!(ends, fields.iter().count(), "a line for each field");
        }
    }
}

/// A head in QPACK encoding.
pub fn block(bytes: &[u8]) {
    let Ok(fields) = decode(bytes, MOST) else { return };
    let size: usize = fields.iter().map(|(name, value)| name.len() + value.len() + 32).sum();
    assert!(size <= MOST, "{size} bytes of fields");
    let mut out = Vec::new();
    let key = b"AAAAAAAAAAAAAAAAAAAAAA==";
    let Ok(_) = write_request(&fields, bytes.len().is_multiple_of(2), key, &mut out) else {
        return;
    };
    let mut slots = HeaderSlots::new();
    match parse_request(&out, &ROOMY, &mut slots) {
        Ok(Some(parsed)) => assert_eq!(parsed.head_len, out.len(), "something stands behind it"),
        Ok(None) => panic!("not a whole head: {:?}", String::from_utf8_lossy(&out)),
        // The HTTP/1 parser checks the rules that all versions share.
        Err(defect) => assert_ne!(defect, Defect::Malformed),
    }
}

/// A unidirectional stream.
pub fn one_way(bytes: &[u8]) {
    let said = |size: usize| {
        let mut uni = UniStream::new();
        bytes.chunks(size).try_for_each(|piece| uni.feed(piece)).map(|()| uni.unique_kind())
    };
    let whole = said(usize::MAX);
    for size in [1, 5] {
        assert_eq!(said(size), whole, "in pieces of {size}");
    }
}

/// A header block with an indexed field, a name reference, a literal name, and a Huffman-coded string.
const BLOCK: &[u8] =
    b"\x00\x00\xd1\xd7\x50\x09a.example\x51\x02/p\x21x\x01y\x23own\x86\xa8\xeb\x10\x64\x9c\xbf";

fn framed(kind: u8, payload: &[u8]) -> Vec<u8> {
    [&[kind, payload.len() as u8], payload].concat()
}

pub fn request_seeds() -> Vec<Vec<u8>> {
    vec![
        [framed(1, BLOCK), framed(0, b"some"), framed(0x21, b"?"), framed(0, b"body")].concat(),
        [framed(1, BLOCK), framed(0, b"x"), framed(1, b"\x00\x00\x21x\x01y")].concat(),
    ]
}

pub fn block_seeds() -> Vec<Vec<u8>> {
    vec![BLOCK.to_vec()]
}

/// A control stream, and both QPACK streams.
pub fn one_way_seeds() -> Vec<Vec<u8>> {
    vec![
        b"\x00\x04\x02\x06\x05\x0d\x01\x09\x07\x01\x00\x21\x03abc".to_vec(),
        b"\x02\x20".to_vec(),
        b"\x03\x44\x80".to_vec(),
    ]
}
