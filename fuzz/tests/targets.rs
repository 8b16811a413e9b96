//! Every target on stable Rust: the corpus, and seeded mutations of it.

#![allow(clippy::unwrap_used, reason = "a test's helpers fail the test")]

use fuzz::drive::{Target, drive};
use fuzz::mutate::HTTP_WORDS;
use fuzz::{
    beat, config, corpus, dialogue, history, http1, http2, http3, names, proxy, replica, trace,
    vrrp,
};

fn streams(kind: &str) -> Vec<Vec<u8>> {
    let short = |case: corpus::Case| (case.sent.len() < 4_000).then_some(case.sent);
    corpus::load(kind).into_iter().filter_map(short).collect()
}

fn target<'a>(name: &'a str, seeds: &'a [Vec<u8>], runs: u64) -> Target<'a> {
    Target { name, seeds, words: HTTP_WORDS, runs }
}

#[test]
fn http1_request() {
    let seeds = streams("requests");
    drive(target("http1_request", &seeds, 20_000), http1::request);
}

#[test]
fn http1_response() {
    let asked = |stream: &Vec<u8>| ["o", "h", "u"].map(|kind| [kind.as_bytes(), stream].concat());
    let seeds: Vec<_> = streams("answers").iter().flat_map(asked).collect();
    drive(target("http1_response", &seeds, 20_000), http1::response);
}

/// The bodies of every chunked message of the corpus.
#[test]
fn chunked() {
    let body = |stream: Vec<u8>| {
        let end = stream.windows(4).position(|four| four == b"\r\n\r\n")?;
        let coded = stream[..end].windows(7).any(|seven| seven.eq_ignore_ascii_case(b"chunked"));
        coded.then(|| stream[end + 4..].to_vec())
    };
    let all = [streams("requests"), streams("answers")].concat();
    let seeds: Vec<_> = all.into_iter().filter_map(body).collect();
    assert!(seeds.len() > 20);
    drive(target("chunked", &seeds, 40_000), http1::chunked);
}

/// Heads in the form of the target, with what may and may not stand in them.
fn heads() -> Vec<Vec<u8>> {
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
    // One byte ends a line.
    seeds.map(|seed| seed.chars().map(|letter| letter as u8).collect()).collect()
}

#[test]
fn http2_request() {
    drive(target("http2_request", &heads(), 20_000), http2::request);
}

#[test]
fn http2_answer() {
    let seeds: Vec<_> = heads().into_iter().map(|seed| [&[0, 200], &seed[..]].concat()).collect();
    drive(target("http2_answer", &seeds, 20_000), http2::answer);
}

/// A block that spells a request with the table, by name and in full, one of its strings coded.
const BLOCK: &[u8] =
    b"\x00\x00\xd1\xd7\x50\x09a.example\x51\x02/p\x21x\x01y\x23own\x86\xa8\xeb\x10\x64\x9c\xbf";

fn framed(kind: u8, payload: &[u8]) -> Vec<u8> {
    [&[kind, payload.len() as u8], payload].concat()
}

#[test]
fn http3_request() {
    let seeds = [
        [framed(1, BLOCK), framed(0, b"some"), framed(0x21, b"?"), framed(0, b"body")].concat(),
        [framed(1, BLOCK), framed(0, b"x"), framed(1, b"\x00\x00\x21x\x01y")].concat(),
    ];
    drive(target("http3_request", &seeds, 40_000), http3::request);
}

#[test]
fn http3_block() {
    drive(target("http3_block", &[BLOCK.to_vec()], 40_000), http3::block);
}

#[test]
fn http3_one_way() {
    let seeds = [
        b"\x00\x04\x02\x06\x05\x0d\x01\x09\x07\x01\x00\x21\x03abc".to_vec(),
        b"\x02\x20".to_vec(),
        b"\x03\x44\x80".to_vec(),
    ];
    drive(target("http3_one_way", &seeds, 20_000), http3::one_way);
}

#[test]
fn http2_frames() {
    let frames: [&[u8]; 3] = [
        &[0, 0, 4, 3, 0, 0, 0, 0, 1, 0, 0, 0, 8],
        &[0, 0, 2, 1, 0, 0, 0, 0, 1, 7, 7, 0, 0, 1, 9, 4, 0, 0, 0, 1, 7],
        &[0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 11],
    ];
    let seeds = frames.map(<[u8]>::to_vec);
    drive(target("http2_frames", &seeds, 40_000), http2::frames);
}

#[test]
fn config() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    let mut files: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let seeds: Vec<_> = files.iter().map(|file| std::fs::read(file).unwrap()).collect();
    drive(Target { words: config::WORDS, ..target("config", &seeds, 400) }, config::load);
}

/// The first packets of the recreated study.
fn study() -> Vec<u8> {
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../crates/trace/tests/captures/two_lb_slow_lb2.pcap.gz"
    );
    let packed = std::fs::File::open(file).unwrap();
    let mut first = Vec::new();
    let mut whole = flate2::read::GzDecoder::new(packed);
    std::io::Read::read_to_end(&mut std::io::Read::take(&mut whole, 8_000), &mut first).unwrap();
    first
}

fn captures(name: &str, seeds: &[Vec<u8>]) {
    drive(Target { words: trace::WORDS, ..target(name, seeds, 2_000) }, trace::capture);
}

#[test]
fn capture_pcap() {
    let first = study();
    captures("capture pcap", &[first.clone(), first[..3_000].to_vec()]);
}

#[test]
fn capture_pcapng() {
    let first = study();
    captures("capture pcapng", &[pcapng(&first), pcapng(&first[..3_000])]);
}

/// Packed: what is mutated is the packing, and what comes out of it.
#[test]
fn capture_gzip() {
    let first = study();
    let packed = |bytes: &[u8], level: flate2::Compression| {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), level);
        std::io::Write::write_all(&mut packer, bytes).unwrap();
        packer.finish().unwrap()
    };
    // What is stored as it is lets mutations of the capture itself through, up to the sum at the end.
    let stored = packed(&first[..3_000], flate2::Compression::none());
    captures("capture gzip", &[packed(&first, flate2::Compression::fast()), stored]);
}

/// The packets of a classic file in enhanced blocks.
fn pcapng(classic: &[u8]) -> Vec<u8> {
    let block = |kind: u32, body: &[u8]| {
        let mut body = body.to_vec();
        body.resize(body.len().next_multiple_of(4), 0);
        let length = (body.len() as u32 + 12).to_le_bytes();
        [&kind.to_le_bytes()[..], &length, &body, &length].concat()
    };
    let section = [&0x1a2b_3c4d_u32.to_le_bytes()[..], &[1, 0, 0, 0], &[0xff; 8]].concat();
    let mut out = block(0x0a0d_0d0a, &section);
    out.extend(block(1, &[1, 0, 0, 0, 0, 0, 1, 0]));
    let mut rest = &classic[24..];
    while rest.len() > 16 {
        let kept = u32::from_le_bytes(rest[8..12].try_into().unwrap()) as usize;
        let Some(bytes) = rest.get(16..16 + kept) else { break };
        let fields = [&[0; 8][..], &rest[4..8], &rest[8..16], bytes].concat();
        out.extend(block(6, &fields));
        rest = &rest[16 + kept..];
    }
    out
}

#[test]
fn dialogues_of_probes() {
    for protocol in dialogue::protocols() {
        let name = format!("probe {}", protocol.kind.name());
        // HTTP/2 takes a whole connection to say anything.
        let runs = if matches!(protocol.kind.name(), "http2" | "grpc") { 300 } else { 2_000 };
        let target = Target { words: dialogue::WORDS, ..target(&name, &protocol.seeds, runs) };
        drive(target, |bytes| dialogue::talk(&protocol.kind, bytes));
    }
}

#[test]
fn agents() {
    let seeds = [
        &b"75% up ready # fine\r\n"[..],
        b"drain,down#disk\n",
        b"{\"cpu_utilization\": 0.3, \"named_metrics\": {\"a\": 1}}",
        b"TEXT cpu_utilization=0.3,application_utilization=0.7",
        b"BIN CQAAAAAAAOA/",
    ];
    let seeds: Vec<_> = seeds.iter().map(|seed| seed.to_vec()).collect();
    drive(Target { words: dialogue::WORDS, ..target("agents", &seeds, 10_000) }, dialogue::agent);
}

#[test]
fn history_files() {
    let words: &[&[u8]] = &[b"sthist\0\x01", b"\xff\xff\xff\xff", b"\0\0\0\0", b"\x80", b"server/"];
    let seeds = history::seeds();
    drive(Target { words, ..target("history file", &seeds, 10_000) }, history::file);
    drive(Target { words, ..target("history records", &seeds, 10_000) }, history::records);
}

#[test]
fn vrrp_frames() {
    drive(target("vrrp_frames", &vrrp::seeds(), 40_000), vrrp::frame);
}

#[test]
fn vrrp_talk() {
    drive(target("vrrp_talk", &vrrp::seeds(), 20_000), vrrp::talk);
}

#[test]
fn beat_packets() {
    drive(target("beat_packets", &beat::seeds(), 40_000), beat::packet);
}

#[test]
fn beat_talk() {
    drive(target("beat_talk", &beat::talks(), 10_000), beat::talk);
}

#[test]
fn replica_packets() {
    drive(target("replica_packets", &replica::seeds(), 40_000), replica::packet);
}

#[test]
fn replica_talk() {
    drive(target("replica_talk", &replica::talks(), 10_000), replica::talk);
}

#[test]
fn proxy_header() {
    let words: &[&[u8]] = &[
        b"PROXY ",
        b"TCP4 ",
        b"TCP6 ",
        b"UNKNOWN",
        b"\r\n",
        b"\x21\x11",
        b"\x03\0\x04",
        b"\0\x0c",
    ];
    let seeds = proxy::seeds();
    drive(Target { words, ..target("proxy_header", &seeds, 40_000) }, proxy::header);
}

#[test]
fn names_query() {
    let words: &[&[u8]] = &[b"\xc0\x0c", b"\0\0\x29", b"\0\x08", b"\0\x0a", b"\x3f", b"\xff\xff"];
    drive(Target { words, ..target("names query", &names::seeds(), 20_000) }, names::query);
}
