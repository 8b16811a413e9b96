//! Frames of a server after a request on stream 1, and how the client ends them.

use super::client_rows::EndingRow;
use crate::frames::{
    DATA, END, GOAWAY, PRIORITY_UPDATE, PUSH, SETTINGS, WHOLE, frame, request, setting,
};

pub fn all() -> Vec<EndingRow> {
    [response_rows(), connection_rows()].concat()
}

fn response_rows() -> Vec<EndingRow> {
    let head = |fields: &[(&str, &str)], end: bool| request(1, fields, end);
    let ok = (":status", "200");
    vec![
        ("a response", vec![head(&[ok], true)], ""),
        ("an interim response", vec![head(&[(":status", "103")], false), head(&[ok], true)], ""),
        (
            "an interim response that ends",
            vec![head(&[(":status", "103")], true)],
            "stream 1 protocol-error",
        ),
        ("101", vec![head(&[(":status", "101")], false)], "stream 1 protocol-error"),
        ("no status", vec![head(&[("a", "b")], false)], "stream 1 protocol-error"),
        (
            "a foreign pseudo-header field",
            vec![head(&[ok, (":own", "x")], false)],
            "stream 1 protocol-error",
        ),
        (
            "a request's pseudo-header field",
            vec![head(&[ok, (":path", "/")], false)],
            "stream 1 protocol-error",
        ),
        (
            "a pseudo-header field in trailers",
            vec![head(&[ok], false), head(&[ok], true)],
            "stream 1 protocol-error",
        ),
        ("upgrade", vec![head(&[ok, ("upgrade", "x")], false)], "stream 1 protocol-error"),
        ("DATA before the head", vec![frame(DATA, 0, 1, b"x")], "stream 1 protocol-error"),
        (
            "a length without a body",
            vec![head(&[ok, ("content-length", "3")], true)],
            "stream 1 protocol-error",
        ),
        ("304 with a length", vec![head(&[(":status", "304"), ("content-length", "3")], true)], ""),
        (
            "304 with a body",
            vec![head(&[(":status", "304")], false), frame(DATA, END, 1, b"x")],
            "stream 1 protocol-error",
        ),
        (
            "a large head",
            vec![head(&[ok, ("a", &"x".repeat(2_000))], false)],
            "stream 1 enhance-your-calm",
        ),
    ]
}

fn connection_rows() -> Vec<EndingRow> {
    let ok = (":status", "200");
    vec![
        (
            "a stream that was not opened",
            vec![request(3, &[ok], true)],
            "connection protocol-error",
        ),
        ("a server's stream", vec![request(2, &[ok], true)], "connection protocol-error"),
        ("a push", vec![frame(PUSH, WHOLE, 1, &[0, 0, 0, 2, 0x88])], "connection protocol-error"),
        ("ENABLE_PUSH 1", vec![frame(SETTINGS, 0, 0, &setting(2, 1))], "connection protocol-error"),
        (
            "PRIORITY_UPDATE",
            vec![frame(PRIORITY_UPDATE, 0, 0, b"\0\0\0\x01u=0")],
            "connection protocol-error",
        ),
        (
            "GOAWAY raised",
            vec![
                frame(GOAWAY, 0, 0, &[0, 0, 0, 1, 0, 0, 0, 0]),
                frame(GOAWAY, 0, 0, &[0, 0, 0, 3, 0, 0, 0, 0]),
            ],
            "connection protocol-error",
        ),
    ]
}
