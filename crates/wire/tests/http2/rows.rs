//! What each violation of RFC 9113 comes to: which stream or connection ends, and with which code.

mod client_rows;
mod server_rows;

use wire::http2::{AbuseKind, AbuseLimits, ErrorCode, Http2Event, MachineLimits, PREFACE};

use crate::frames::{
    ACK, CONTINUATION, DATA, GET, HEADERS, LIMITS, PING, POST, PRIORITY, RESET, SETTINGS, WINDOW,
    client, ends, events, frame, receive, request, server,
};

#[test]
fn what_clients_send_ends_with_the_code_of_the_rfc() {
    for (name, frames, wanted) in client_rows::all() {
        let mut machine = server(&LIMITS);
        receive(&mut machine, &frames.concat());
        assert_eq!(ends(&mut machine), wanted, "{name}");
        let failed = wanted.contains("connection");
        assert_eq!(machine.is_failed(), failed, "{name}");
        let said = events(&mut machine);
        let event = said.iter().any(|event| matches!(event, Http2Event::Failed { .. }));
        assert_eq!(event, failed, "{name}");
    }
}

#[test]
fn a_connection_begins_with_the_preface_and_settings() {
    for (bytes, wanted) in [
        (PREFACE.to_vec(), ""),
        (b"GET / HTTP/1.1\r\n\r\n".to_vec(), "connection protocol-error"),
        ([&PREFACE[..], &request(1, &GET, true)].concat(), "connection protocol-error"),
        ([&PREFACE[..], &frame(SETTINGS, ACK, 0, &[])].concat(), "connection protocol-error"),
        ([&PREFACE[..], &frame(PING, 0, 0, &[0; 8])].concat(), "connection protocol-error"),
    ] {
        let mut machine = wire::http2::Http2Machine::server(&LIMITS, std::time::Duration::ZERO);
        assert!(machine.is_silent() && !machine.is_mid_frame());
        receive(&mut machine, &bytes);
        assert_eq!(ends(&mut machine), wanted);
        assert!(!machine.is_silent());
    }
}

#[test]
fn what_servers_send_ends_with_the_code_of_the_rfc() {
    for (name, frames, wanted) in server_rows::all() {
        let mut machine = client(&LIMITS);
        assert_eq!(machine.open_stream(&crate::frames::section(&POST), false), Ok(1));
        receive(&mut machine, &frames.concat());
        assert_eq!(ends(&mut machine), wanted, "{name}");
        let told = events(&mut machine);
        let broke = told.iter().any(|event| matches!(event, Http2Event::Ended { stream: 1, .. }));
        assert_eq!(broke, !wanted.is_empty(), "{name}: {told:?}");
    }
}

#[test]
fn abuse_ends_the_connection_with_the_name_of_its_limit() {
    let many = |frames: &dyn Fn(u32) -> Vec<u8>| (0..21).map(|at| frames(at * 2 + 1)).collect();
    let rows: Vec<(&str, Vec<Vec<u8>>, AbuseKind)> = vec![
        ("PING", many(&|_| frame(PING, 0, 0, &[0; 8])), AbuseKind::Control),
        ("SETTINGS", many(&|_| frame(SETTINGS, 0, 0, &[])), AbuseKind::Control),
        ("PRIORITY", many(&|_| frame(PRIORITY, 0, 1, &[0; 5])), AbuseKind::Control),
        ("unknown", many(&|_| frame(99, 0, 1, &[0; 5])), AbuseKind::Control),
        (
            "empty DATA",
            [vec![request(1, &POST, false)], many(&|_| frame(DATA, 0, 1, &[]))].concat(),
            AbuseKind::Control,
        ),
        (
            "empty CONTINUATION",
            [vec![frame(HEADERS, 0, 1, &[])], many(&|_| frame(CONTINUATION, 0, 1, &[]))].concat(),
            AbuseKind::Control,
        ),
        (
            "rapid reset",
            many(&|stream| {
                [request(stream, &GET, true), frame(RESET, 0, stream, &[0, 0, 0, 8])].concat()
            }),
            AbuseKind::Reset,
        ),
        (
            "malformed requests",
            many(&|stream| request(stream, &GET[..2], true)),
            AbuseKind::Malformed,
        ),
        (
            "streams that make the server reset them",
            many(&|stream| {
                let zero = frame(WINDOW, 0, stream, &[0; 4]);
                [request(stream, &GET, true), zero].concat()
            }),
            AbuseKind::Malformed,
        ),
    ];
    for (name, frames, kind) in rows {
        // The first SETTINGS frame counts as well.
        let abuse = AbuseLimits { control_frames: 21, ..LIMITS.abuse };
        let mut machine = server(&MachineLimits { abuse, ..LIMITS });
        for bytes in &frames[..frames.len() - 1] {
            receive(&mut machine, bytes);
        }
        assert_eq!(machine.abuse(), None, "{name}: as much is allowed");
        receive(&mut machine, &frames[frames.len() - 1]);
        assert_eq!(machine.abuse(), Some(kind), "{name}");
        assert!(ends(&mut machine).ends_with("connection enhance-your-calm"), "{name}");
        let code = ErrorCode::ENHANCE_YOUR_CALM;
        let last = events(&mut machine).pop();
        assert_eq!(last, Some(Http2Event::Failed { code, abuse: Some(kind) }), "{name}");
    }
}

#[test]
fn heads_above_the_limit_wait_for_a_response() {
    let mut machine = server(&MachineLimits { header_list_bytes: 100, ..LIMITS });
    receive(&mut machine, &request(1, &[&GET[..], &[("a", "b")]].concat(), true));
    let told = events(&mut machine);
    assert_eq!(told, [Http2Event::HeadTooLarge { stream: 1, end_stream: true }]);
    let answer = crate::frames::section(&[(":status", "431")]);
    assert_eq!(machine.send_response(1, &answer, true), Ok(()));
    machine.close_stream(1, ErrorCode::NO_ERROR);
    assert_eq!(ends(&mut machine), "");
    assert_eq!((machine.open_streams(), machine.take_counters().heads), (0, 1));
}
