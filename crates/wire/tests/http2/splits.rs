//! However the received bytes are split, the same happens.

use std::time::Duration;

use bytes::Bytes;
use proptest::prelude::*;
use wire::http2::{BodyPart, Http2Event, Http2Machine, PREFACE};

use crate::frames::{
    CONTINUATION, DATA, END, GET, GOAWAY, HEADERS, LIMITS, PADDED, PING, POST, RESET, SETTINGS,
    SentFrame, WHOLE, WINDOW, block, frame, request, sent,
};

/// What a machine came to.
#[derive(Debug, PartialEq)]
struct Outcome {
    events: Vec<Http2Event>,
    bodies: Vec<Vec<u8>>,
    sent: Vec<SentFrame>,
    mid_frame: bool,
}

/// Feeds the bytes in parts that end at these places, and reads all bodies at the end.
fn outcome(bytes: &[u8], cuts: &[usize]) -> Outcome {
    let mut machine = Http2Machine::server(&LIMITS, Duration::ZERO);
    let mut begin = 0;
    for end in cuts.iter().copied().chain([bytes.len()]) {
        let end = end.clamp(begin, bytes.len());
        machine.receive(Bytes::copy_from_slice(&bytes[begin..end]), Duration::ZERO);
        begin = end;
    }
    let mut events: Vec<Http2Event> = std::iter::from_fn(|| machine.next_event()).collect();
    // Readiness is reported once for data that has not been read, whatever its pieces.
    events.dedup();
    let mut bodies = Vec::new();
    for stream in 0..10 {
        let mut body = Vec::new();
        while let BodyPart::Data(piece) = machine.read_data(stream) {
            body.extend_from_slice(&piece);
        }
        bodies.push(body);
    }
    Outcome { events, bodies, sent: sent(&mut machine), mid_frame: machine.is_mid_frame() }
}

/// Frames that are mostly valid.
fn some_frame() -> impl Strategy<Value = Vec<u8>> {
    let get = block(&GET);
    let any_payload = || proptest::collection::vec(any::<u8>(), 0..40);
    let stream = || prop::sample::select(vec![1u32, 3, 5, 7]);
    prop_oneof![
        4 => stream().prop_map(|stream| request(stream, &GET, true)),
        4 => stream().prop_map(|stream| request(stream, &POST, false)),
        6 => (stream(), any_payload(), any::<bool>())
            .prop_map(|(stream, payload, end)| frame(DATA, u8::from(end), stream, &payload)),
        2 => (stream(), 0u8..20).prop_map(|(stream, padding)| {
            let payload = [&[padding][..], b"padded", &vec![0; usize::from(padding)]].concat();
            frame(DATA, PADDED, stream, &payload)
        }),
        1 => (stream(), 0..get.len()).prop_map(move |(stream, at)| {
            let first = frame(HEADERS, END, stream, &get[..at]);
            [first, frame(CONTINUATION, WHOLE, stream, &get[at..])].concat()
        }),
        1 => stream().prop_map(|stream| frame(WINDOW, 0, stream, &[0, 0, 1, 0])),
        1 => stream().prop_map(|stream| frame(RESET, 0, stream, &[0, 0, 0, 8])),
        1 => any::<[u8; 8]>().prop_map(|payload| frame(PING, 0, 0, &payload)),
        1 => Just(frame(GOAWAY, 0, 0, &[0, 0, 0, 0, 0, 0, 0, 0, b'x'])),
        1 => Just(frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 8, 0])),
        1 => (0u8..20, any::<u8>(), 0u32..8, any_payload())
            .prop_map(|(kind, flags, stream, payload)| frame(kind, flags, stream, &payload)),
    ]
}

proptest! {
    #[test]
    fn any_split_has_the_same_outcome(
        frames in proptest::collection::vec(some_frame(), 0..20),
        mut cuts in proptest::collection::vec(0usize..1_500, 0..20),
    ) {
        let bytes = [&PREFACE[..], &frame(SETTINGS, 0, 0, &[]), &frames.concat()].concat();
        let whole = outcome(&bytes, &[]);
        cuts.sort_unstable();
        prop_assert_eq!(&outcome(&bytes, &cuts), &whole);
        let single: Vec<usize> = (0..bytes.len()).collect();
        prop_assert_eq!(&outcome(&bytes, &single), &whole);
    }
}
