//! Which answer is compressed how: rows of what clients accept and of what answers are, and properties of both.

use model::compress::{Answer, Asked, Skipped, Told, judge, judge_left_out};
use model::config::{Coding, Compress};
use proptest::prelude::*;

use Coding::{Br, Gzip, Zstd};

fn asked(accept: &str) -> Asked {
    Asked::read(std::iter::once(accept.as_bytes()), std::iter::empty())
}

fn config() -> Compress {
    let types = ["text/*", "application/json"].map(str::to_owned).to_vec();
    Compress { codings: Coding::ALL.to_vec(), types, min: 100, at_once: 1, busy: 80 }
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
        // What cannot be read is not accepted.
        ("gzip;q=2", None),
        ("gzip;q=1.001", None),
        ("gzip;q=0.0001", None),
        ("gzip;q=", None),
        ("gzip;q=-1", None),
        ("gzip;v=1", None),
        ("gzip;q=0.5;x, br;q=0.4", Some(Gzip)),
        (",, ,gzip,", Some(Gzip)),
    ] {
        assert_eq!(asked(accept).best(&Coding::ALL), best, "{accept}");
    }
    assert_eq!(asked("gzip, br, zstd").best(&[Gzip, Br]), Some(Gzip), "ours among equals");
    assert_eq!(asked("zstd").best(&[Gzip, Br]), None);
    let lines = [&b"br;q=0.5"[..], b"gzip"];
    assert_eq!(Asked::read(lines.into_iter(), std::iter::empty()).best(&Coding::ALL), Some(Gzip));
    let flood = format!("{}gzip", "a,".repeat(10_000));
    assert_eq!(asked(&flood).best(&Coding::ALL), None, "so many are not looked at");
}

#[test]
fn each_reason_not_to() {
    type Row = (&'static str, u16, Option<u64>, Result<Coding, Skipped>);
    let rows: [Row; 26] = [
        ("content-type: text/html", 200, None, Ok(Gzip)),
        ("Content-Type: TEXT/Html; charset=utf-8", 200, Some(100), Ok(Gzip)),
        ("content-type: application/json ;x", 404, Some(5_000), Ok(Gzip)),
        ("content-type: text/event-stream", 200, None, Ok(Gzip)),
        ("content-type: text/html|content-encoding: identity", 200, None, Ok(Gzip)),
        ("content-type: text/html|cache-control: no-transformer", 200, None, Ok(Gzip)),
        ("content-type: text/html", 500, Some(100), Ok(Gzip)),
        ("content-type: text/html", 200, Some(99), Err(Skipped::Small)),
        ("content-type: text/html", 200, Some(0), Err(Skipped::Small)),
        ("content-type: text", 200, None, Err(Skipped::Type)),
        ("content-type: image/png", 200, None, Err(Skipped::Type)),
        ("content-type: application/jsonx", 200, None, Err(Skipped::Type)),
        ("", 200, None, Err(Skipped::Type)),
        ("content-type: text/html|content-encoding: br", 200, None, Err(Skipped::Coded)),
        ("content-type: text/html|content-encoding: aws-chunked", 200, None, Err(Skipped::Coded)),
        (
            "content-type: text/html|cache-control: public, No-Transform",
            200,
            None,
            Err(Skipped::Kept),
        ),
        ("content-type: text/html|content-md5: x", 200, None, Err(Skipped::Kept)),
        ("content-type: text/html|digest: x", 200, None, Err(Skipped::Kept)),
        ("content-type: text/html|repr-digest: x", 200, None, Err(Skipped::Kept)),
        ("content-type: text/html|content-digest: x", 200, None, Err(Skipped::Kept)),
        ("content-type: text/html", 206, None, Err(Skipped::Bodiless)),
        ("content-type: text/html|content-range: bytes 0-1/2", 200, None, Err(Skipped::Bodiless)),
        ("content-type: text/html", 204, None, Err(Skipped::Bodiless)),
        ("content-type: text/html", 304, None, Err(Skipped::Bodiless)),
        ("content-type: text/html", 103, None, Err(Skipped::Bodiless)),
        ("content-type: text/html", 101, None, Err(Skipped::Bodiless)),
    ];
    for (fields, status, length, want) in rows {
        let lines = fields.split('|').filter_map(|line| line.split_once(": "));
        let told = Told::gather(lines.map(|(name, value)| (name, value.as_bytes())));
        let answer = Answer { status, body: true, length, told };
        let judged = |asked: &Asked, old| judge(&config(), asked, &answer, old);
        assert_eq!(judged(&asked("gzip"), false), want, "{fields} {status}");
        if want.is_ok() {
            assert_eq!(judged(&asked("gzip"), true), Err(Skipped::Old));
            assert_eq!(judged(&asked("identity"), false), Err(Skipped::Client));
            let strict =
                Asked::read([&b"gzip"[..]].into_iter(), [&b"no-transform"[..]].into_iter());
            assert_eq!(judged(&strict, false), Err(Skipped::Kept));
            let head = Answer { body: false, ..answer };
            assert_eq!(judge(&config(), &asked("gzip"), &head, false), Err(Skipped::Bodiless));
        }
    }
}

#[test]
fn what_is_told_of_validators_and_caches() {
    let told = |fields: &'static [(&'static str, &'static str)]| {
        Told::gather(fields.iter().map(|(name, value)| (*name, value.as_bytes())))
    };
    assert_eq!(told(&[("ETag", "\"a\"")]).strong_tag, Some(&b"\"a\""[..]));
    assert_eq!(told(&[("etag", "W/\"a\"")]).strong_tag, None);
    assert!(told(&[("vary", "cookie, Accept-Encoding")]).varies);
    assert!(told(&[("Vary", "cookie"), ("VARY", "*")]).varies);
    assert!(!told(&[("vary", "accept-encodings")]).varies);
}

proptest! {
    /// Whatever a client writes, it gets nothing that it has not named with a weight above nothing.
    #[test]
    fn nothing_is_sent_that_was_not_accepted(accept in "[a-z*;=q0-9., -]{0,60}") {
        if let Some(coding) = asked(&accept).best(&Coding::ALL) {
            let named = accept.contains(coding.name()) || accept.contains('*');
            prop_assert!(named, "{accept}: {coding:?}");
        }
    }

    #[test]
    fn weights_decide_and_then_our_order(weights in prop::array::uniform3(0u16..=1000)) {
        let accept = Coding::ALL.iter().zip(weights);
        let accept = accept.map(|(c, w)| format!("{};q={}.{:03}", c.name(), w / 1000, w % 1000));
        let accept = accept.collect::<Vec<_>>().join(",");
        let most = weights.iter().max().copied().unwrap_or(0);
        let first = weights.iter().position(|weight| *weight == most).map(|at| Coding::ALL[at]);
        prop_assert_eq!(asked(&accept).best(&Coding::ALL), first.filter(|_| most > 0), "{}", accept);
    }
}

/// An answer to HEAD, and a 304, say what the whole answer would say.
#[test]
fn what_is_left_out_is_judged_as_the_whole_would_be() {
    type Row = (u16, &'static str, Option<u64>, &'static str, Result<Coding, Skipped>);
    let rows: [Row; 9] = [
        (200, "text/html", Some(5_000), "gzip", Ok(Gzip)),
        (200, "text/html", None, "gzip", Ok(Gzip)),
        (200, "text/html", Some(5), "gzip", Err(Skipped::Small)),
        (200, "image/png", Some(5_000), "gzip", Err(Skipped::Type)),
        (200, "", Some(5_000), "gzip", Err(Skipped::Type)),
        (200, "text/html", Some(5_000), "identity", Err(Skipped::Client)),
        (304, "", None, "gzip", Ok(Gzip)),
        (304, "", Some(0), "identity", Err(Skipped::Client)),
        (304, "image/png", None, "gzip", Err(Skipped::Type)),
    ];
    for (status, media, length, accept, expected) in rows {
        let told = Told { media: media.as_bytes(), ..Told::default() };
        let answer = Answer { status, body: false, length, told };
        assert_eq!(judge(&config(), &asked(accept), &answer, false), Err(Skipped::Bodiless));
        let judged = judge_left_out(&config(), &asked(accept), &answer, false);
        assert_eq!(judged, expected, "{status} {media} {accept}");
    }
    for status in [100, 204, 206] {
        let answer = Answer { status, body: false, length: None, told: Told::default() };
        let judged = judge_left_out(&config(), &asked("gzip"), &answer, false);
        assert_eq!(judged, Err(Skipped::Bodiless), "{status}");
    }
}
