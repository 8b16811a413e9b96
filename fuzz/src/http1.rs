//! Targets of the HTTP/1 codec: requests, responses, chunked bodies.
//!
//! Properties besides not panicking: an accepted message is accepted once more after it was written, the split of the
//! bytes does not matter, and every defect has a name. The corpus defines the meaning of exact inputs.

use crate::corpus;
use crate::replay::{Replay, answer_line, answers, request_edits, request_line, requests};
use wire::http1::{
    ChunkedDecoder, ChunkedOutput, ConnectionPersistence, Defect, HeadLimits, HeaderSlots,
    HttpVersion, ResponseContext, ResponseEdits, emit_request, emit_response, parse_request,
    parse_response,
};

/// Limits for heads that the codec wrote. They are longer than the received ones by the added fields.
const ROOMY: HeadLimits =
    HeadLimits { head_bytes: 1 << 20, head_count: HeaderSlots::COUNT, target_bytes: 1 << 20 };

/// The byte stream of a client.
pub fn request(bytes: &[u8]) {
    let whole = requests(bytes, &HeadLimits::default());
    // A completely forwarded stream is a valid stream of requests itself.
    if whole.outcomes.iter().all(|outcome| outcome.starts_with("accepted")) {
        let again = requests(&whole.passed, &ROOMY);
        assert_eq!(again.outcomes.len(), whole.outcomes.len(), "requests appear or vanish");
        assert!(all_accepted(&again), "{:?}", again.outcomes);
    }
    let parse = |bytes: &[u8]| -> Result<Option<String>, Defect> {
        let mut slots = HeaderSlots::new();
        let parsed = parse_request(bytes, &HeadLimits::default(), &mut slots)?;
        Ok(parsed.map(|request| format!("{} {}", request.head_len, request_line(&request))))
    };
    same_when_cut(bytes, parse);
    let mut slots = HeaderSlots::new();
    if let Ok(Some(request)) = parse_request(bytes, &HeadLimits::default(), &mut slots) {
        let mut head = Vec::new();
        emit_request(&request, &request_edits(), &mut head);
        let mut slots = HeaderSlots::new();
        let again = parse_request(&head, &ROOMY, &mut slots);
        let again = again.expect("our own head").expect("a whole head");
        assert_eq!((again.head_len, again.body), (head.len(), request.body));
    }
}

/// The byte stream of a server. The first byte selects the kind of request it answers.
pub fn response(bytes: &[u8]) {
    let (asked, bytes) = match bytes.split_first() {
        Some((b'h', rest)) => (ResponseContext::Head, rest),
        Some((b'c', rest)) => (ResponseContext::Connect, rest),
        Some((b'u', rest)) => (ResponseContext::Upgrade, rest),
        _ => (ResponseContext::Other, bytes),
    };
    for client_version in [HttpVersion::Http10, HttpVersion::Http11] {
        let _ = answers(bytes, asked, client_version);
        let mut slots = HeaderSlots::new();
        let limits = HeadLimits::default();
        let Ok(Some(answer)) = parse_response(bytes, &limits, &mut slots, asked) else { continue };
        let edits = ResponseEdits {
            client_version,
            persist: ConnectionPersistence::KeepAlive,
            via: Some("x"),
            keep_upgrade: true,
            removed_headers: &[],
            removed_cookie: None,
            lines: b"",
        };
        let mut head = Vec::new();
        emit_response(&answer, &edits, &mut head);
        let mut slots = HeaderSlots::new();
        let again = parse_response(&head, &ROOMY, &mut slots, asked);
        let again = again.expect("our own head").expect("a whole head");
        assert_eq!((again.head_len, again.status), (head.len(), answer.status));
    }
    same_when_cut(bytes, |bytes: &[u8]| -> Result<Option<String>, Defect> {
        let mut slots = HeaderSlots::new();
        let parsed = parse_response(bytes, &HeadLimits::default(), &mut slots, asked)?;
        Ok(parsed.map(|answer| format!("{} {}", answer.head_len, answer_line(&answer))))
    });
}

/// A chunked body and the bytes after it.
pub fn chunked(bytes: &[u8]) {
    let mut out = Vec::new();
    let mut pieces = Vec::new();
    let whole = ChunkedDecoder::new(ChunkedOutput::Chunked).feed(bytes, &mut out);
    assert!(out.len() <= bytes.len(), "the output is longer than the input");
    let mut decoder = ChunkedDecoder::new(ChunkedOutput::Chunked);
    let cut = cut_feed(&mut decoder, bytes, &mut pieces);
    assert_eq!(pieces, out, "what is written depends on where the input is cut");
    match whole {
        Ok(fed) => {
            assert_eq!(cut, Ok((fed.consumed, fed.finished)));
            let mut again = Vec::new();
            let normal = ChunkedDecoder::new(ChunkedOutput::Chunked)
                .feed(&out, &mut again)
                .expect("our own chunks");
            assert_eq!((normal.finished, &again), (fed.finished, &out), "our own chunks change");
        }
        Err(defect) => {
            assert_eq!(cut, Err(defect));
            assert_eq!(decoder.feed(b"0\r\n\r\n", &mut out), Err(defect), "a broken body recovers");
        }
    }
}

fn cut_feed(
    decoder: &mut ChunkedDecoder,
    bytes: &[u8],
    out: &mut Vec<u8>,
) -> Result<(usize, bool), Defect> {
    let mut at = 0;
    while at < bytes.len() {
        // The input determines the lengths of the pieces, so that they vary reproducibly.
        let length = 1 + usize::from(bytes[at] & 7);
        let fed = decoder.feed(&bytes[at..bytes.len().min(at + length)], out)?;
        at += fed.consumed;
        if fed.finished {
            return Ok((at, true));
        }
    }
    Ok((at, false))
}

/// The first result other than "more bytes" is the same at every length at which it occurs.
fn same_when_cut<T: PartialEq + std::fmt::Debug>(
    bytes: &[u8],
    parse: impl Fn(&[u8]) -> Result<Option<T>, Defect>,
) {
    let whole = parse(bytes);
    assert_ne!(whole, Err(Defect::Malformed), "an offence without a name");
    // Checking every offset is quadratic, so long inputs are checked at about 24 offsets.
    let step = 1 + bytes.len() / 24;
    let first =
        (0..bytes.len()).step_by(step).map(|end| parse(&bytes[..end])).find(|r| *r != Ok(None));
    if let Some(first) = first {
        assert_eq!(first, whole, "the outcome depends on where the input is cut");
    }
}

fn all_accepted(replay: &Replay) -> bool {
    replay.outcomes.iter().all(|outcome| outcome.starts_with("accepted"))
}

/// The streams of the message corpus that are short enough for mutation.
fn streams(kind: &str) -> Vec<Vec<u8>> {
    let short = |case: corpus::CorpusCase| (case.sent.len() < 4_000).then_some(case.sent);
    corpus::load(kind).into_iter().filter_map(short).collect()
}

/// Every request of the message corpus.
pub fn request_seeds() -> Vec<Vec<u8>> {
    streams("requests")
}

/// Every response, as one to several methods.
pub fn response_seeds() -> Vec<Vec<u8>> {
    let asked = |stream: &Vec<u8>| ["o", "h", "u"].map(|kind| [kind.as_bytes(), stream].concat());
    streams("answers").iter().flat_map(asked).collect()
}

/// The bodies of every chunked message.
pub fn chunked_seeds() -> Vec<Vec<u8>> {
    let body = |stream: Vec<u8>| {
        let end = stream.windows(4).position(|four| four == b"\r\n\r\n")?;
        let coded = stream[..end].windows(7).any(|seven| seven.eq_ignore_ascii_case(b"chunked"));
        coded.then(|| stream[end + 4..].to_vec())
    };
    let all = [streams("requests"), streams("answers")].concat();
    all.into_iter().filter_map(body).collect()
}
