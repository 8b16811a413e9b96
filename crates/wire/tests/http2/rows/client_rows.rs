//! Frames of a client after its SETTINGS, and how the server ends them.

use crate::frames::{
    ACK, CONTINUATION, DATA, END, GET, GOAWAY, HEADERS, PADDED, PING, POST, PRIORITY,
    PRIORITY_UPDATE, PUSH, RESET, SETTINGS, WHOLE, WINDOW, block, frame, request, setting,
};

/// A name, the frames, and the streams and connections that end with their codes.
pub type EndingRow = (&'static str, Vec<Vec<u8>>, &'static str);

pub fn all() -> Vec<EndingRow> {
    [
        size_rows(),
        state_rows(),
        padding_rows(),
        block_rows(),
        window_rows(),
        message_rows(),
        signal_rows(),
        reset_rows(),
    ]
    .concat()
}

/// Frames of a wrong size (RFC 9113 §4.2, §6).
fn size_rows() -> Vec<EndingRow> {
    let get = block(&GET);
    let post = || request(1, &POST, false);
    vec![
        ("a request", vec![request(1, &GET, true)], ""),
        ("unknown frames", vec![frame(99, 255, 7, &[1; 50])], ""),
        ("reserved bit", vec![frame(HEADERS, WHOLE | END, 1 | 1 << 31, &get)], ""),
        (
            "large DATA",
            vec![post(), frame(DATA, 0, 1, &[0; 16_385])],
            "connection frame-size-error",
        ),
        (
            "large HEADERS",
            vec![frame(HEADERS, WHOLE, 1, &[0; 16_385])],
            "connection frame-size-error",
        ),
        ("short PING", vec![frame(PING, 0, 0, &[0; 7])], "connection frame-size-error"),
        (
            "short RST_STREAM",
            vec![post(), frame(RESET, 0, 1, &[0; 3])],
            "connection frame-size-error",
        ),
        ("odd SETTINGS", vec![frame(SETTINGS, 0, 0, &[0; 3])], "connection frame-size-error"),
        (
            "SETTINGS ACK with payload",
            vec![frame(SETTINGS, ACK, 0, &[0; 6])],
            "connection frame-size-error",
        ),
        (
            "long WINDOW_UPDATE",
            vec![frame(WINDOW, 0, 0, &[0, 0, 0, 1, 0])],
            "connection frame-size-error",
        ),
        (
            "short PRIORITY",
            vec![post(), frame(PRIORITY, 0, 1, &[0; 4])],
            "stream 1 frame-size-error",
        ),
        ("short PRIORITY of an idle stream", vec![frame(PRIORITY, 0, 9, &[0; 4])], ""),
        ("short GOAWAY", vec![frame(GOAWAY, 0, 0, &[0; 7])], "connection frame-size-error"),
    ]
}

/// Frames that the state of their stream does not allow (RFC 9113 §5.1).
fn state_rows() -> Vec<EndingRow> {
    let zero = 0u32.to_be_bytes();
    let one = 1u32.to_be_bytes();
    vec![
        ("DATA of an idle stream", vec![frame(DATA, 0, 1, b"x")], "connection protocol-error"),
        (
            "RST_STREAM of an idle stream",
            vec![frame(RESET, 0, 1, &zero)],
            "connection protocol-error",
        ),
        (
            "WINDOW_UPDATE of an idle stream",
            vec![frame(WINDOW, 0, 1, &one)],
            "connection protocol-error",
        ),
        (
            "DATA after the end",
            vec![request(1, &GET, true), frame(DATA, 0, 1, b"x")],
            "stream 1 stream-closed",
        ),
        (
            "a head after the end",
            vec![request(1, &GET, true), request(1, &GET, true)],
            "stream 1 stream-closed",
        ),
        ("an even stream", vec![request(2, &GET, true)], "connection protocol-error"),
        (
            "a lower stream",
            vec![request(5, &GET, true), request(3, &GET, true)],
            "connection stream-closed",
        ),
        (
            "DATA of a stream that was passed over",
            vec![request(5, &GET, true), frame(DATA, 0, 3, b"x")],
            "connection stream-closed",
        ),
        ("late WINDOW_UPDATE", vec![request(5, &GET, true), frame(WINDOW, 0, 3, &one)], ""),
        (
            "too many streams",
            (0..4).map(|at| request(at * 2 + 1, &GET, true)).collect(),
            "stream 7 refused-stream",
        ),
    ]
}

/// Padding, and frames of the wrong stream (RFC 9113 §6).
fn padding_rows() -> Vec<EndingRow> {
    let get = block(&GET);
    let post = || request(1, &POST, false);
    vec![
        (
            "padding as long as the payload",
            vec![post(), frame(DATA, PADDED, 1, b"\x03ab")],
            "connection protocol-error",
        ),
        ("a payload of padding", vec![post(), frame(DATA, PADDED | END, 1, b"\x02\0\0")], ""),
        (
            "padding without its length",
            vec![post(), frame(DATA, PADDED, 1, b"")],
            "connection frame-size-error",
        ),
        (
            "padded head",
            vec![frame(HEADERS, WHOLE | END | PADDED, 1, &[&[2], &get[..], &[0, 0]].concat())],
            "",
        ),
        (
            "head of padding",
            vec![frame(HEADERS, WHOLE | END | PADDED, 1, &[9, 0, 0])],
            "connection protocol-error",
        ),
        ("DATA of the connection", vec![frame(DATA, 0, 0, b"x")], "connection protocol-error"),
        (
            "HEADERS of the connection",
            vec![frame(HEADERS, WHOLE, 0, &get)],
            "connection protocol-error",
        ),
        ("PING of a stream", vec![frame(PING, 0, 1, &[0; 8])], "connection protocol-error"),
        ("SETTINGS of a stream", vec![frame(SETTINGS, 0, 1, &[])], "connection protocol-error"),
        ("GOAWAY of a stream", vec![frame(GOAWAY, 0, 1, &[0; 8])], "connection protocol-error"),
        ("a push", vec![frame(PUSH, WHOLE, 1, &[0; 8])], "connection protocol-error"),
    ]
}

/// Heads in several frames, between which nothing comes (RFC 9113 §4.3, §6.10).
fn block_rows() -> Vec<EndingRow> {
    let get = block(&GET);
    let half = get.len() / 2;
    vec![
        (
            "CONTINUATION alone",
            vec![frame(CONTINUATION, WHOLE, 1, &get)],
            "connection protocol-error",
        ),
        (
            "CONTINUATION of another stream",
            vec![frame(HEADERS, 0, 1, &get), frame(CONTINUATION, WHOLE, 3, &[])],
            "connection protocol-error",
        ),
        (
            "PING within a head",
            vec![frame(HEADERS, 0, 1, &get), frame(PING, 0, 0, &[0; 8])],
            "connection protocol-error",
        ),
        (
            "unknown frame within a head",
            vec![frame(HEADERS, 0, 1, &get), frame(99, 0, 0, &[])],
            "connection protocol-error",
        ),
        (
            "a head in two",
            vec![frame(HEADERS, END, 1, &get[..half]), frame(CONTINUATION, WHOLE, 1, &get[half..])],
            "",
        ),
        (
            "a head in many",
            [
                vec![frame(HEADERS, END, 1, &[])],
                get.iter().map(|byte| frame(CONTINUATION, 0, 1, &[*byte])).collect(),
                vec![frame(CONTINUATION, WHOLE, 1, &[])],
            ]
            .concat(),
            "",
        ),
        (
            "an endless head",
            vec![frame(HEADERS, 0, 1, &[0; 16_384]), frame(CONTINUATION, 0, 1, &[0; 16_384])],
            "connection enhance-your-calm",
        ),
        ("a broken head", vec![frame(HEADERS, WHOLE, 1, &[0xff])], "connection compression-error"),
        (
            "a broken head of a refused stream",
            (0..4)
                .map(|at| request(at * 2 + 1, &GET, true))
                .chain([frame(HEADERS, WHOLE, 9, &[0x80])])
                .collect(),
            "stream 7 refused-stream, connection compression-error",
        ),
    ]
}

/// Settings and windows (RFC 9113 §6.5, §6.9).
fn window_rows() -> Vec<EndingRow> {
    let zero = 0u32.to_be_bytes();
    let top = 0x7fff_ffffu32.to_be_bytes();
    vec![
        ("ENABLE_PUSH 2", vec![frame(SETTINGS, 0, 0, &setting(2, 2))], "connection protocol-error"),
        (
            "a large window setting",
            vec![frame(SETTINGS, 0, 0, &setting(4, 1 << 31))],
            "connection flow-control-error",
        ),
        (
            "a small frame setting",
            vec![frame(SETTINGS, 0, 0, &setting(5, 100))],
            "connection protocol-error",
        ),
        (
            "a setting that overflows a window",
            vec![
                request(1, &GET, true),
                frame(WINDOW, 0, 1, &0x7fff_0000u32.to_be_bytes()),
                frame(SETTINGS, 0, 0, &setting(4, 0x7fff_ffff)),
            ],
            "connection flow-control-error",
        ),
        ("an increment of 0", vec![frame(WINDOW, 0, 0, &zero)], "connection protocol-error"),
        (
            "an increment of 0 of a stream",
            vec![request(1, &GET, true), frame(WINDOW, 0, 1, &zero)],
            "stream 1 protocol-error",
        ),
        (
            "a window that overflows",
            vec![frame(WINDOW, 0, 0, &top)],
            "connection flow-control-error",
        ),
        (
            "a stream's window that overflows",
            vec![request(1, &GET, true), frame(WINDOW, 0, 1, &top)],
            "stream 1 flow-control-error",
        ),
    ]
}

/// Malformed messages (RFC 9113 §8.1).
fn message_rows() -> Vec<EndingRow> {
    let post = || request(1, &POST, false);
    let with = |more: (&'static str, &'static str)| {
        let fields = [&GET[..], &[more]].concat();
        vec![request(1, &fields, true)]
    };
    vec![
        (
            "a body that is too long",
            vec![
                request(1, &[&POST[..], &[("content-length", "3")]].concat(), false),
                frame(DATA, 0, 1, b"abcd"),
            ],
            "stream 1 protocol-error",
        ),
        (
            "a body that is too short",
            vec![
                request(1, &[&POST[..], &[("content-length", "3")]].concat(), false),
                frame(DATA, END, 1, b"ab"),
            ],
            "stream 1 protocol-error",
        ),
        (
            "a body of the right length",
            vec![
                request(1, &[&POST[..], &[("content-length", "3")]].concat(), false),
                frame(DATA, 0, 1, b"ab"),
                frame(DATA, END, 1, b"c"),
            ],
            "",
        ),
        (
            "trailers without END_STREAM",
            vec![post(), frame(HEADERS, WHOLE, 1, &block(&[("a", "b")]))],
            "stream 1 protocol-error",
        ),
        ("trailers", vec![post(), frame(HEADERS, WHOLE | END, 1, &block(&[("a", "b")]))], ""),
        (
            "a pseudo-header field in trailers",
            vec![post(), frame(HEADERS, WHOLE | END, 1, &block(&[(":path", "/")]))],
            "stream 1 protocol-error",
        ),
        ("upper case", with(("X-Own", "a")), "stream 1 protocol-error"),
        ("an unknown pseudo-header field", with((":own", "a")), "stream 1 protocol-error"),
        ("a response's pseudo-header field", with((":status", "200")), "stream 1 protocol-error"),
        ("a repeated pseudo-header field", with((":path", "/")), "stream 1 protocol-error"),
        ("connection", with(("connection", "close")), "stream 1 protocol-error"),
        ("te", with(("te", "gzip")), "stream 1 protocol-error"),
        ("a line end", with(("a", "b\r\nc: d")), "stream 1 protocol-error"),
        ("no path", vec![request(1, &GET[..3], true)], "stream 1 protocol-error"),
    ]
}

/// Priorities (RFC 9218 §7.1), and a second GOAWAY.
fn signal_rows() -> Vec<EndingRow> {
    vec![
        (
            "PRIORITY_UPDATE",
            vec![request(1, &GET, true), frame(PRIORITY_UPDATE, 0, 0, b"\0\0\0\x01u=0")],
            "",
        ),
        (
            "PRIORITY_UPDATE of a stream",
            vec![frame(PRIORITY_UPDATE, 0, 1, b"\0\0\0\x01u=0")],
            "connection protocol-error",
        ),
        (
            "PRIORITY_UPDATE for stream 0",
            vec![frame(PRIORITY_UPDATE, 0, 0, b"\0\0\0\0u=0")],
            "connection protocol-error",
        ),
        (
            "GOAWAY raised",
            vec![frame(GOAWAY, 0, 0, &[0; 8]), frame(GOAWAY, 0, 0, &[0, 0, 0, 2, 0, 0, 0, 0])],
            "connection protocol-error",
        ),
    ]
}

/// Streams that depend on themselves (RFC 7540 §5.3.1), and frames of a stream that its client has reset.
fn reset_rows() -> Vec<EndingRow> {
    const PRIORITY_FLAG: u8 = 0x20;
    let post = || request(1, &POST, false);
    let cancel = || frame(RESET, 0, 1, &[0, 0, 0, 8]);
    let head = [&[0, 0, 0, 1, 7][..], &block(&GET)].concat();
    vec![
        (
            "PRIORITY that depends on itself",
            vec![post(), frame(PRIORITY, 0, 1, &[0, 0, 0, 1, 7])],
            "stream 1 protocol-error",
        ),
        (
            "PRIORITY of an idle stream that depends on itself",
            vec![frame(PRIORITY, 0, 9, &[0, 0, 0, 9, 7])],
            "connection protocol-error",
        ),
        (
            "a request that depends on itself",
            vec![frame(HEADERS, END | WHOLE | PRIORITY_FLAG, 1, &head)],
            "stream 1 protocol-error",
        ),
        (
            "DATA after RST_STREAM",
            vec![post(), cancel(), frame(DATA, 0, 1, b"x")],
            "stream 1 stream-closed",
        ),
        (
            "HEADERS after RST_STREAM",
            vec![post(), cancel(), request(1, &[("a", "b")], true)],
            "stream 1 stream-closed",
        ),
    ]
}
