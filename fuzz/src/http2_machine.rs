//! Targets of the HTTP/2 machine, in both roles, and of its header compression.
//!
//! The application of the machine answers, reads and closes by a simple rule. Whatever the peer sends: the output is
//! whole frames and bounded, and in the end no stream and no data is left.

use std::collections::BTreeSet;
use std::time::Duration;

use bytes::Bytes;
use wire::http2::hpack::{DecodedSize, HpackDecoder, HpackEncoder};
use wire::http2::{
    AbuseLimits, BodyPart, ErrorCode, FieldSection, Http2Event, Http2Machine, MachineLimits,
    PREFACE,
};

/// The limit of a decoded section, in bytes.
const MOST: usize = 2_000;

/// What a machine without a reading peer may have in its output at most.
const MAX_OUTPUT: usize = 2 << 20;

/// Any bytes as the blocks of one connection: each begins with its length. What was decoded is encoded and decoded
/// again.
pub fn blocks(bytes: &[u8]) {
    let mut decoder = HpackDecoder::new(500);
    let mut encoder = HpackEncoder::default();
    let mut other = HpackDecoder::new(4_096);
    let mut rest = bytes;
    while let Some((length, after)) = rest.split_first() {
        let (block, more) = after.split_at(after.len().min(usize::from(*length)));
        rest = more;
        let mut fields = FieldSection::default();
        let Ok(size) = decoder.decode(block, MOST, &mut fields) else { return };
        let sizes = fields.iter().map(|(name, value)| name.len() + value.len() + 32);
        assert!(sizes.sum::<usize>() <= MOST);
        if size == DecodedSize::TooLarge {
            continue;
        }
        encoder.set_table_size(usize::from(*length) * 40);
        let mut written = Vec::new();
        encoder.encode(&fields, &mut written);
        let mut back = FieldSection::default();
        assert_eq!(other.decode(&written, MOST, &mut back), Ok(DecodedSize::Allowed));
        assert_eq!(back, fields);
    }
}

/// The application of a machine, and what the machine has said.
struct Application {
    machine: Http2Machine,
    /// Streams that are not closed yet.
    streams: BTreeSet<u32>,
    events: Vec<String>,
    output: Vec<u8>,
    /// Odd: streams are closed before they are complete.
    bits: u8,
}

impl Application {
    fn new(bits: u8) -> Application {
        let limits = MachineLimits {
            stream_window: if bits & 2 == 0 { 300 } else { 70_000 },
            connection_window: 70_000,
            concurrent_streams: 4,
            header_list_bytes: MOST as u32,
            send_buffer_bytes: 1_000,
            extended_connect: bits & 4 == 0,
            abuse: AbuseLimits { resets: 30, control_frames: 30, tiny_frames: 30, malformed: 30 },
        };
        let mut streams = BTreeSet::new();
        let machine = match bits & 8 {
            0 => Http2Machine::server(&limits, Duration::ZERO),
            _ => {
                let mut machine = Http2Machine::client(&limits, Duration::ZERO);
                for method in [&b"GET"[..], b"HEAD", b"POST"] {
                    let mut head = FieldSection::default();
                    head.push(b":method", method);
                    head.push(b":scheme", b"https");
                    head.push(b":path", b"/");
                    streams.extend(machine.open_stream(&head, method != b"POST"));
                }
                machine
            }
        };
        Application { machine, streams, events: Vec::new(), output: Vec::new(), bits }
    }

    fn receive(&mut self, bytes: &[u8]) {
        self.machine.receive(Bytes::copy_from_slice(bytes), Duration::ZERO);
        self.handle_events();
    }

    fn handle_events(&mut self) {
        while let Some(event) = self.machine.next_event() {
            // Readiness may be reported for each part of what arrives.
            if !matches!(event, Http2Event::Readable { .. }) {
                self.events.push(format!("{event:?}"));
            }
            if let Http2Event::Request { stream, .. } | Http2Event::HeadTooLarge { stream, .. } =
                event
            {
                self.streams.insert(stream);
            }
        }
        assert!(self.machine.open_streams() <= 4);
        assert!(self.machine.buffered_total() <= 4 * 1_000);
    }

    /// Answers each stream, reads what has arrived, and closes what is complete.
    fn act(&mut self) {
        let machine = &mut self.machine;
        for stream in std::mem::take(&mut self.streams) {
            let mut head = FieldSection::default();
            head.push(b":status", b"200");
            head.push(b"x-stream", stream.to_string().as_bytes());
            // Refused for a stream that has a response already, or that the client has opened.
            let answered = machine.send_response(stream, &head, false).is_ok();
            let sent = machine.send_data(stream, &[7; 700], self.bits & 16 == 0);
            let mut ended = false;
            loop {
                match machine.read_data(stream) {
                    BodyPart::Data(piece) => machine.release(stream, piece.len()),
                    BodyPart::Pending => break,
                    BodyPart::End | BodyPart::Gone => {
                        ended = true;
                        break;
                    }
                }
            }
            if ended || (self.bits & 1 == 1 && (answered || sent.is_err())) {
                machine.close_stream(stream, ErrorCode::CANCEL);
            } else {
                self.streams.insert(stream);
            }
        }
        self.handle_events();
    }

    fn flush(&mut self) {
        loop {
            let output = self.machine.output();
            if output.is_empty() {
                break;
            }
            self.output.extend_from_slice(output);
            let sent = output.len();
            self.machine.consume_output(sent);
            assert!(self.output.len() < MAX_OUTPUT);
        }
        self.handle_events();
    }

    /// Ends the connection, and checks that nothing is left.
    fn finish(mut self) -> MachineOutcome {
        self.act();
        self.flush();
        let mid_frame = self.machine.is_mid_frame();
        self.machine.receive_end();
        self.handle_events();
        for stream in std::mem::take(&mut self.streams) {
            self.machine.close_stream(stream, ErrorCode::CANCEL);
        }
        assert_eq!((self.machine.open_streams(), self.machine.buffered_total()), (0, 0));
        check_frames(&self.output, self.bits & 8 != 0);
        MachineOutcome { events: self.events, output: self.output, mid_frame }
    }
}

#[derive(Debug, PartialEq)]
struct MachineOutcome {
    events: Vec<String>,
    output: Vec<u8>,
    mid_frame: bool,
}

/// The output is whole frames of a valid size, after the preface of a client.
fn check_frames(output: &[u8], client: bool) {
    let mut rest = match client {
        true => output.strip_prefix(PREFACE).expect("a preface"),
        false => output,
    };
    while let Some((header, after)) = rest.split_first_chunk::<9>() {
        let length = u32::from_be_bytes([0, header[0], header[1], header[2]]) as usize;
        assert!(length <= 16_384);
        rest = after.get(length..).expect("a whole frame");
    }
    assert!(rest.is_empty());
}

/// A peer that sends anything. The first byte selects the role and the settings. If its highest bit is set, the others
/// are sent as they are; otherwise each frame has a byte each for kind, flags, stream and length, and then its payload.
pub fn machine(bytes: &[u8]) {
    let Some((bits, rest)) = bytes.split_first() else { return };
    let mut input = Vec::new();
    if bits & 0x80 != 0 {
        input.extend_from_slice(rest);
    } else {
        if bits & 8 == 0 {
            input.extend_from_slice(PREFACE);
        }
        input.extend([0, 0, 0, 4, 0, 0, 0, 0, 0]);
        let mut rest = rest;
        while let [kind, flags, stream, length, after @ ..] = rest {
            let (payload, more) = after.split_at(after.len().min(usize::from(*length)));
            input.extend([0, 0, payload.len() as u8, kind % 18, *flags, 0, 0, 0, *stream]);
            input.extend(payload);
            rest = more;
        }
    }
    // Without actions between the parts, the outcome does not depend on how the bytes are split.
    let outcome = |size: usize| {
        let mut application = Application::new(*bits);
        input.chunks(size).for_each(|piece| application.receive(piece));
        application.finish()
    };
    assert_eq!(outcome(1), outcome(usize::MAX));
    let mut application = Application::new(*bits);
    for (at, piece) in input.chunks(23).enumerate() {
        application.receive(piece);
        application.act();
        if at % 3 == 0 {
            application.flush();
        }
    }
    application.finish();
}

/// Blocks of RFC 7541 Appendix C, each with its length.
pub fn blocks_seeds() -> Vec<Vec<u8>> {
    let blocks: [&[u8]; 5] = [
        b"\x11\x82\x86\x84\x41\x0fwww.example.com",
        b"\x1a\x40\x0acustom-key\x0dcustom-header",
        b"\x11\x10\x08password\x06secret",
        b"\x0e\x82\x86\x84\x41\x8c\xf1\xe3\xc2\xe5\xf2\x3a\x6b\xa0\xab\x90\xf4\xff",
        b"\x03\x3f\xe1\x1f\x02\xbe\xbf",
    ];
    let all = blocks.concat();
    blocks.iter().map(|block| block.to_vec()).chain([all]).collect()
}

/// Conversations of each role, in the form of the target.
pub fn machine_seeds() -> Vec<Vec<u8>> {
    let head = b"\x82\x87\x84\x41\x01a";
    let frame = |kind: u8, flags: u8, stream: u8, payload: &[u8]| {
        [&[kind, flags, stream, payload.len() as u8], payload].concat()
    };
    let requests = [
        frame(1, 5, 1, head),
        frame(1, 0, 3, &[&b"\x83\x87\x84"[..], b"\x0f\x0d\x013"].concat()),
        frame(9, 4, 3, b"\x00\x01a\x01b"),
        frame(0, 8, 3, b"\x02ab\0\0"),
        frame(0, 1, 3, b"c"),
        frame(8, 0, 0, &[0, 1, 0, 0]),
        frame(4, 0, 0, &[0, 4, 0, 0, 1, 0]),
        frame(6, 0, 0, b"01234567"),
        frame(3, 0, 1, &[0, 0, 0, 8]),
        frame(16, 0, 0, b"\0\0\0\x03u=1, i"),
        frame(7, 0, 0, &[0; 8]),
    ]
    .concat();
    let responses = [
        frame(1, 4, 1, b"\x08\x03103"),
        frame(1, 4, 1, b"\x88"),
        frame(0, 0, 1, b"body"),
        frame(1, 5, 1, b"\x00\x01a\x01b"),
        frame(1, 5, 3, b"\x88\x0f\x0d\x0219"),
        frame(3, 0, 5, &[0, 0, 0, 7]),
        frame(7, 0, 0, &[0, 0, 0, 3, 0, 0, 0, 0]),
    ]
    .concat();
    let raw = [&[0x80][..], PREFACE, &[0, 0, 0, 4, 0, 0, 0, 0, 0]].concat();
    let server = (0..8).map(|bits| [&[bits][..], &requests].concat());
    let client = (8..16).map(|bits| [&[bits][..], &responses].concat());
    server.chain(client).chain([raw]).collect()
}
