//! Targets of HTTP/2: heads converted to HTTP/1.1.
//!
//! The input of heads is lines of `name: value` with any bytes, pseudo-header fields first. A converted head must be
//! exactly one head for the HTTP/1 parser, with nothing after it and with no other fields than the input's.

use wire::http1::{Defect, HeadLimits, HeaderSlots, parse_request, parse_response};
use wire::http2::{RequestHead, ResponseHead, write_request, write_response};

/// Limits for heads that the conversion wrote.
const ROOMY: HeadLimits =
    HeadLimits { head_bytes: 1 << 20, head_count: HeaderSlots::COUNT, target_bytes: 1 << 20 };

/// Splits the bytes into names and values.
fn lines(bytes: &[u8]) -> Vec<(&[u8], &[u8])> {
    let split = |line: &'_ [u8]| -> (usize, usize) {
        let begin = usize::from(line.first() == Some(&b':'));
        let colon = line[begin..].iter().position(|byte| *byte == b':').map(|at| at + begin);
        colon.map_or((line.len(), line.len()), |at| (at, at + 1))
    };
    // Lines end at byte 0xff, which is valid nowhere else, so that values may contain line ends.
    bytes
        .split(|byte| *byte == 0xff)
        .filter(|line| !line.is_empty())
        .map(|line| {
            let (name, value) = split(line);
            (&line[..name], &line[value..])
        })
        .collect()
}

pub fn request(bytes: &[u8]) {
    let lines = lines(bytes);
    let pseudo = |wanted: &[u8]| lines.iter().find(|(name, _)| *name == wanted).map(|(_, v)| *v);
    let fields: Vec<_> = lines.iter().filter(|(name, _)| name.first() != Some(&b':')).collect();
    let head = RequestHead {
        method: pseudo(b":method").unwrap_or(b"GET"),
        scheme: pseudo(b":scheme"),
        authority: pseudo(b":authority"),
        path: pseudo(b":path"),
        protocol: pseudo(b":protocol"),
        end_stream: bytes.len().is_multiple_of(2),
    };
    let mut out = Vec::new();
    let all = fields.iter().map(|(name, value)| (*name, *value));
    let Ok(_) = write_request(&head, all, b"AAAAAAAAAAAAAAAAAAAAAA==", &mut out) else { return };
    let mut slots = HeaderSlots::new();
    let parsed = match parse_request(&out, &ROOMY, &mut slots) {
        Ok(Some(parsed)) => parsed,
        Ok(None) => panic!("not a whole head: {:?}", String::from_utf8_lossy(&out)),
        // The HTTP/1 parser checks the rules that both versions share.
        Err(defect) => return assert_ne!(defect, Defect::Malformed),
    };
    assert_eq!(parsed.head_len, out.len(), "something stands behind the head");
    assert_eq!(parsed.target.as_bytes(), head.path.unwrap_or_default());
    for field in parsed.headers {
        let ours = ["host", "cookie", "transfer-encoding", "upgrade", "connection"];
        let known = ours.contains(&field.name) || field.name == "sec-websocket-key";
        let came = fields
            .iter()
            .any(|(name, value)| *name == field.name.as_bytes() && *value == field.value);
        assert!(known || came, "`{}` came from nowhere", field.name);
    }
}

/// The head of a response. The first bytes are the status.
pub fn answer(bytes: &[u8]) {
    let (status, rest) = bytes.split_at(bytes.len().min(2));
    let status = status.iter().fold(0, |status, byte| status << 8 | u16::from(*byte)) % 1000;
    let lines = lines(rest);
    for accept in [None, Some(&b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo="[..])] {
        let head = ResponseHead {
            status,
            end_stream: bytes.len().is_multiple_of(2),
            head_only: false,
            accept,
        };
        let mut out = Vec::new();
        let Ok(_) = write_response(&head, lines.iter().copied(), &mut out) else { continue };
        let mut slots = HeaderSlots::new();
        let asked = match accept {
            Some(_) => wire::http1::ResponseContext::Upgrade,
            None => wire::http1::ResponseContext::Other,
        };
        if let Ok(parsed) = parse_response(&out, &ROOMY, &mut slots, asked) {
            assert_eq!(parsed.expect("a whole head").head_len, out.len());
        }
    }
}

/// Heads in the format of the target, with valid and invalid fields.
pub fn request_seeds() -> Vec<Vec<u8>> {
    let first = ":method: GET\u{ff}:scheme: https\u{ff}:authority: a.example\u{ff}:path: /x?y";
    let first = first.replace(": ", ":");
    let more = [
        "accept:*/*",
        "cookie:a=1\u{ff}cookie:b=2",
        "content-length:5",
        "te:trailers",
        "host:a.example",
        "x:a\r\nb: c",
        ":protocol:websocket",
        "connection:close",
        "content_length:5",
    ];
    let seeds = more.iter().map(|more| format!("{first}\u{ff}{more}"));
    // One byte per character, so that 0xff ends a line.
    seeds.map(|seed| seed.chars().map(|letter| letter as u8).collect()).collect()
}

/// The request seeds as heads of responses.
pub fn answer_seeds() -> Vec<Vec<u8>> {
    request_seeds().into_iter().map(|seed| [&[0, 200], &seed[..]].concat()).collect()
}
