//! Describes `http2` of a service and of a pool.

use crate::config::schema::{
    DefaultValue, KeySchema, Keyword, TableSchema, TableShorthand, ValueKind,
};
use crate::config::value::ConfigValue;

/// One day, in milliseconds: the bound of the times here.
const DAY: u64 = 86_400_000;

/// The largest flow-control window (RFC 9113 §6.9.1).
const WINDOW: u64 = (1 << 31) - 1;

/// `http2` of a service.
pub const SERVICE_HTTP2: KeySchema = KeySchema::new(
    "http2",
    ValueKind::Table { table: &SERVICE, short: TableShorthand::Key("offer"), unset: None },
    DefaultValue::Inner,
    "HTTP/2 with clients. Short form: where it is offered.",
)
.http_only();

/// `http2` of a pool.
pub const POOL_HTTP2: KeySchema = KeySchema::new(
    "http2",
    ValueKind::Table { table: &POOL, short: TableShorthand::Key("mode"), unset: None },
    DefaultValue::Inner,
    "HTTP/2 with servers. Short form: whether it is used.",
)
.http_only();

static SERVICE: TableSchema = TableSchema {
    description: "HTTP/2 towards clients",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "offer",
            ValueKind::Keyword(&[Keyword::new("off"), Keyword::new("tls"), Keyword::new("always")]),
            DefaultValue::keyword("tls"),
            "`off`: nowhere. `tls`: over TLS (ALPN `h2`). `always`: also without TLS, with clients that begin with \
             its preface (prior knowledge).",
        ),
        STREAMS,
        WINDOW_FIRST,
        WINDOW_MOST,
        // At least one frame of the default size, 16 KiB (RFC 9113 §4.2).
        KeySchema::new(
            "send-buffer",
            ValueKind::size(16 * 1_024, 16 * 1_024 * 1_024),
            DefaultValue::Literal(ConfigValue::Size(64 * 1_024)),
            "Bytes of one response that wait for its client.",
        ),
        // One hour, as nginx's keepalive_time: long-lived clients are spread over workers and balancers once an hour.
        KeySchema::new(
            "max-age",
            ValueKind::time_or_keyword(1_000, 30 * DAY, "off"),
            DefaultValue::millis(3_600_000),
            "Maximum age of a connection, randomly a tenth more or less. Then a GOAWAY is sent, and requests in \
             flight are finished.",
        ).formerly(&["age"]),
        // Fifty a second: a user who leaves pages early stays below, a rapid reset exceeds it within a second.
        KeySchema::new(
            "resets",
            ValueKind::count(1, 1_000_000),
            DefaultValue::count(500),
            "Requests that a client may cancel in ten seconds (rapid reset, CVE-2023-44487). Above that its \
             connection is closed.",
        ),
        // A hundred a second: far above what PINGs for liveness and changes of settings need.
        KeySchema::new(
            "control-frames",
            ValueKind::count(10, 1_000_000),
            DefaultValue::count(1_000),
            "Frames without data in ten seconds: PING, SETTINGS, PRIORITY, empty and unknown ones. Above that the \
             connection is closed.",
        ),
        // A hundred a second: a client that opens its window in useful steps stays below.
        KeySchema::new(
            "tiny-frames",
            ValueKind::count(10, 1_000_000),
            DefaultValue::count(1_000),
            "Pieces of less than 64 bytes in ten seconds that a client's windows cut its responses into. Above that \
             the connection is closed.",
        ),
        // Ten a second: a correct client sends none.
        KeySchema::new(
            "malformed",
            ValueKind::count(1, 1_000_000),
            DefaultValue::count(100),
            "Malformed HTTP/2 requests in ten seconds. Above that the connection is closed.",
        ),
    ],
};

static POOL: TableSchema = TableSchema {
    description: "HTTP/2 towards servers",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "mode",
            ValueKind::Keyword(&[
                Keyword::new("off"),
                Keyword::new("prefer"),
                Keyword::new("only"),
            ]),
            DefaultValue::keyword("off"),
            "`prefer`: if a server negotiates it over TLS (ALPN `h2`), and always without TLS. `only`: a server \
             over TLS that does not negotiate it is not used.",
        ).formerly(&["speak"]),
        STREAMS,
        WINDOW_FIRST,
        WINDOW_MOST,
        // Servers of gRPC tolerate one PING in five minutes; half a minute more allows for clocks and delays.
        KeySchema::new(
            "ping",
            ValueKind::time_or_keyword(100, DAY, "off"),
            DefaultValue::millis(330_000),
            "Silence of a connection after which a PING is sent. The connection is closed after 20 s without a \
             response. gRPC servers treat more than one PING in five minutes as abuse.",
        ),
    ],
};

/// RFC 9113 §6.5.2 recommends no fewer than 100. Each may hold a request's memory, so the bound is not open.
const STREAMS: KeySchema = KeySchema::new(
    "streams",
    ValueKind::count(1, 10_000),
    DefaultValue::count(100),
    "Requests at a time on one connection.",
);

/// At least the initial window of RFC 9113 §6.9.2, the client assumes it until it has read the server's settings.
const WINDOW_FIRST: KeySchema = KeySchema::new(
    "window",
    ValueKind::size(65_535, WINDOW),
    DefaultValue::Literal(ConfigValue::Size(256 * 1_024)),
    "Initial flow control window: bytes of one body that the peer may have in flight.",
);

/// 4 MiB carry about 330 Mbit/s over 100 ms. It is memory that one connection may take.
const WINDOW_MOST: KeySchema = KeySchema::new(
    "max-window",
    ValueKind::size(65_535, WINDOW),
    DefaultValue::Literal(ConfigValue::Size(4 * 1_024 * 1_024)),
    "Maximum of that window, which grows with the path, and of all bodies of one connection together: the most \
     memory for them.",
).formerly(&["window-most"]);
