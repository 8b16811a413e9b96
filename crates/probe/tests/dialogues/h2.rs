//! HTTP/2 and gRPC health against frames that are written out by hand.

use model::config::{HttpProbe, Pattern, ProbeKind};

use super::support::{DialogueRun, plan, play};

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RESET: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// A frame (RFC 9113 §4.1).
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// A field without index, in plain text (RFC 7541 §6.2.2).
fn field(name: &str, value: &str) -> Vec<u8> {
    let text = |text: &str| [&[u8::try_from(text.len()).unwrap()][..], text.as_bytes()].concat();
    [&[0][..], &text(name), &text(value)].concat()
}

fn talk(kind: &ProbeKind, frames: &[Vec<u8>]) -> DialogueRun {
    let all = [&[frame(SETTINGS, 0, 0, &[])][..], frames].concat().concat();
    let whole = play(&plan(kind), &[&all], true);
    let bytes: Vec<&[u8]> = all.chunks(1).collect();
    let dripped = play(&plan(kind), &bytes, true);
    assert_eq!(whole.result, dripped.result, "where bytes are cut changes nothing");
    whole
}

fn good(kind: &ProbeKind, frames: &[Vec<u8>]) -> String {
    talk(kind, frames).result.unwrap().unwrap()
}

fn bad(kind: &ProbeKind, frames: &[Vec<u8>]) -> String {
    talk(kind, frames).result.unwrap().unwrap_err()
}

#[test]
fn http2() {
    let kind = ProbeKind::Http2(HttpProbe::get("/healthz"));
    // Index 8 of the static table is `:status: 200`.
    let answer = frame(HEADERS, END_HEADERS | END_STREAM, 1, &[0x88]);
    let talk = talk(&kind, &[answer]);
    assert_eq!(talk.result, Some(Ok("http GET /healthz 200".into())));
    assert!(talk.sent.starts_with(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), "the preface");
    let busy = frame(HEADERS, END_HEADERS | END_STREAM, 1, &field(":status", "503"));
    assert!(bad(&kind, &[busy]).contains("status 503"));
    let going = frame(GOAWAY, 0, 0, &[0, 0, 0, 0, 0, 0, 0, 11]);
    assert!(!bad(&kind, &[going]).is_empty());
    assert!(bad(&kind, &[]).contains("closed"));
    let old = play(&plan(&kind), &[b"HTTP/1.1 400 Bad Request\r\n\r\n"], true);
    assert!(old.result.unwrap().unwrap_err().contains("older version"));
    let other = play(&plan(&kind), &[b"SSH-2.0-OpenSSH_9.2\r\n"], true);
    assert_eq!(other.result, Some(Err("the answer is not HTTP/2".into())));
    let malformed = frame(HEADERS, END_HEADERS | END_STREAM, 1, &field(":own", "x"));
    assert!(bad(&kind, &[malformed]).contains("malformed answer"));
    let refused = frame(RESET, 0, 1, &[0, 0, 0, 7]);
    assert!(bad(&kind, &[refused]).contains("refused-stream"));
    let body = ProbeKind::Http2(HttpProbe {
        expect: Some(Pattern::new("^ready$").unwrap()),
        ..HttpProbe::get("/")
    });
    let head = frame(HEADERS, END_HEADERS, 1, &[0x88]);
    let data = |text: &[u8]| frame(DATA, END_STREAM, 1, text);
    assert!(good(&body, &[head.clone(), data(b"ready")]).contains("200"));
    assert!(bad(&body, &[head, data(b"starting")]).contains("lacks"));
}

#[test]
fn grpc_health() {
    let kind = ProbeKind::Grpc { service: "shop.Cart".into(), host: None };
    let head = || {
        let fields = [vec![0x88], field("content-type", "application/grpc")].concat();
        frame(HEADERS, END_HEADERS, 1, &fields)
    };
    let says = |status: u8| frame(DATA, 0, 1, &[0, 0, 0, 0, 2, 8, status]);
    let trailers =
        |code: &str| frame(HEADERS, END_HEADERS | END_STREAM, 1, &field("grpc-status", code));
    let serving = talk(&kind, &[head(), says(1), trailers("0")]);
    assert_eq!(serving.result, Some(Ok("grpc health shop.Cart: serving".into())));
    let request = String::from_utf8_lossy(&serving.sent).into_owned();
    assert!(request.contains("shop.Cart"), "the service is asked about");
    assert!(bad(&kind, &[head(), says(2), trailers("0")]).contains("not serving"));
    assert!(bad(&kind, &[head(), trailers("5")]).contains("service unknown"));
    let alone = [vec![0x88], field("grpc-status", "12")].concat();
    let alone = frame(HEADERS, END_HEADERS | END_STREAM, 1, &alone);
    assert!(bad(&kind, &[alone]).contains("no health service"));
}
