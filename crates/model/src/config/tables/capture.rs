//! Describes `[capture.NAME]`: when packets of connections are written down by themselves.

use super::super::schema::{Fallback, Form, Key, Kind, Table, Word};
use super::super::value::Value;

/// Rules that one file may hold.
pub const RULES: usize = 32;

/// What an exchange's time may mostly be, as `explain slow` has it.
static CAUSES: [Word; 15] = [
    Word::of("APP_SENDER"),
    Word::of("BALANCER_HOLD"),
    Word::of("CONNECT"),
    Word::of("CWND"),
    Word::of("LATENCY"),
    Word::of("LINK_RATE"),
    Word::of("LOSS"),
    Word::of("QUEUE"),
    Word::of("RWND"),
    Word::of("SEND_BUFFER"),
    Word::of("SERVER_THINK"),
    Word::of("SLOW_START"),
    Word::of("STREAM_WINDOW"),
    Word::of("TLS"),
    Word::of("ZERO_WINDOW"),
];

/// `[capture.NAME]`.
pub static CAPTURE: Table = Table {
    what: "a capture",
    choices: &[],
    keys: &[
        Key::new(
            "service",
            Kind::Text { form: Form::Name, unset: None },
            Fallback::Absent,
            "The service that it is about; none: every proxied one.",
        ),
        Key::new(
            "latency",
            Kind::time(1, 3_600_000),
            Fallback::Absent,
            "An exchange that takes longer calls for a capture, if the other conditions hold too.",
        ),
        Key::new(
            "cause",
            Kind::WordList(&CAUSES),
            Fallback::Absent,
            "An exchange most of whose time is one of these, as `explain slow` names them.",
        ),
        Key::new(
            "from",
            Kind::Prefixes,
            Fallback::Absent,
            "Clients that it is about; none: all. Alone: whatever is measured of them calls for a capture.",
        ),
        Key::new(
            "errors",
            Kind::count(1, 99),
            Fallback::Absent,
            "More than so many percent of a service's exchanges failed within ten seconds, of at least twenty.",
        ),
        Key::new(
            "payload",
            Kind::size(0, 16 * 1024),
            Fallback::Is(Value::Size(0)),
            "Of packets with which a head of HTTP/1 begins, so much is kept beyond the TCP header, without the values of \
             fields that carry secrets; of all others headers alone.",
        ),
        Key::new(
            "size",
            Kind::size(64 * 1024, 1024 * 1024 * 1024),
            Fallback::Is(Value::Size(4 * 1024 * 1024)),
            "So much of what passed is kept in memory, and so large a file may be.",
        ),
        Key::new(
            "time",
            Kind::time(0, 600_000),
            Fallback::millis(2_000),
            "How long packets of the connections concerned are added after it began.",
        ),
        Key::new(
            "pause",
            Kind::time(0, 86_400_000),
            Fallback::millis(60_000),
            "From the end of one to the beginning of the next.",
        ),
        Key::new(
            "keep",
            Kind::count(1, 1_000),
            Fallback::count(10),
            "Files that are kept; the oldest goes.",
        ),
    ],
};
