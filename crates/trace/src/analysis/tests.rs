//! Numbers of frames near their end, and roles that the first packets do not show.

use super::*;
use crate::ingest::{ReadOutcome, ingest_capture};
use crate::input::CaptureDamage;
use crate::report::TraceReport;
use crate::report_builder::{CaptureSource, build_report};

const FRAMES: u8 = 6;

/// A pcap file of SYNs from ports of their own.
fn syns() -> Vec<u8> {
    let mut out = Vec::new();
    for value in [0xa1b2_3c4d_u32, 0x0004_0002, 0, 0, 65_535, 101] {
        out.extend(value.to_le_bytes());
    }
    for at in 0..FRAMES {
        let mut frame = vec![0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        frame.extend([78, at, 0, 80, 0, 0, 0, 9, 0, 0, 0, 0, 0x50, 2, 1, 0, 0, 0, 0, 0]);
        let length = frame.len() as u32;
        for value in [1_700_000_000 + u32::from(at), 0, length, length] {
            out.extend(value.to_le_bytes());
        }
        out.extend(frame);
    }
    out
}

#[test]
fn frames_beyond_the_last_number_end_the_analysis() {
    let mut analysis = Analysis::default();
    analysis.facts.frames = MAX_FRAMES - 4;
    let mut source = CaptureSource::default();
    let outcome = ingest_capture(&mut analysis, &mut source, "long", &syns()[..], |_| ()).unwrap();
    let ReadOutcome::Partial(CaptureDamage::Frames { most }) = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!(most, u64::from(u32::MAX));
    let report = build_report(analysis.finish(), source);
    assert_eq!(report.capture.frames, MAX_FRAMES);
    assert_eq!(report.connections_total, 4);
    let damage = report.capture.damage.unwrap();
    assert_eq!(damage, "long: there are more than 4294967295 packets");
}

#[test]
fn a_block_of_the_ring_may_go_on_beyond_the_last_number() {
    let mut analysis = Analysis::new(AnalysisSettings { endless: true, ..Default::default() });
    analysis.facts.frames = MAX_FRAMES - 2;
    let bytes = syns();
    let mut capture = crate::input::CaptureReader::open(&bytes[..]).unwrap();
    while let Some(frame) = capture.frame().unwrap() {
        analysis.add_frame(&frame);
    }
    assert!(analysis.is_full());
    let found = analysis.finish();
    assert_eq!(found.facts.frames, MAX_FRAMES - 2 + u64::from(FRAMES));
    assert_eq!(found.connections.len(), usize::from(FRAMES));
}

/// Ports of a client and a server, of which the client's is lower than its like mostly are.
const PORTS: [u16; 2] = [20_000, 46_000];

/// A frame of raw IP from the client (`at` 0) or the server.
fn frame(at: usize, seq: u32, ack: u32, payload: &[u8]) -> Vec<u8> {
    let [from, to] = [at, 1 - at];
    let length = 40 + payload.len() as u16;
    let mut out = vec![0x45, 0];
    out.extend(length.to_be_bytes());
    out.extend([0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, from as u8, 10, 0, 0, to as u8]);
    out.extend([PORTS[from].to_be_bytes(), PORTS[to].to_be_bytes()].concat());
    out.extend([seq.to_be_bytes(), ack.to_be_bytes()].concat());
    out.extend([0x50, 0x10, 1, 0, 0, 0, 0, 0]);
    out.extend(payload);
    out
}

/// A frame and when it passed, milliseconds since the first one.
struct TimedFrame {
    ms: u32,
    bytes: Vec<u8>,
}

fn report_of(frames: &[TimedFrame]) -> TraceReport {
    let mut out = Vec::new();
    for value in [0xa1b2_3c4d_u32, 0x0004_0002, 0, 0, 65_535, 101] {
        out.extend(value.to_le_bytes());
    }
    for TimedFrame { ms, bytes } in frames {
        let length = bytes.len() as u32;
        let [second, rest_ns] = [1_700_000_000 + ms / 1_000, ms % 1_000 * 1_000_000];
        [second, rest_ns, length, length].iter().for_each(|value| out.extend(value.to_le_bytes()));
        out.extend(bytes);
    }
    let mut analysis = Analysis::default();
    let mut source = CaptureSource::default();
    ingest_capture(&mut analysis, &mut source, "middle", &out[..], |_| ()).unwrap();
    build_report(analysis.finish(), source)
}

#[test]
fn the_first_words_say_who_asks_when_only_acknowledgements_came_before() {
    let request = b"GET /a HTTP/1.1\r\nHost: a\r\n\r\n";
    let frames = [
        frame(0, 100, 500, b""),
        frame(0, 100, 500, request),
        frame(1, 500, 100 + request.len() as u32, b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
    ];
    let timed: Vec<_> = (0..).step_by(1_000).zip(&frames).collect();
    let timed = timed.into_iter().map(|(ms, bytes)| TimedFrame { ms, bytes: bytes.clone() });
    let report = report_of(&timed.collect::<Vec<_>>());
    let connection = &report.connections[0];
    assert_eq!(connection.client.port, PORTS[0]);
    assert_eq!(connection.client.sent.packets, 2);
    assert!(!connection.roles_guessed);
    let asked = &connection.transactions[0];
    assert_eq!(asked.title.as_deref(), Some("GET /a"));
}

/// The parts of an answer that came `answer_ms` after its request, milliseconds: the path's, the server's, nobody's.
/// `ack_ms`: when an acknowledgement without data came before it.
fn parts_of_an_answer(ack_ms: Option<u32>, answer_ms: u32) -> [u32; 3] {
    let request = b"GET /a HTTP/1.1\r\nHost: a\r\n\r\n";
    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    let behind = 100 + request.len() as u32;
    let mut frames = vec![TimedFrame { ms: 0, bytes: frame(0, 100, 500, request) }];
    frames.extend(ack_ms.map(|ms| TimedFrame { ms, bytes: frame(1, 500, behind, b"") }));
    frames.push(TimedFrame { ms: answer_ms, bytes: frame(1, 500, behind, answer) });
    let report = report_of(&frames);
    let found = &report.connections[0].transactions[0];
    let parts = [found.latency_seconds, found.server_seconds, found.unknown_seconds];
    parts.map(|part| (part * 1_000.0).round() as u32)
}

#[test]
fn a_single_late_acknowledgement_is_not_the_path() {
    let rows = [
        ("a prompt acknowledgement shows the path", Some(5), 900, [5, 895, 0]),
        ("too early for a timer", Some(30), 900, [30, 870, 0]),
        ("a timer, or a long path", Some(180), 900, [0, 720, 180]),
        ("longer than any timer", Some(450), 900, [250, 450, 200]),
        ("the answer alone", None, 900, [0, 0, 900]),
    ];
    for (case, ack_ms, answer_ms, want) in rows {
        assert_eq!(parts_of_an_answer(ack_ms, answer_ms), want, "{case}");
    }
}
