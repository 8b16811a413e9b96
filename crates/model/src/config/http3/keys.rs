//! Describes `http3` of a service.

use crate::config::schema::{
    DefaultValue, KeySchema, Keyword, TableSchema, TableShorthand, ValueKind,
};
use crate::config::value::ConfigValue;

/// One day, in milliseconds: the bound of the times here.
const DAY: u64 = 86_400_000;

/// QUIC allows larger windows; this limit equals that of HTTP/2.
const WINDOW: u64 = (1 << 31) - 1;

/// `http3` of a service.
pub const SERVICE_HTTP3: KeySchema = KeySchema::new(
    "http3",
    ValueKind::Table { table: &SERVICE, short: TableShorthand::Key("offer"), unset: None },
    DefaultValue::Inner,
    "HTTP/3 with clients. Short form: whether it is offered.",
)
.http_only();

static SERVICE: TableSchema = TableSchema {
    description: "HTTP/3 towards clients",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "offer",
            ValueKind::Keyword(&[Keyword::new("off"), Keyword::new("on")]),
            DefaultValue::keyword("off"),
            "`on`: HTTP/3 is also offered over UDP at the addresses of `listen`; requires `tls`.",
        ),
        // One day, the default of `ma` in RFC 7838 §3.1.
        KeySchema::new(
            "alt-svc",
            ValueKind::time_or_keyword(1_000, 365 * DAY, "off"),
            DefaultValue::millis(DAY),
            "How long clients of HTTP/1 and HTTP/2 may remember the `Alt-Svc` header of responses. `off`: no such \
             header.",
        ).formerly(&["announce"]),
        // RFC 9114 §6.1 recommends no fewer than 100.
        KeySchema::new(
            "streams",
            ValueKind::count(1, 10_000),
            DefaultValue::count(100),
            "Requests at a time on one connection.",
        ),
        // As for HTTP/2.
        KeySchema::new(
            "window",
            ValueKind::size(65_535, WINDOW),
            DefaultValue::Literal(ConfigValue::Size(256 * 1_024)),
            "Flow control window: bytes of one body that the client may have in flight.",
        ),
        // As for HTTP/2.
        KeySchema::new(
            "max-window",
            ValueKind::size(65_535, WINDOW),
            DefaultValue::Literal(ConfigValue::Size(4 * 1_024 * 1_024)),
            "The same for all bodies of one connection together: the most memory for them.",
        ).formerly(&["window-most"]),
        KeySchema::new(
            "send-buffer",
            ValueKind::size(65_536, 64 * 1_024 * 1_024),
            DefaultValue::Literal(ConfigValue::Size(1_024 * 1_024)),
            "Bytes of all responses of one connection that are not acknowledged or wait to be sent.",
        ),
        // One hour, as for HTTP/2: long-lived clients are spread over workers and balancers once an hour.
        KeySchema::new(
            "max-age",
            ValueKind::time_or_keyword(1_000, 30 * DAY, "off"),
            DefaultValue::millis(3_600_000),
            "Maximum age of a connection, randomly a tenth more or less. Then a GOAWAY is sent, and requests in \
             flight are finished.",
        ).formerly(&["age"]),
        // A worker completes many more handshakes a second; a hundred under way mean a flood or a slow path.
        KeySchema::new(
            "retry-above",
            ValueKind::count(0, 1_000_000),
            DefaultValue::count(100),
            "Handshakes in progress at a worker above which a client must first prove its address (Retry). \
             `tls.handshakes` limits all handshakes.",
        ).formerly(&["prove"]),
        // As for HTTP/2.
        KeySchema::new(
            "resets",
            ValueKind::count(1, 1_000_000),
            DefaultValue::count(500),
            "Requests that a client may cancel in ten seconds (rapid reset). Above that its connection is closed.",
        ),
    ],
};
