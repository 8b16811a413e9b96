//! Which responses are compressed how: rows of accepted codings and of responses, and properties of both.

use model::compression::{
    AcceptedEncodings, CompressionSkip, EncodingFields, ResponseSummary, choose_coding,
    choose_coding_for_stripped,
};
use model::config::{CompressionConfig, ContentCoding};
use proptest::prelude::*;

use ContentCoding::{Br, Gzip, Zstd};

fn accepted_encodings(accept: &str) -> AcceptedEncodings {
    AcceptedEncodings::parse_headers(std::iter::once(accept.as_bytes()), std::iter::empty())
}

fn config() -> CompressionConfig {
    let types = ["text/*", "application/json"].map(str::to_owned).to_vec();
    CompressionConfig {
        codings: ContentCoding::ALL.to_vec(),
        types,
        min: 100,
        at_once: 1,
        busy: 80,
    }
}

#[test]
fn what_a_client_accepts() {
    for (accept, best) in [
        ("gzip", Some(Gzip)),
        ("gzip, deflate, br, zstd", Some(Zstd)),
        ("gzip, deflate, br", Some(Br)),
        ("GZip", Some(Gzip)),
        ("x-gzip", Some(Gzip)),
        ("deflate", None),
        ("", None),
        ("identity", None),
        ("*", Some(Zstd)),
        ("*;q=0", None),
        ("gzip;q=0, *", Some(Zstd)),
        ("zstd;q=0, br;q=0, *;q=0.1", Some(Gzip)),
        ("gzip;q=1.0, br;q=0.9, zstd;q=0.9", Some(Gzip)),
        ("br;q=0.001", Some(Br)),
        ("br;q=0", None),
        ("br;q=0.000, gzip ; q=0.5", Some(Gzip)),
        ("identity;q=1, gzip;q=0.5", None),
        ("identity;q=0.5, gzip;q=0.5", Some(Gzip)),
        ("identity;q=0, gzip;q=0.1", Some(Gzip)),
        // An unreadable weight counts as not accepted.
        ("gzip;q=2", None),
        ("gzip;q=1.001", None),
        ("gzip;q=0.0001", None),
        ("gzip;q=", None),
        ("gzip;q=-1", None),
        ("gzip;v=1", None),
        ("gzip;q=0.5;x, br;q=0.4", Some(Gzip)),
        (",, ,gzip,", Some(Gzip)),
    ] {
        assert_eq!(accepted_encodings(accept).best_coding(&ContentCoding::ALL), best, "{accept}");
    }
    assert_eq!(
        accepted_encodings("gzip, br, zstd").best_coding(&[Gzip, Br]),
        Some(Gzip),
        "ours among equals"
    );
    assert_eq!(accepted_encodings("zstd").best_coding(&[Gzip, Br]), None);
    let lines = [&b"br;q=0.5"[..], b"gzip"];
    assert_eq!(
        AcceptedEncodings::parse_headers(lines.into_iter(), std::iter::empty())
            .best_coding(&ContentCoding::ALL),
        Some(Gzip)
    );
    let flood = format!("{}gzip", "a,".repeat(10_000));
    assert_eq!(
        accepted_encodings(&flood).best_coding(&ContentCoding::ALL),
        None,
        "so many are not looked at"
    );
}

type CodingRow = (&'static str, u16, Option<u64>, Result<ContentCoding, CompressionSkip>);
/// The fields of a response, its status, its length, and the coding that is chosen for a client that accepts gzip.
const CODING_ROWS: [CodingRow; 26] = [
    ("content-type: text/html", 200, None, Ok(Gzip)),
    ("Content-Type: TEXT/Html; charset=utf-8", 200, Some(100), Ok(Gzip)),
    ("content-type: application/json ;x", 404, Some(5_000), Ok(Gzip)),
    ("content-type: text/event-stream", 200, None, Ok(Gzip)),
    ("content-type: text/html|content-encoding: identity", 200, None, Ok(Gzip)),
    ("content-type: text/html|cache-control: no-transformer", 200, None, Ok(Gzip)),
    ("content-type: text/html", 500, Some(100), Ok(Gzip)),
    ("content-type: text/html", 200, Some(99), Err(CompressionSkip::TooSmall)),
    ("content-type: text/html", 200, Some(0), Err(CompressionSkip::TooSmall)),
    ("content-type: text", 200, None, Err(CompressionSkip::MediaType)),
    ("content-type: image/png", 200, None, Err(CompressionSkip::MediaType)),
    ("content-type: application/jsonx", 200, None, Err(CompressionSkip::MediaType)),
    ("", 200, None, Err(CompressionSkip::MediaType)),
    (
        "content-type: text/html|content-encoding: br",
        200,
        None,
        Err(CompressionSkip::AlreadyEncoded),
    ),
    (
        "content-type: text/html|content-encoding: aws-chunked",
        200,
        None,
        Err(CompressionSkip::AlreadyEncoded),
    ),
    (
        "content-type: text/html|cache-control: public, No-Transform",
        200,
        None,
        Err(CompressionSkip::NoTransform),
    ),
    ("content-type: text/html|content-md5: x", 200, None, Err(CompressionSkip::NoTransform)),
    ("content-type: text/html|digest: x", 200, None, Err(CompressionSkip::NoTransform)),
    ("content-type: text/html|repr-digest: x", 200, None, Err(CompressionSkip::NoTransform)),
    ("content-type: text/html|content-digest: x", 200, None, Err(CompressionSkip::NoTransform)),
    ("content-type: text/html", 206, None, Err(CompressionSkip::NoBody)),
    ("content-type: text/html|content-range: bytes 0-1/2", 200, None, Err(CompressionSkip::NoBody)),
    ("content-type: text/html", 204, None, Err(CompressionSkip::NoBody)),
    ("content-type: text/html", 304, None, Err(CompressionSkip::NoBody)),
    ("content-type: text/html", 103, None, Err(CompressionSkip::NoBody)),
    ("content-type: text/html", 101, None, Err(CompressionSkip::NoBody)),
];

#[test]
fn each_reason_not_to() {
    for (fields, status, length, want) in CODING_ROWS {
        let lines = fields.split('|').filter_map(|line| line.split_once(": "));
        let head = EncodingFields::from_fields(lines.map(|(name, value)| (name, value.as_bytes())));
        let answer = ResponseSummary { status, body: true, length, fields: head };
        let judged = |asked: &AcceptedEncodings, old| choose_coding(&config(), asked, &answer, old);
        assert_eq!(judged(&accepted_encodings("gzip"), false), want, "{fields} {status}");
        if want.is_ok() {
            assert_eq!(
                judged(&accepted_encodings("gzip"), true),
                Err(CompressionSkip::Http10Client)
            );
            assert_eq!(
                judged(&accepted_encodings("identity"), false),
                Err(CompressionSkip::NotAccepted)
            );
            let strict = AcceptedEncodings::parse_headers(
                [&b"gzip"[..]].into_iter(),
                [&b"no-transform"[..]].into_iter(),
            );
            assert_eq!(judged(&strict, false), Err(CompressionSkip::NoTransform));
            let head = ResponseSummary { body: false, ..answer };
            assert_eq!(
                choose_coding(&config(), &accepted_encodings("gzip"), &head, false),
                Err(CompressionSkip::NoBody)
            );
        }
    }
}

#[test]
fn validators_and_caches_are_respected() {
    let told = |fields: &'static [(&'static str, &'static str)]| {
        EncodingFields::from_fields(fields.iter().map(|(name, value)| (*name, value.as_bytes())))
    };
    assert_eq!(told(&[("ETag", "\"a\"")]).strong_tag, Some(&b"\"a\""[..]));
    assert_eq!(told(&[("etag", "W/\"a\"")]).strong_tag, None);
    assert!(told(&[("vary", "cookie, Accept-Encoding")]).varies);
    assert!(told(&[("Vary", "cookie"), ("VARY", "*")]).varies);
    assert!(!told(&[("vary", "accept-encodings")]).varies);
}

proptest! {
    /// For any input, a client gets only codings that it has named with a positive weight.
    #[test]
    fn nothing_is_sent_that_was_not_accepted(accept in "[a-z*;=q0-9., -]{0,60}") {
        if let Some(coding) = accepted_encodings(&accept).best_coding(&ContentCoding::ALL) {
            let named = accept.contains(coding.name()) || accept.contains('*');
            prop_assert!(named, "{accept}: {coding:?}");
        }
    }

    #[test]
    fn weights_decide_and_then_our_order(weights in prop::array::uniform3(0u16..=1000)) {
        let accept = ContentCoding::ALL.iter().zip(weights);
        let accept = accept.map(|(c, w)| format!("{};q={}.{:03}", c.name(), w / 1000, w % 1000));
        let accept = accept.collect::<Vec<_>>().join(",");
        let most = weights.iter().max().copied().unwrap_or(0);
        let first = weights.iter().position(|weight| *weight == most).map(|at| ContentCoding::ALL[at]);
        prop_assert_eq!(accepted_encodings(&accept).best_coding(&ContentCoding::ALL), first.filter(|_| most > 0), "{}", accept);
    }
}

/// A response to HEAD, and a 304, have the fields of the whole response.
#[test]
fn a_stripped_response_is_negotiated_like_the_whole_one() {
    type Row =
        (u16, &'static str, Option<u64>, &'static str, Result<ContentCoding, CompressionSkip>);
    let rows: [Row; 9] = [
        (200, "text/html", Some(5_000), "gzip", Ok(Gzip)),
        (200, "text/html", None, "gzip", Ok(Gzip)),
        (200, "text/html", Some(5), "gzip", Err(CompressionSkip::TooSmall)),
        (200, "image/png", Some(5_000), "gzip", Err(CompressionSkip::MediaType)),
        (200, "", Some(5_000), "gzip", Err(CompressionSkip::MediaType)),
        (200, "text/html", Some(5_000), "identity", Err(CompressionSkip::NotAccepted)),
        (304, "", None, "gzip", Ok(Gzip)),
        (304, "", Some(0), "identity", Err(CompressionSkip::NotAccepted)),
        (304, "image/png", None, "gzip", Err(CompressionSkip::MediaType)),
    ];
    for (status, media, length, accept, expected) in rows {
        let fields = EncodingFields { media_type: media.as_bytes(), ..EncodingFields::default() };
        let answer = ResponseSummary { status, body: false, length, fields };
        assert_eq!(
            choose_coding(&config(), &accepted_encodings(accept), &answer, false),
            Err(CompressionSkip::NoBody)
        );
        let coding =
            choose_coding_for_stripped(&config(), &accepted_encodings(accept), &answer, false);
        assert_eq!(coding, expected, "{status} {media} {accept}");
    }
    for status in [100, 204, 206] {
        let answer = ResponseSummary {
            status,
            body: false,
            length: None,
            fields: EncodingFields::default(),
        };
        let coding =
            choose_coding_for_stripped(&config(), &accepted_encodings("gzip"), &answer, false);
        assert_eq!(coding, Err(CompressionSkip::NoBody), "{status}");
    }
}
