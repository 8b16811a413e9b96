//! Frames as the tests write and read them.

use std::time::Duration;

use bytes::Bytes;
use wire::http2::hpack::{HpackDecoder, HpackEncoder};
use wire::http2::{
    AbuseLimits, ErrorCode, FieldSection, Http2Event, Http2Machine, MachineLimits, PREFACE,
};

pub const LIMITS: MachineLimits = MachineLimits {
    stream_window: 65_535,
    connection_window: 65_535,
    concurrent_streams: 3,
    header_list_bytes: 2_000,
    send_buffer_bytes: 64 * 1_024,
    extended_connect: true,
    abuse: AbuseLimits { resets: 20, control_frames: 20, tiny_frames: 20, malformed: 20 },
};

pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
pub const PRIORITY: u8 = 2;
pub const RESET: u8 = 3;
pub const SETTINGS: u8 = 4;
pub const PUSH: u8 = 5;
pub const PING: u8 = 6;
pub const GOAWAY: u8 = 7;
pub const WINDOW: u8 = 8;
pub const CONTINUATION: u8 = 9;
pub const PRIORITY_UPDATE: u8 = 16;

pub const ACK: u8 = 1;
pub const END: u8 = 1;
pub const WHOLE: u8 = 4;
pub const PADDED: u8 = 8;

pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

pub fn section(fields: &[(&str, &str)]) -> FieldSection {
    let mut section = FieldSection::default();
    fields.iter().for_each(|(name, value)| section.push(name.as_bytes(), value.as_bytes()));
    section
}

/// An entry of a SETTINGS frame.
pub fn setting(number: u16, value: u32) -> Vec<u8> {
    [&number.to_be_bytes()[..], &value.to_be_bytes()].concat()
}

/// A block that needs no table.
pub fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut out = Vec::new();
    HpackEncoder::default().encode(&section(fields), &mut out);
    out
}

pub const GET: [(&str, &str); 4] =
    [(":method", "GET"), (":scheme", "https"), (":authority", "a"), (":path", "/")];
pub const POST: [(&str, &str); 4] =
    [(":method", "POST"), (":scheme", "https"), (":authority", "a"), (":path", "/")];

/// A request's HEADERS frame.
pub fn request(stream: u32, fields: &[(&str, &str)], end: bool) -> Vec<u8> {
    frame(HEADERS, WHOLE | u8::from(end), stream, &block(fields))
}

/// A server that has got the preface and SETTINGS, and whose first output is gone.
pub fn server(limits: &MachineLimits) -> Http2Machine {
    let mut machine = Http2Machine::server(limits, Duration::ZERO);
    let settings = frame(SETTINGS, 0, 0, &[]);
    receive(&mut machine, &[&PREFACE[..], &settings].concat());
    assert_eq!(machine.next_event(), Some(Http2Event::PeerSettings));
    sent(&mut machine);
    machine
}

/// A client that has got SETTINGS, and whose first output is gone.
pub fn client(limits: &MachineLimits) -> Http2Machine {
    let mut machine = Http2Machine::client(limits, Duration::ZERO);
    receive(&mut machine, &frame(SETTINGS, 0, 0, &[]));
    assert_eq!(machine.next_event(), Some(Http2Event::PeerSettings));
    let output = machine.output();
    assert!(output.starts_with(PREFACE));
    let all = output.len();
    machine.consume_output(all);
    machine
}

pub fn receive(machine: &mut Http2Machine, bytes: &[u8]) {
    machine.receive(Bytes::copy_from_slice(bytes), Duration::from_secs(1));
}

pub fn events(machine: &mut Http2Machine) -> Vec<Http2Event> {
    std::iter::from_fn(|| machine.next_event()).collect()
}

/// A frame that a machine has sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentFrame {
    pub kind: u8,
    pub flags: u8,
    pub stream: u32,
    pub payload: Vec<u8>,
}

/// The frames of the output, which is taken.
pub fn sent(machine: &mut Http2Machine) -> Vec<SentFrame> {
    let mut bytes = Vec::new();
    while !machine.output().is_empty() {
        let part = machine.output().to_vec();
        machine.consume_output(part.len());
        bytes.extend(part);
    }
    let mut rest = &bytes[..];
    let mut frames = Vec::new();
    while !rest.is_empty() {
        let length = u32::from_be_bytes([0, rest[0], rest[1], rest[2]]) as usize;
        frames.push(SentFrame {
            kind: rest[3],
            flags: rest[4],
            stream: u32::from_be_bytes(rest[5..9].try_into().unwrap()),
            payload: rest[9..9 + length].to_vec(),
        });
        rest = &rest[9 + length..];
    }
    frames
}

/// What the output says of ends: `stream 1 protocol-error`, `connection calm`.
pub fn ends(machine: &mut Http2Machine) -> String {
    let code = |bytes: &[u8]| ErrorCode(u32::from_be_bytes(bytes.try_into().unwrap())).name();
    let frames = sent(machine);
    let said = frames.iter().filter_map(|frame| match frame.kind {
        RESET => Some(format!("stream {} {}", frame.stream, code(&frame.payload))),
        GOAWAY => Some(format!("connection {}", code(&frame.payload[4..8]))),
        _ => None,
    });
    said.collect::<Vec<_>>().join(", ")
}

/// The fields of a HEADERS frame as lines, decoded by a table of its own.
pub fn lines(decoder: &mut HpackDecoder, frame: &SentFrame) -> Vec<String> {
    let mut fields = FieldSection::default();
    decoder.decode(&frame.payload, 100_000, &mut fields).unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    fields.iter().map(|(name, value)| format!("{}: {}", text(name), text(value))).collect()
}
