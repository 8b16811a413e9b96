//! Properties: however bytes are cut, they mean the same; what we write, we accept, and it means the same.

use crate::reader;
use crate::replay::{answer_line, answers, request_edits, request_line, requests};
use proptest::prelude::*;
use wire::http1::{
    ChunkedDecoder, ChunkedOutput, ConnectionPersistence, Defect, ForwardedPolicy, HeadLimits,
    HeaderSlots, HttpVersion, ResponseContext, ResponseEdits, emit_request, emit_response,
    parse_request, parse_response,
};

/// What a head comes to when its bytes arrive one by one.
fn trickled_request(bytes: &[u8]) -> Result<Option<(String, usize)>, Defect> {
    for end in 0..=bytes.len() {
        if let Some(found) = whole_request(&bytes[..end])? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

fn whole_request(bytes: &[u8]) -> Result<Option<(String, usize)>, Defect> {
    let mut slots = HeaderSlots::new();
    let parsed = parse_request(bytes, &HeadLimits::default(), &mut slots)?;
    Ok(parsed.map(|request| (request_line(&request), request.head_len)))
}

fn whole_answer(bytes: &[u8], asked: ResponseContext) -> Result<Option<(String, usize)>, Defect> {
    let mut slots = HeaderSlots::new();
    let parsed = parse_response(bytes, &HeadLimits::default(), &mut slots, asked)?;
    Ok(parsed.map(|answer| (answer_line(&answer), answer.head_len)))
}

fn trickled_answer(
    bytes: &[u8],
    asked: ResponseContext,
) -> Result<Option<(String, usize)>, Defect> {
    for end in 0..=bytes.len() {
        if let Some(found) = whole_answer(&bytes[..end], asked)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// The outcome of a chunked body that is fed in pieces of the given lengths, in turn.
fn fed(
    body: &[u8],
    pieces: &[usize],
    emit: ChunkedOutput,
) -> (Vec<u8>, Result<Option<usize>, Defect>) {
    let mut chunked = ChunkedDecoder::new(emit);
    let mut out = Vec::new();
    let mut at = 0;
    let mut lengths = pieces.iter().cycle();
    while at < body.len() {
        let length = (*lengths.next().unwrap()).clamp(1, body.len() - at);
        match chunked.feed(&body[at..at + length], &mut out) {
            Ok(fed) => {
                at += fed.consumed;
                if fed.finished {
                    return (out, Ok(Some(at)));
                }
                assert_eq!(fed.consumed, length);
            }
            Err(defect) => return (out, Err(defect)),
        }
    }
    (out, Ok(None))
}

#[test]
fn the_corpus_means_the_same_byte_by_byte() {
    for case in reader::load("requests").iter().filter(|case| case.sent.len() < 2000) {
        assert_eq!(trickled_request(&case.sent), whole_request(&case.sent), "{}", case.name);
    }
    for case in reader::load("answers").iter().filter(|case| case.sent.len() < 2000) {
        for asked in [ResponseContext::Head, ResponseContext::Upgrade, ResponseContext::Other] {
            let split = trickled_answer(&case.sent, asked);
            let whole = whole_answer(&case.sent, asked);
            assert_eq!(split, whole, "{}", case.name);
        }
    }
}

/// Heads at their limit: the outcome may not depend on how much has arrived beyond it.
#[test]
fn limits_hold_however_the_bytes_arrive() {
    let limits = HeadLimits { head_bytes: 60, head_count: 3, target_bytes: 20 };
    let heads = [
        "GET / HTTP/1.1\r\nHost: a\r\nX: 0123456789012345678901234567\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX: 01234567890123456789012345678\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX: 012345678901234567890123456789012\r\n bad\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX: y\r\nX: y\r\nX: y\r\n bad\r\n\r\n",
        "GET /01234567890123456789 HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /0123456789012345678901234567890123456789012345678901234567890123456789",
    ];
    let mut found = Vec::new();
    for head in heads {
        let parse = |bytes: &[u8]| {
            let mut slots = HeaderSlots::new();
            parse_request(bytes, &limits, &mut slots).map(|request| request.is_some())
        };
        let whole = parse(head.as_bytes());
        let first =
            (0..=head.len()).map(|end| parse(&head.as_bytes()[..end])).find(|r| *r != Ok(false));
        assert_eq!(first, Some(whole), "{head}");
        found.push(whole);
    }
    let expected = [
        Ok(true),
        Err(Defect::HeadTooLarge),
        Err(Defect::HeadTooLarge),
        Err(Defect::TooManyFields),
        Err(Defect::TargetTooLong),
        Err(Defect::TargetTooLong),
    ];
    assert_eq!(found, expected);
}

/// A head that is often acceptable and often nearly so.
fn head(first: &'static [&'static str]) -> impl Strategy<Value = Vec<u8>> {
    let field = prop_oneof![
        4 => "[A-Za-z-]{1,12}: ?[ -~]{0,20}\r\n",
        2 => prop::sample::select(FIELDS).prop_map(|field| format!("{field}\r\n")),
        1 => "[ -~\t\r\n]{0,12}\r\n",
    ];
    let end = prop_oneof![9 => Just("\r\n"), 1 => Just("\n"), 1 => Just("")];
    (prop::sample::select(first), prop::collection::vec(field, 0..6), end)
        .prop_map(|(first, fields, end)| format!("{first}{}{end}", fields.concat()).into_bytes())
}

const FIELDS: &[&str] = &[
    "Host: a.example",
    "Content-Length: 5",
    "Content-Length: 0",
    "Transfer-Encoding: chunked",
    "Connection: close",
    "Connection: keep-alive, Upgrade, x-a",
    "Connection: X-A, TE",
    "Upgrade: websocket",
    "TE: trailers",
    "Trailer: x",
    "Expect: 100-continue",
    "X-Forwarded-For: 10.0.0.1",
    "X-Forwarded-Proto: https",
    "X-Forwarded-Host: b",
    "Forwarded: for=1.1.1.1",
    "Via: 1.1 edge",
    "x-a: 1",
    "Keep-Alive: timeout=7",
];
const REQUESTS: &[&str] = &[
    "GET / HTTP/1.1\r\nHost: h\r\n",
    "POST /a?b HTTP/1.1\r\nHost: h:8080\r\n",
    "HEAD http://h.example/x HTTP/1.1\r\nHost: h\r\n",
    "OPTIONS * HTTP/1.1\r\nHost: h\r\n",
    "GET /a HTTP/1.0\r\n",
    "GET / HTTP/1.1\n",
];
const ANSWERS: &[&str] = &[
    "HTTP/1.1 200 OK\r\n",
    "HTTP/1.1 101 Switching Protocols\r\n",
    "HTTP/1.1 204 No Content\r\n",
    "HTTP/1.0 304\r\n",
    "HTTP/1.0 200 OK\r\n",
    "HTTP/1.1 103 Early Hints\r\n",
];
const TREATMENTS: &[ForwardedPolicy] = &[
    ForwardedPolicy::Keep,
    ForwardedPolicy::Append,
    ForwardedPolicy::Replace,
    ForwardedPolicy::Remove,
    ForwardedPolicy::Pass,
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_make_the_codec_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        requests(&bytes, &HeadLimits::default());
        for asked in [ResponseContext::Head, ResponseContext::Connect, ResponseContext::Upgrade, ResponseContext::Other] {
            answers(&bytes, asked, HttpVersion::Http10);
        }
        prop_assert!(fed(&bytes, &[7], ChunkedOutput::Unframed).0.len() <= bytes.len());
    }

    #[test]
    fn request_heads_mean_the_same_however_they_are_cut(bytes in head(REQUESTS)) {
        prop_assert_eq!(trickled_request(&bytes), whole_request(&bytes));
    }

    #[test]
    fn answer_heads_mean_the_same_however_they_are_cut(bytes in head(ANSWERS)) {
        prop_assert_eq!(trickled_answer(&bytes, ResponseContext::Upgrade), whole_answer(&bytes, ResponseContext::Upgrade));
    }

    #[test]
    fn a_request_that_we_write_is_one_that_we_accept(
        bytes in head(REQUESTS),
        x_forwarded in prop::sample::select(TREATMENTS),
        forwarded in prop::sample::select(TREATMENTS),
        keep_upgrade: bool,
    ) {
        let mut slots = HeaderSlots::new();
        let Ok(Some(request)) = parse_request(&bytes, &HeadLimits::default(), &mut slots) else {
            return Ok(());
        };
        let edits = wire::http1::RequestEdits { x_forwarded, forwarded, keep_upgrade, ..request_edits() };
        let mut out = Vec::new();
        emit_request(&request, &edits, &mut out);
        let mut again_slots = HeaderSlots::new();
        let again = parse_request(&out, &HeadLimits::default(), &mut again_slots).unwrap().unwrap();
        prop_assert_eq!(again.head_len, out.len());
        prop_assert_eq!(again.method, request.method);
        prop_assert_eq!((again.path(), again.query()), (request.path(), request.query()));
        prop_assert_eq!(again.body, request.body);
        prop_assert_eq!(again.expect_continue, request.expect_continue);
        prop_assert_eq!(again.upgrade, request.upgrade.filter(|_| keep_upgrade));
        prop_assert_eq!(again.host, request.host.or(Some("192.0.2.1:80")));
        let told = again.headers.iter().filter(|h| h.name.eq_ignore_ascii_case("x-forwarded-for")).count();
        match x_forwarded {
            ForwardedPolicy::Append | ForwardedPolicy::Replace => prop_assert_eq!(told, 1),
            ForwardedPolicy::Remove => prop_assert_eq!(told, 0),
            ForwardedPolicy::Keep | ForwardedPolicy::Pass => {}
        }
        // Writing once more with nothing to add changes nothing but hop-by-hop fields.
        let quiet = wire::http1::RequestEdits {
            x_forwarded: ForwardedPolicy::Keep, forwarded: ForwardedPolicy::Keep, via: None, keep_upgrade: true, ..edits
        };
        let (mut second, mut third) = (Vec::new(), Vec::new());
        emit_request(&again, &quiet, &mut second);
        let mut third_slots = HeaderSlots::new();
        let twice = parse_request(&second, &HeadLimits::default(), &mut third_slots).unwrap().unwrap();
        emit_request(&twice, &quiet, &mut third);
        prop_assert_eq!(second, third);
    }

    #[test]
    fn an_answer_that_we_write_is_one_that_we_accept(
        bytes in head(ANSWERS),
        asked in prop::sample::select(&[ResponseContext::Head, ResponseContext::Upgrade, ResponseContext::Other][..]),
        client_version in prop::sample::select(&[HttpVersion::Http10, HttpVersion::Http11][..]),
        persist in prop::sample::select(&[ConnectionPersistence::Close, ConnectionPersistence::KeepAlive][..]),
    ) {
        let mut slots = HeaderSlots::new();
        let Ok(Some(answer)) = parse_response(&bytes, &HeadLimits::default(), &mut slots, asked) else {
            return Ok(());
        };
        let edits = ResponseEdits {
            client_version,
            persist,
            via: Some("b"),
            keep_upgrade: true,
            removed_headers: &[],
            removed_cookie: None,
            lines: b"",
        };
        let mut out = Vec::new();
        emit_response(&answer, &edits, &mut out);
        let mut again_slots = HeaderSlots::new();
        let again = parse_response(&out, &HeadLimits::default(), &mut again_slots, asked).unwrap().unwrap();
        prop_assert_eq!(again.head_len, out.len());
        prop_assert_eq!(again.status, answer.status);
        prop_assert_eq!(again.reason, answer.reason);
        prop_assert_eq!(again.upgrade, answer.upgrade);
        if answer.ends_with_close(client_version) {
            prop_assert_eq!(again.body, wire::http1::ResponseBody::UntilClose);
        } else {
            prop_assert_eq!(again.body, answer.body);
        }
        let stays = persist == ConnectionPersistence::KeepAlive && !answer.ends_with_close(client_version);
        if !answer.is_interim() {
            prop_assert_eq!(again.keep_alive, stays);
        }
    }

    #[test]
    fn chunks_come_back_whole_however_they_are_cut(
        parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..40), 0..6),
        pieces in prop::collection::vec(1usize..30, 1..5),
        rest in prop::collection::vec(any::<u8>(), 0..10),
    ) {
        let mut body = Vec::new();
        for part in &parts {
            body.extend_from_slice(format!("{:x}\r\n", part.len()).as_bytes());
            body.extend_from_slice(part);
            body.extend_from_slice(b"\r\n");
        }
        body.extend_from_slice(b"0\r\nX-Sum: 1\r\n\r\n");
        let length = body.len();
        body.extend_from_slice(&rest);
        let (plain, end) = fed(&body, &pieces, ChunkedOutput::Unframed);
        prop_assert_eq!(end, Ok(Some(length)));
        prop_assert_eq!(plain, parts.concat());
        // The body is in normal form already, so writing it again changes nothing.
        let (chunks, end) = fed(&body, &pieces, ChunkedOutput::Chunked);
        prop_assert_eq!(end, Ok(Some(length)));
        prop_assert_eq!(chunks, &body[..length]);
    }

    #[test]
    fn broken_chunks_break_the_same_way_however_they_are_cut(
        body in "(([0-9a-f]{1,2})?(;[a-z]{0,9})?\r?\n?[a-z]{0,6}\r?\n?){1,6}(0\r\n([A-Za-z]{1,5}: ?[a-z]{0,4}\r?\n){0,3}\r\n)?",
        pieces in prop::collection::vec(1usize..10, 1..5),
    ) {
        let body = body.as_bytes();
        prop_assert_eq!(fed(body, &pieces, ChunkedOutput::Chunked), fed(body, &[body.len()], ChunkedOutput::Chunked));
        let (out, _) = fed(body, &pieces, ChunkedOutput::Chunked);
        prop_assert!(out.len() <= body.len());
    }
}
