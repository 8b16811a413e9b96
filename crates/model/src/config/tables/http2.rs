//! Describes `http2` of a service and of a pool.

use super::super::schema::{Fallback, Key, Kind, Short, Table, Word};
use super::super::value::Value;

const DAY: u64 = 86_400_000;
/// The most that a window can be (RFC 9113 §6.9.1).
const WINDOW: u64 = (1 << 31) - 1;

/// `http2` of a service.
pub const OF_SERVICE: Key = Key::new(
    "http2",
    Kind::Table { table: &SERVICE, short: Short::Key("offer"), unset: None },
    Fallback::Inner,
    "HTTP/2 towards clients. Short form: where it is spoken.",
)
.http();

/// `http2` of a pool.
pub const OF_POOL: Key = Key::new(
    "http2",
    Kind::Table { table: &POOL, short: Short::Key("speak"), unset: None },
    Fallback::Inner,
    "HTTP/2 towards servers. Short form: whether it is spoken.",
)
.http();

static SERVICE: Table = Table {
    what: "HTTP/2 towards clients",
    choices: &[],
    keys: &[
        Key::new(
            "offer",
            Kind::Words(&[Word::of("off"), Word::of("tls"), Word::of("always")]),
            Fallback::word("tls"),
            "Spoken nowhere; over TLS (ALPN `h2`); or also without TLS, with clients that begin with its preface \
             (prior knowledge).",
        ),
        STREAMS,
        WINDOW_FIRST,
        WINDOW_MOST,
        Key::new(
            "send-buffer",
            Kind::size(16 * 1_024, 16 * 1_024 * 1_024),
            Fallback::Is(Value::Size(64 * 1_024)),
            "Bytes of one answer that wait for its client.",
        ),
        Key::new(
            "age",
            Kind::time_or(1_000, 30 * DAY, "off"),
            Fallback::millis(3_600_000),
            "How old a connection may become, a tenth more or less by chance. Then the client is told to open another \
             one, and what is under way ends in order.",
        ),
        Key::new(
            "resets",
            Kind::count(1, 1_000_000),
            Fallback::count(500),
            "Requests that a client may take back in ten seconds (rapid reset, CVE-2023-44487). Its connection is \
             ended beyond.",
        ),
        Key::new(
            "control-frames",
            Kind::count(10, 1_000_000),
            Fallback::count(1_000),
            "Frames in ten seconds that carry nothing: PING, SETTINGS, PRIORITY, empty and unknown ones. The connection \
             is ended beyond.",
        ),
        Key::new(
            "tiny-frames",
            Kind::count(10, 1_000_000),
            Fallback::count(1_000),
            "Pieces of less than 64 bytes in ten seconds that a client's windows cut its answers into. The connection \
             is ended beyond.",
        ),
        Key::new(
            "malformed",
            Kind::count(1, 1_000_000),
            Fallback::count(100),
            "Requests in ten seconds that break a rule of HTTP/2's own. The connection is ended beyond.",
        ),
    ],
};

static POOL: Table = Table {
    what: "HTTP/2 towards servers",
    choices: &[],
    keys: &[
        Key::new(
            "speak",
            Kind::Words(&[Word::of("off"), Word::of("prefer"), Word::of("only")]),
            Fallback::word("off"),
            "`prefer`: where a server takes it up under TLS (ALPN `h2`), and always without TLS. `only`: a server under \
             TLS that does not take it up is not used.",
        ),
        STREAMS,
        WINDOW_FIRST,
        WINDOW_MOST,
        Key::new(
            "ping",
            Kind::time_or(100, DAY, "off"),
            Fallback::millis(330_000),
            "Silence of a connection after which the server is asked for a sign of life (PING). It has 20 s to give one, \
             or the connection is given up. Servers of gRPC take more than one in five minutes for abuse.",
        ),
    ],
};

const STREAMS: Key = Key::new(
    "streams",
    Kind::count(1, 10_000),
    Fallback::count(100),
    "Requests at a time on one connection.",
);

const WINDOW_FIRST: Key = Key::new(
    "window",
    Kind::size(65_535, WINDOW),
    Fallback::Is(Value::Size(256 * 1_024)),
    "Bytes of one body that may be on their way to us at first.",
);

const WINDOW_MOST: Key = Key::new(
    "window-most",
    Kind::size(65_535, WINDOW),
    Fallback::Is(Value::Size(4 * 1_024 * 1_024)),
    "What that may grow to as the path is seen to hold more, and what all bodies of one connection together may: the \
     most that is kept of them.",
);
