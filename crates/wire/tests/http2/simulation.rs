//! Two machines that speak to each other over a line that cuts and delays bytes, from a seed: all data arrives in its
//! order, resets reach the other side, and neither side finds fault with the other.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use proptest::prelude::*;
use wire::http2::{
    AbuseLimits, BodyPart, ClosedStream, ErrorCode, FieldSection, Http2Event, Http2Machine,
    MachineLimits, ResetOrigin,
};

use crate::frames::section;

/// Numbers from a seed (SplitMix64).
struct Draws(u64);

impl Draws {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((word ^ word >> 31) % end as u64) as usize
    }

    fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }
}

/// What one side has still to send on a stream, and what it has got.
#[derive(Default)]
struct StreamSide {
    to_send: usize,
    sent: usize,
    trailers: bool,
    ended: bool,
    received: usize,
    got_end: bool,
    got_trailers: bool,
    broken: bool,
    closed: bool,
}

/// One machine with the application that uses it.
struct Peer {
    machine: Http2Machine,
    streams: BTreeMap<u32, StreamSide>,
    /// Bytes on their way to this side.
    line: VecDeque<u8>,
}

/// The byte at this place of every body.
fn content(at: usize) -> u8 {
    (at % 251) as u8
}

impl Peer {
    fn new(machine: Http2Machine) -> Peer {
        Peer { machine, streams: BTreeMap::new(), line: VecDeque::new() }
    }

    fn open(&mut self, draws: &mut Draws) {
        let fields = section(&[
            (":method", "POST"),
            (":scheme", "https"),
            (":path", if draws.one_in(2) { "/a" } else { "/b" }),
            ("priority", ["u=1", "u=5, i", "i", "u=3"][draws.below(4)]),
        ]);
        if let Ok(stream) = self.machine.open_stream(&fields, false) {
            self.streams.insert(stream, body(draws));
        }
    }

    fn handle_events(&mut self, draws: &mut Draws) {
        while let Some(event) = self.machine.next_event() {
            match event {
                Http2Event::Request { stream, fields, end_stream } => {
                    assert!(!end_stream && fields.get(b":method") == Some(b"POST"));
                    self.streams.insert(stream, body(draws));
                    let answer = section(&[(":status", "200"), ("server", "own")]);
                    // A request may be reset before it is handled.
                    let answered = self.machine.send_response(stream, &answer, false);
                    self.streams.get_mut(&stream).unwrap().broken = answered.is_err();
                }
                Http2Event::Response { stream, fields, .. } => {
                    assert_eq!(fields.get(b":status"), Some(&b"200"[..]), "stream {stream}");
                }
                Http2Event::Ended { stream, reset } => {
                    assert_eq!(reset.origin, ResetOrigin::Peer, "stream {stream}");
                    self.streams.get_mut(&stream).unwrap().broken = true;
                }
                Http2Event::Stopped { stream, .. } => {
                    self.streams.get_mut(&stream).unwrap().ended = true;
                }
                Http2Event::Failed { code, abuse } => panic!("{} {abuse:?}", code.name()),
                Http2Event::Malformed { stream, defect, .. } => panic!("{stream} {defect}"),
                _ => {}
            }
        }
    }

    fn read(&mut self, draws: &mut Draws) {
        let streams: Vec<u32> = self.streams.keys().copied().collect();
        for stream in streams {
            let side = self.streams.get_mut(&stream).unwrap();
            if side.broken || side.got_end || draws.one_in(3) {
                continue;
            }
            match self.machine.read_data(stream) {
                BodyPart::Data(piece) => {
                    for byte in &piece {
                        assert_eq!(*byte, content(side.received));
                        side.received += 1;
                    }
                    self.machine.release(stream, piece.len());
                }
                BodyPart::End => {
                    side.got_end = true;
                    side.got_trailers = self.machine.take_trailers(stream).is_some();
                }
                BodyPart::Pending => {}
                BodyPart::Gone => panic!("stream {stream} is gone without an event"),
            }
        }
    }

    fn write(&mut self, draws: &mut Draws) {
        let streams: Vec<u32> = self.streams.keys().copied().collect();
        for stream in streams {
            let side = self.streams.get_mut(&stream).unwrap();
            if side.ended || side.broken || draws.one_in(3) {
                continue;
            }
            let most = (side.to_send - side.sent).min(1 + draws.below(40_000));
            let piece: Vec<u8> = (side.sent..side.sent + most).map(content).collect();
            let last = side.sent + most == side.to_send;
            let ends = last && !side.trailers;
            let sent = match draws.one_in(2) {
                true => self.machine.send_data(stream, &piece, ends),
                false => self.machine.send_bytes(stream, &mut Bytes::from(piece), ends),
            };
            let sent = sent.unwrap_or_else(|ClosedStream| panic!("stream {stream} is gone"));
            side.sent += sent;
            if last && sent == most {
                side.ended = true;
                if side.trailers {
                    let fields: FieldSection = section(&[("x-sum", "1")]);
                    assert_eq!(self.machine.send_trailers(stream, fields), Ok(()));
                }
            }
        }
    }

    /// Closes what is complete or broken, and cuts one in some.
    fn close(&mut self, draws: &mut Draws, cuts: bool) {
        for (stream, side) in &mut self.streams {
            let done = side.broken || (side.ended && side.got_end);
            let cut = cuts && draws.one_in(400);
            if !side.closed && (done || cut) {
                side.closed = true;
                side.broken |= !done;
                self.machine.close_stream(*stream, ErrorCode::CANCEL);
            }
        }
    }

    /// Lets a part of the output onto the other side's line.
    fn flush(&mut self, to: &mut VecDeque<u8>, draws: &mut Draws) {
        let output = self.machine.output();
        let taken = output.len().min(draws.below(50_000));
        to.extend(&output[..taken]);
        self.machine.consume_output(taken);
    }

    fn receive(&mut self, now: Duration, draws: &mut Draws) {
        let taken = self.line.len().min(1 + draws.below(30_000));
        let bytes: BytesMut = self.line.drain(..taken).collect();
        if !self.machine.is_clogged() || draws.one_in(2) {
            self.machine.receive(bytes.freeze(), now);
        } else {
            bytes.iter().rev().for_each(|byte| self.line.push_front(*byte));
        }
    }
}

fn body(draws: &mut Draws) -> StreamSide {
    let sizes = [0, 1, 100, 16_384, 40_000];
    let to_send = sizes[draws.below(sizes.len())];
    StreamSide { to_send, trailers: draws.one_in(3), ..StreamSide::default() }
}

fn run(seed: u64, cuts: bool) {
    let mut draws = Draws(seed);
    let mut limits = || MachineLimits {
        stream_window: [100, 5_000, 65_535, 200_000][draws.below(4)],
        connection_window: [65_535, 300_000][draws.below(2)],
        concurrent_streams: 5,
        header_list_bytes: 16_384,
        send_buffer_bytes: [1_000, 64_000][draws.below(2)],
        extended_connect: true,
        abuse: AbuseLimits::NONE,
    };
    let mut client = Peer::new(Http2Machine::client(&limits(), Duration::ZERO));
    let mut server = Peer::new(Http2Machine::server(&limits(), Duration::ZERO));
    let mut opened = 0;
    for step in 0..20_000u64 {
        let now = Duration::from_millis(step);
        if opened < 12 && client.machine.peer_concurrent_streams() == 5 && draws.one_in(5) {
            client.open(&mut draws);
            opened = client.streams.len();
        }
        if draws.one_in(100) {
            server.machine.set_window(draws.below(300_000) as u32, draws.below(900_000) as u32);
        }
        for peer in [&mut client, &mut server] {
            peer.handle_events(&mut draws);
            peer.read(&mut draws);
            peer.write(&mut draws);
            peer.handle_events(&mut draws);
            peer.close(&mut draws, cuts);
            peer.receive(now, &mut draws);
            peer.handle_events(&mut draws);
        }
        client.flush(&mut server.line, &mut draws);
        server.flush(&mut client.line, &mut draws);
        let done = |peer: &Peer| peer.streams.values().all(|side| side.closed);
        let quiet = |peer: &Peer| !peer.machine.has_output() && peer.line.is_empty();
        if opened == 12 && done(&client) && done(&server) && quiet(&client) && quiet(&server) {
            return check(&client, &server, cuts);
        }
    }
    panic!("the machines have not come to an end");
}

fn check(client: &Peer, server: &Peer, cuts: bool) {
    for (machine, peer) in [(&client.machine, "client"), (&server.machine, "server")] {
        assert_eq!((machine.open_streams(), machine.buffered_total()), (0, 0), "{peer}");
        assert!(!machine.is_closing(), "{peer}");
    }
    for (stream, side) in &client.streams {
        let Some(other) = server.streams.get(stream) else {
            assert!(cuts, "stream {stream} did not arrive");
            continue;
        };
        assert!(cuts || !(side.broken || other.broken), "stream {stream} broke");
        for (from, to) in [(side, other), (other, side)] {
            assert!(to.received <= from.sent);
            if to.got_end && !from.broken {
                assert_eq!((to.received, to.got_trailers), (from.to_send, from.trailers));
            }
            assert!(to.got_end || to.broken || from.broken, "stream {stream} has no end");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 0, ..ProptestConfig::with_cases(12) })]

    #[test]
    fn all_data_arrives(seed: u64) {
        run(seed, false);
    }

    #[test]
    fn resets_leave_the_others_alone(seed: u64) {
        run(seed, true);
    }
}
