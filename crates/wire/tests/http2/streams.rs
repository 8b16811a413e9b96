//! Streams of one machine: heads, bodies, windows, priorities, and the ends of streams and of the connection.

use std::time::Duration;

use bytes::Bytes;
use wire::http2::hpack::HpackDecoder;
use wire::http2::{
    AbuseKind, BodyPart, ClosedStream, ErrorCode, Http2Event, Http2Machine, MachineLimits,
    OpenRefusal, ResetOrigin, StreamReset,
};

use crate::frames::{
    ACK, CONTINUATION, DATA, END, GET, GOAWAY, HEADERS, LIMITS, PING, POST, PRIORITY_UPDATE, RESET,
    SETTINGS, WHOLE, WINDOW, client, ends, events, frame, lines, receive, request, section, sent,
    server,
};

/// A server with as many requests, whose events are gone.
fn with_requests(limits: &MachineLimits, count: u32) -> Http2Machine {
    let mut machine = server(limits);
    (0..count).for_each(|at| receive(&mut machine, &request(at * 2 + 1, &GET, true)));
    assert_eq!(events(&mut machine).len(), count as usize);
    machine
}

fn answer(machine: &mut Http2Machine, stream: u32) {
    assert_eq!(machine.send_response(stream, &section(&[(":status", "200")]), false), Ok(()));
}

/// Streams and lengths of the DATA frames that are sent.
fn data(machine: &mut Http2Machine) -> Vec<(u32, usize)> {
    let frames = sent(machine).into_iter().filter(|frame| frame.kind == DATA);
    frames.map(|frame| (frame.stream, frame.payload.len())).collect()
}

#[test]
fn a_request_and_its_response() {
    let mut machine = server(&LIMITS);
    receive(&mut machine, &request(1, &POST, false));
    receive(&mut machine, &frame(DATA, 0, 1, b"hello"));
    let fields = section(&POST);
    let readable = Http2Event::Readable { stream: 1 };
    assert_eq!(
        events(&mut machine),
        [Http2Event::Request { stream: 1, fields, end_stream: false }, readable.clone()]
    );
    assert_eq!(machine.read_data(1), BodyPart::Data(Bytes::from_static(b"hello")));
    assert_eq!(machine.read_data(1), BodyPart::Pending);
    let trailers = [("x-sum", "1")];
    receive(&mut machine, &request(1, &trailers, true));
    assert_eq!(events(&mut machine), [readable]);
    assert_eq!(machine.read_data(1), BodyPart::End);
    assert_eq!(machine.take_trailers(1), Some(section(&trailers)));
    let interim = section(&[(":status", "103")]);
    assert_eq!(machine.send_informational(1, &interim), Ok(()));
    answer(&mut machine, 1);
    assert_eq!(machine.send_informational(1, &interim), Err(ClosedStream));
    assert_eq!(machine.send_data(1, b"world", false), Ok(5));
    assert_eq!(machine.send_trailers(1, section(&[("grpc-status", "0")])), Ok(()));
    assert_eq!(machine.send_data(1, b"x", true), Err(ClosedStream));
    machine.close_stream(1, ErrorCode::CANCEL);
    let frames = sent(&mut machine);
    let shape: Vec<_> = frames.iter().map(|frame| (frame.kind, frame.flags)).collect();
    assert_eq!(shape, [(HEADERS, WHOLE), (HEADERS, WHOLE), (DATA, 0), (HEADERS, WHOLE | END)]);
    let mut decoder = HpackDecoder::new(4_096);
    assert_eq!(lines(&mut decoder, &frames[0]), [":status: 103"]);
    assert_eq!(lines(&mut decoder, &frames[1]), [":status: 200"]);
    assert_eq!(lines(&mut decoder, &frames[3]), ["grpc-status: 0"]);
    assert_eq!((machine.open_streams(), machine.read_data(1)), (0, BodyPart::Gone));
}

#[test]
fn a_client_gets_interim_and_final_responses() {
    let mut machine = client(&LIMITS);
    assert_eq!(machine.open_stream(&section(&GET), true), Ok(1));
    let interim = [(":status", "103"), ("link", "x")];
    receive(&mut machine, &request(1, &interim, false));
    receive(&mut machine, &request(1, &[(":status", "200")], false));
    receive(&mut machine, &frame(DATA, END, 1, b"body"));
    assert_eq!(
        events(&mut machine),
        [
            Http2Event::Informational { stream: 1, fields: section(&interim) },
            Http2Event::Response {
                stream: 1,
                fields: section(&[(":status", "200")]),
                end_stream: false
            },
            Http2Event::Readable { stream: 1 },
            Http2Event::Readable { stream: 1 },
        ]
    );
    assert_eq!(machine.read_data(1), BodyPart::Data(Bytes::from_static(b"body")));
    assert_eq!(machine.read_data(1), BodyPart::End);
    assert!(machine.is_readable(1));
    machine.close_stream(1, ErrorCode::CANCEL);
    assert_eq!((ends(&mut machine).as_str(), machine.open_streams()), ("", 0));
}

#[test]
fn a_head_request_has_a_length_without_a_body() {
    let mut machine = client(&LIMITS);
    let head = [(":method", "HEAD"), (":scheme", "https"), (":path", "/")];
    assert_eq!(machine.open_stream(&section(&head), true), Ok(1));
    receive(&mut machine, &request(1, &[(":status", "200"), ("content-length", "9")], true));
    assert!(matches!(events(&mut machine)[..], [Http2Event::Response { end_stream: true, .. }]));
}

#[test]
fn data_waits_for_the_windows_and_the_room() {
    let mut machine = with_requests(&MachineLimits { send_buffer_bytes: 100_000, ..LIMITS }, 2);
    answer(&mut machine, 1);
    answer(&mut machine, 3);
    let body = vec![7; 70_000];
    assert_eq!(machine.capacity(1), 65_535);
    assert_eq!(machine.send_data(1, &body, true), Ok(65_535));
    assert_eq!(machine.capacity(1), 0);
    assert_eq!(data(&mut machine).iter().map(|row| row.1).sum::<usize>(), 65_535);
    // The connection's window is used up, the other stream's is not.
    assert_eq!(machine.send_data(3, b"other", true), Ok(5));
    assert_eq!((data(&mut machine), machine.has_output()), (vec![], false));
    assert_eq!((machine.buffered(3), machine.buffered_total()), (5, 5));
    receive(&mut machine, &frame(WINDOW, 0, 0, &100_000u32.to_be_bytes()));
    assert!(machine.has_output());
    assert_eq!(data(&mut machine), [(3, 5)]);
    assert_eq!(events(&mut machine), []);
    receive(&mut machine, &frame(WINDOW, 0, 1, &10_000u32.to_be_bytes()));
    assert_eq!(events(&mut machine), [Http2Event::Writable { stream: 1 }]);
    assert_eq!(machine.send_data(1, &body[65_535..], true), Ok(4_465));
    let frames = sent(&mut machine);
    assert_eq!((frames[0].payload.len(), frames[0].flags), (4_465, END));
}

#[test]
fn a_setting_moves_the_windows_of_open_streams() {
    let mut machine = with_requests(&LIMITS, 1);
    answer(&mut machine, 1);
    assert_eq!(machine.send_data(1, &[0; 100], false), Ok(100));
    receive(&mut machine, &frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 50]));
    assert_eq!(machine.capacity(1), 0, "the window is negative");
    receive(&mut machine, &frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 150]));
    assert_eq!(machine.capacity(1), 50);
    let told = events(&mut machine);
    assert_eq!(told.last(), Some(&Http2Event::PeerSettings));
    assert!(told.contains(&Http2Event::Writable { stream: 1 }), "{told:?}");
    let settings = sent(&mut machine).into_iter().filter(|frame| frame.kind == SETTINGS);
    assert!(settings.map(|frame| frame.flags).eq([ACK, ACK]));
}

#[test]
fn received_data_opens_the_windows_when_it_was_consumed() {
    let limits = MachineLimits { stream_window: 1_000, connection_window: 100_000, ..LIMITS };
    let mut machine = server(&limits);
    receive(&mut machine, &frame(SETTINGS, ACK, 0, &[]));
    receive(&mut machine, &request(1, &POST, false));
    receive(&mut machine, &frame(DATA, 0, 1, &[0; 1_000]));
    assert_eq!(sent(&mut machine), []);
    machine.release(1, 499);
    assert_eq!(sent(&mut machine), []);
    machine.release(1, 1);
    let update = &sent(&mut machine)[0];
    assert_eq!((update.kind, update.stream, &update.payload[..]), (WINDOW, 1, &[0, 0, 1, 244][..]));
    receive(&mut machine, &frame(DATA, 0, 1, &[0; 501]));
    assert_eq!(ends(&mut machine), "stream 1 flow-control-error", "more than the window");
    let reset = StreamReset {
        code: ErrorCode::FLOW_CONTROL_ERROR,
        origin: ResetOrigin::Local(wire::http1::Defect::Http2Protocol),
    };
    assert_eq!(events(&mut machine).last(), Some(&Http2Event::Ended { stream: 1, reset }));
}

#[test]
fn unread_data_of_broken_streams_opens_the_connection() {
    let mut machine = server(&LIMITS);
    for stream in [1, 3, 5, 7, 9, 11, 13, 15] {
        receive(&mut machine, &request(stream, &POST, false));
        receive(&mut machine, &frame(DATA, 0, stream, &[0; 16_000]));
        match stream % 8 {
            1 => receive(&mut machine, &frame(RESET, 0, stream, &[0, 0, 0, 8])),
            3 => machine.reset(stream, ErrorCode::CANCEL),
            5 => machine.close_stream(stream, ErrorCode::CANCEL),
            _ => {
                assert_eq!(
                    machine.send_response(stream, &section(&[(":status", "200")]), true),
                    Ok(())
                );
                machine.close_stream(stream, ErrorCode::CANCEL);
            }
        }
        // What was in flight is ignored, and its window is returned too.
        if stream % 8 != 1 {
            receive(&mut machine, &frame(DATA, END, stream, &[0; 9_000]));
        }
    }
    let frames = sent(&mut machine);
    let codes = frames.iter().filter(|frame| frame.kind == RESET).map(|frame| frame.payload[3]);
    assert!(codes.eq([8, 8, 0, 8, 8, 0]), "{frames:?}");
    let updates = frames.iter().filter(|frame| frame.kind == WINDOW && frame.stream == 0);
    assert!(updates.count() > 2);
    assert!(!machine.is_failed());
}

#[test]
fn small_pieces_are_joined() {
    let mut machine = server(&LIMITS);
    receive(&mut machine, &request(1, &POST, false));
    for byte in 0..100 {
        receive(&mut machine, &frame(DATA, 0, 1, &[byte]));
    }
    let wanted: Vec<u8> = (0..100).collect();
    assert_eq!(machine.read_data(1), BodyPart::Data(Bytes::from(wanted)));
    assert_eq!(machine.data_received(), 100);
}

#[test]
fn urgent_streams_are_sent_first_and_incremental_ones_take_turns() {
    let limits = MachineLimits { send_buffer_bytes: 1 << 20, concurrent_streams: 10, ..LIMITS };
    let mut machine = server(&limits);
    let streams = [(1, "u=3, i"), (3, "u=3, i"), (5, "u=1"), (7, "u=1"), (9, "u=6")];
    receive(&mut machine, &frame(SETTINGS, 0, 0, &[0, 4, 0, 1, 0, 0]));
    for (stream, priority) in streams {
        receive(
            &mut machine,
            &request(stream, &[&GET[..], &[("priority", priority)]].concat(), true),
        );
        answer(&mut machine, stream);
    }
    // The connection's window is used up first, so that all wait.
    assert_eq!(machine.send_data(1, &[0; 65_535], false), Ok(65_535));
    sent(&mut machine);
    receive(&mut machine, &frame(WINDOW, 0, 1, &100_000u32.to_be_bytes()));
    for (stream, _) in streams {
        assert_eq!(machine.send_data(stream, &[0; 20_000], true), Ok(20_000));
    }
    let update = [&9u32.to_be_bytes()[..], b"u=0"].concat();
    receive(&mut machine, &frame(PRIORITY_UPDATE, 0, 0, &update));
    receive(&mut machine, &frame(WINDOW, 0, 0, &1_000_000u32.to_be_bytes()));
    let order: Vec<u32> = data(&mut machine).iter().map(|row| row.0).collect();
    assert_eq!(order, [9, 9, 5, 5, 7, 7, 1, 3, 1, 3]);
}

#[test]
fn tiny_windows_are_counted() {
    let mut machine = with_requests(&LIMITS, 1);
    receive(&mut machine, &frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 0]));
    answer(&mut machine, 1);
    for _ in 0..21 {
        assert_eq!(machine.abuse(), None);
        receive(&mut machine, &frame(WINDOW, 0, 1, &[0, 0, 0, 1]));
        assert_eq!(machine.send_data(1, &[0; 100], true), Ok(1));
    }
    assert_eq!(machine.abuse(), Some(AbuseKind::Tiny));
    assert_eq!(ends(&mut machine), "connection enhance-your-calm");
}

#[test]
fn what_was_ended_is_sent_after_the_stream_was_closed() {
    let mut machine = with_requests(&LIMITS, 1);
    receive(&mut machine, &frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 10]));
    answer(&mut machine, 1);
    assert_eq!(machine.send_data(1, b"0123456789", true), Ok(10));
    machine.close_stream(1, ErrorCode::CANCEL);
    let frames = sent(&mut machine);
    assert_eq!(frames.last().map(|frame| (frame.kind, frame.flags)), Some((DATA, END)));
    // A response that was not ended is reset.
    receive(&mut machine, &request(3, &GET, true));
    answer(&mut machine, 3);
    machine.close_stream(3, ErrorCode::INTERNAL_ERROR);
    assert_eq!(ends(&mut machine), "stream 3 internal-error");
    assert_eq!(machine.open_streams(), 0);
}

#[test]
fn a_shutdown_takes_two_steps() {
    let mut machine = with_requests(&LIMITS, 1);
    machine.shut_down();
    machine.shut_down();
    let frames = sent(&mut machine);
    let kinds: Vec<u8> = frames.iter().map(|frame| frame.kind).collect();
    assert_eq!(kinds, [GOAWAY, PING]);
    assert_eq!(frames[0].payload, [0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
    // A request that was under way is still processed.
    receive(&mut machine, &request(3, &GET, true));
    receive(&mut machine, &frame(PING, ACK, 0, &frames[1].payload));
    assert_eq!(sent(&mut machine)[0].payload, [0, 0, 0, 3, 0, 0, 0, 0]);
    assert_eq!(events(&mut machine).len(), 1, "the request and no Pong");
    // Later ones are ignored, with their bodies.
    receive(&mut machine, &request(5, &POST, false));
    receive(&mut machine, &frame(DATA, END, 5, b"body"));
    assert_eq!((events(&mut machine), sent(&mut machine)), (vec![], vec![]));
    answer(&mut machine, 3);
    assert!(machine.is_closing() && !machine.is_failed());
}

#[test]
fn goaway_tells_what_was_not_processed() {
    let mut machine = client(&LIMITS);
    for stream in [1, 3, 5] {
        assert_eq!(machine.open_stream(&section(&GET), true), Ok(stream));
    }
    receive(&mut machine, &frame(GOAWAY, 0, 0, &[0, 0, 0, 1, 0, 0, 0, 0]));
    let reset = StreamReset { code: ErrorCode::NO_ERROR, origin: ResetOrigin::Unprocessed };
    assert!(reset.is_unprocessed());
    assert_eq!(
        events(&mut machine),
        [
            Http2Event::Ended { stream: 3, reset },
            Http2Event::Ended { stream: 5, reset },
            Http2Event::GoAway { last_stream: 1, code: ErrorCode::NO_ERROR },
        ]
    );
    assert_eq!(machine.open_stream(&section(&GET), true), Err(OpenRefusal::Closing));
    receive(&mut machine, &request(1, &[(":status", "200")], true));
    assert!(matches!(events(&mut machine)[..], [Http2Event::Response { stream: 1, .. }]));
}

#[test]
fn a_client_keeps_to_the_limit_of_the_server() {
    let mut machine = client(&LIMITS);
    receive(&mut machine, &frame(SETTINGS, 0, 0, &[0, 3, 0, 0, 0, 1, 0, 8, 0, 0, 0, 1]));
    assert!(machine.allows_extended_connect() && machine.may_open());
    assert_eq!(machine.open_stream(&section(&GET), true), Ok(1));
    assert_eq!(machine.open_stream(&section(&GET), true), Err(OpenRefusal::Limit));
    receive(&mut machine, &frame(RESET, 0, 1, &[0, 0, 0, 7]));
    let reset = StreamReset { code: ErrorCode::REFUSED_STREAM, origin: ResetOrigin::Peer };
    assert!(reset.is_unprocessed());
    assert_eq!(events(&mut machine).last(), Some(&Http2Event::Ended { stream: 1, reset }));
    assert!(machine.may_open());
}

#[test]
fn a_server_may_stop_a_request_after_its_response() {
    let mut machine = client(&LIMITS);
    assert_eq!(machine.open_stream(&section(&POST), false), Ok(1));
    receive(&mut machine, &request(1, &[(":status", "200")], false));
    receive(&mut machine, &frame(DATA, END, 1, b"done"));
    receive(&mut machine, &frame(RESET, 0, 1, &[0; 4]));
    let stopped = Http2Event::Stopped { stream: 1, code: ErrorCode::NO_ERROR };
    assert_eq!(events(&mut machine).last(), Some(&stopped));
    assert_eq!(machine.send_data(1, b"more", false), Err(ClosedStream));
    assert_eq!(machine.read_data(1), BodyPart::Data(Bytes::from_static(b"done")));
    assert_eq!(machine.read_data(1), BodyPart::End);
}

#[test]
fn the_end_of_the_transport_ends_all_streams() {
    let mut machine = with_requests(&LIMITS, 2);
    machine.receive_end();
    let reset = StreamReset { code: ErrorCode::NO_ERROR, origin: ResetOrigin::Connection };
    let ended = |stream| Http2Event::Ended { stream, reset };
    assert_eq!(events(&mut machine), [ended(1), ended(3)]);
    machine.close_stream(1, ErrorCode::CANCEL);
    machine.close_stream(3, ErrorCode::CANCEL);
    machine.receive(Bytes::from_static(&[0; 100]), Duration::ZERO);
    assert_eq!((sent(&mut machine), machine.open_streams()), (vec![], 0));
}

#[test]
fn frames_within_frames_are_known() {
    let mut machine = server(&LIMITS);
    let head = frame(HEADERS, END, 1, &crate::frames::block(&GET));
    for (bytes, mid) in [
        (&head[..5], true),
        (&head[5..12], true),
        (&head[12..], true),
        (&frame(CONTINUATION, WHOLE, 1, &[])[..], false),
        (&request(3, &POST, false), false),
        (&frame(DATA, 0, 3, &[0; 100])[..50], false),
    ] {
        receive(&mut machine, bytes);
        assert_eq!(machine.is_mid_frame(), mid);
    }
}

#[test]
fn windows_grow_on_request() {
    let mut machine = server(&LIMITS);
    machine.set_window(100_000, 200_000);
    machine.set_window(50_000, 100_000);
    let frames = sent(&mut machine);
    let shape: Vec<_> = frames.iter().map(|frame| (frame.kind, &frame.payload[..])).collect();
    let increment = (200_000u32 - 65_535).to_be_bytes();
    assert_eq!(shape, [(SETTINGS, &[0, 4, 0, 1, 0x86, 0xa0][..]), (WINDOW, &increment[..])]);
}
