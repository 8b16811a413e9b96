//! Prints the cost of parsing and writing a head: `cargo run --release -p wire --example speed`.
//!
//! The figures are medians of many short runs, so other load on the machine widens the spread but hardly moves the
//! medians. Nothing is asserted.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a program for the one who reads it")]

use std::hint::black_box;
use std::time::Instant;
use wire::http1::{
    ChunkedDecoder, ChunkedOutput, ConnectionPersistence, ForwardedPolicy, HeadLimits, HeaderSlots,
    HttpVersion, RequestEdits, ResponseContext, ResponseEdits, emit_request, emit_response,
    parse_request, parse_response,
};

const REQUEST: &[u8] = b"GET /api/items?page=2 HTTP/1.1\r\nHost: shop.example\r\n\
    User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:141.0) Gecko/20100101 Firefox/141.0\r\n\
    Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n\
    Accept-Language: en-US,en;q=0.5\r\nAccept-Encoding: gzip, deflate\r\n\
    Cookie: session=0123456789abcdef0123456789abcdef; theme=dark\r\n\
    Connection: keep-alive\r\nCache-Control: max-age=0\r\n\r\n";
const SMALL: &[u8] = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nServer: nginx\r\nDate: Sat, 01 Aug 2026 00:00:00 GMT\r\n\
    Content-Type: text/plain\r\nContent-Length: 128\r\nLast-Modified: Sat, 01 Aug 2026 00:00:00 GMT\r\n\
    Connection: keep-alive\r\nETag: \"66ab0000-80\"\r\nAccept-Ranges: bytes\r\n\r\n";

fn main() {
    let edits = RequestEdits {
        client: "192.0.2.7:5555".parse().unwrap(),
        hop: "192.0.2.7:5555".parse().unwrap(),
        local: "192.0.2.1:80".parse().unwrap(),
        scheme: "http",
        trusted: true,
        x_forwarded: ForwardedPolicy::Append,
        forwarded: ForwardedPolicy::Keep,
        via: Some("steelyard"),
        keep_upgrade: true,
        identity: None,
        request_id: None,
        tracing: None,
    };
    let mut out = Vec::with_capacity(8192);
    for (name, bytes) in [("request, 8 fields", REQUEST), ("request, 1 field", SMALL)] {
        time(&format!("{name}: parse"), || {
            let mut slots = HeaderSlots::new();
            black_box(parse_request(black_box(bytes), &HeadLimits::default(), &mut slots)).is_ok()
        });
        time(&format!("{name}: parse and write"), || {
            let mut slots = HeaderSlots::new();
            let parsed = parse_request(black_box(bytes), &HeadLimits::default(), &mut slots);
            out.clear();
            emit_request(&parsed.unwrap().unwrap(), &edits, &mut out);
            black_box(&out).is_empty()
        });
    }
    let edits = ResponseEdits {
        client_version: HttpVersion::Http11,
        persist: ConnectionPersistence::KeepAlive,
        via: Some("steelyard"),
        keep_upgrade: false,
        removed_headers: &[],
        removed_cookie: None,
        lines: b"",
    };
    time("answer, 8 fields: parse and write", || {
        let mut slots = HeaderSlots::new();
        let parsed = parse_response(
            black_box(ANSWER),
            &HeadLimits::default(),
            &mut slots,
            ResponseContext::Other,
        );
        out.clear();
        emit_response(&parsed.unwrap().unwrap(), &edits, &mut out);
        black_box(&out).is_empty()
    });
    let chunks = [&b"400\r\n"[..], &[b'x'; 1024], b"\r\n"].concat().repeat(16);
    let body = [&chunks[..], b"0\r\n\r\n"].concat();
    out.reserve(body.len());
    time("16 chunks of 1 KiB", || {
        out.clear();
        ChunkedDecoder::new(ChunkedOutput::Chunked).feed(black_box(&body), &mut out).is_ok()
    });
}

fn time(name: &str, mut run: impl FnMut() -> bool) {
    const ROUNDS: u32 = 2_000;
    let mut rounds: Vec<f64> = (0..401)
        .map(|_| {
            let from = Instant::now();
            for _ in 0..ROUNDS {
                black_box(run());
            }
            from.elapsed().as_nanos() as f64 / f64::from(ROUNDS)
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    let low = rounds[20];
    let median = rounds[200];
    let high = rounds[380];
    println!("{name:36} {median:7.0} ns  (5 % {low:.0}, 95 % {high:.0})");
}
