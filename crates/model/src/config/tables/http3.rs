//! Describes `http3` of a service.

use super::super::schema::{Fallback, Key, Kind, Short, Table, Word};
use super::super::value::Value;

const DAY: u64 = 86_400_000;
/// A window of QUIC could be more; nothing here is.
const WINDOW: u64 = (1 << 31) - 1;

/// `http3` of a service.
pub const OF_SERVICE: Key = Key::new(
    "http3",
    Kind::Table { table: &SERVICE, short: Short::Key("offer"), unset: None },
    Fallback::Inner,
    "HTTP/3 towards clients. Short form: whether it is spoken.",
)
.http();

static SERVICE: Table = Table {
    what: "HTTP/3 towards clients",
    choices: &[],
    keys: &[
        Key::new(
            "offer",
            Kind::Words(&[Word::of("off"), Word::of("on")]),
            Fallback::word("off"),
            "`on`: it is also spoken over UDP at the addresses of `listen`, which takes `tls`.",
        ),
        Key::new(
            "announce",
            Kind::time_or(1_000, 365 * DAY, "off"),
            Fallback::millis(DAY),
            "How long clients of HTTP/1 and HTTP/2, which answers tell of it (Alt-Svc), may remember that.",
        ),
        Key::new(
            "streams",
            Kind::count(1, 10_000),
            Fallback::count(100),
            "Requests at a time on one connection.",
        ),
        Key::new(
            "window",
            Kind::size(65_535, WINDOW),
            Fallback::Is(Value::Size(256 * 1_024)),
            "Bytes of one body that may be on their way to us.",
        ),
        Key::new(
            "window-most",
            Kind::size(65_535, WINDOW),
            Fallback::Is(Value::Size(4 * 1_024 * 1_024)),
            "The same of all bodies of one connection together: the most that is kept of them.",
        ),
        Key::new(
            "send-buffer",
            Kind::size(65_536, 64 * 1_024 * 1_024),
            Fallback::Is(Value::Size(1_024 * 1_024)),
            "Bytes of all answers of one connection that were sent and are not acknowledged, or wait to be sent.",
        ),
        Key::new(
            "age",
            Kind::time_or(1_000, 30 * DAY, "off"),
            Fallback::millis(3_600_000),
            "How old a connection may become, a tenth more or less by chance. Then the client is told to open another \
             one, and what is under way ends in order.",
        ),
        Key::new(
            "prove",
            Kind::count(0, 1_000_000),
            Fallback::count(100),
            "Handshakes under way at a worker from which on a client must first prove that its address is its own \
             (Retry). How many there may be at all is `tls.handshakes`.",
        ),
        Key::new(
            "resets",
            Kind::count(1, 1_000_000),
            Fallback::count(500),
            "Requests that a client may take back in ten seconds. Its connection is ended beyond.",
        ),
    ],
};
