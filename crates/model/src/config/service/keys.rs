//! Describes `[service.NAME]`.

use crate::config::schema::{DefaultValue, KeySchema, Keyword, TableSchema, TextFormat, ValueKind};
use crate::config::value::ConfigValue;
use crate::config::{
    affinity, auth, body_limit, buffer, client_from, compression, error_pages, field_names,
    forwarded_headers, http2, http3, objective, packets, path_normalization, proxy_protocol,
    request_id, request_priority, rules, socket, tls,
};

/// One hour, in milliseconds.
const HOUR: u64 = 3_600_000;

const DAY: u64 = 24 * HOUR;

pub static SERVICE: TableSchema = TableSchema {
    description: "a service",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "listen",
            ValueKind::Listen,
            DefaultValue::Required,
            "Addresses to listen on: `\"203.0.113.10:80\"`, `\"[2001:db8::10]:80\"`, `\":80\"` for every address of \
             both families, or a list. Packet services also accept `\"203.0.113.10:80,443,8000-8010\"`, and \
             `\"203.0.113.10:*\"` for any port.",
        ),
        KeySchema::new(
            "forward",
            ValueKind::Keyword(&[
                Keyword::new("http"),
                Keyword::new("tcp"),
                Keyword::new("mac"),
                Keyword::new("nat"),
                Keyword::new("tunnel"),
            ]),
            DefaultValue::Required,
            "Forwarding method: `http` proxies requests, `tcp` proxies bytes. The others forward packets: `mac` \
             with another MAC address (direct server return), `nat` translated both ways, `tunnel` in a tunnel.",
        ),
        KeySchema::new(
            "pool",
            ValueKind::Text { form: TextFormat::Name, unset: None },
            DefaultValue::Required,
            "Name of its pool.",
        ),
        KeySchema::new(
            "timeout",
            ValueKind::table(&TIMEOUT),
            DefaultValue::Inner,
            "Timeouts towards clients.",
        )
        .inherited(),
        KeySchema::new(
            "limit",
            ValueKind::table(&LIMIT),
            DefaultValue::Inner,
            "Limits towards clients.",
        )
        .inherited()
        .proxy_only(),
        KeySchema::new(
            "socket",
            ValueKind::table(&socket::ALL),
            DefaultValue::Inner,
            "Socket options of listeners and client connections.",
        )
        .inherited()
        .proxy_only(),
        TRUST.inherited().proxy_only(),
        client_from::CLIENT_FROM.inherited(),
        request_id::REQUEST_ID.inherited(),
        forwarded_headers::FORWARDED,
        packets::PROTOCOL,
        packets::FIN_TIMEOUT,
        packets::STALE_TIMEOUT,
        affinity::STICKY,
        packets::TUNNEL,
        packets::MSS_CLAMP,
        packets::NORMALIZE,
        packets::REPLICATE,
        packets::GUARD,
        auth::OF_SERVICE,
        rules::RULE,
        rules::EDIT,
        path_normalization::NORMALIZATION,
        path_normalization::CASE,
        field_names::FIELD_NAMES,
        tls::OF_SERVICE,
        http2::SERVICE_HTTP2,
        http3::SERVICE_HTTP3,
        proxy_protocol::ACCEPT,
        error_pages::ERROR_PAGE,
        compression::COMPRESS,
        buffer::BUFFER,
        request_priority::PRIORITY,
        objective::OBJECTIVE,
        KeySchema::refused("access-log", "there is one access log: `access-log` in `[global]`"),
        KeySchema::refused("servers", "servers stand in a pool: `[pool.NAME]`"),
        KeySchema::refused("balance", "choosing is the pool's: `balance` in `[pool.NAME]`"),
        KeySchema::refused("probe", "judging is the pool's: `probe` in `[pool.NAME]`"),
    ],
};

static TIMEOUT: TableSchema = TableSchema {
    description: "times of a service",
    exclusive_groups: &[],
    keys: &[
        HEADER,
        // Each idle connection costs a descriptor, and a browser opens another one when it needs it.
        KeySchema::new(
            "idle",
            ValueKind::time(1, 7 * DAY),
            DefaultValue::millis(60_000),
            "Idle time of a keep-alive connection.",
        )
        .http_only(),
        // Half a minute without a byte outlasts four retransmissions (1 + 2 + 4 + 8 s).
        KeySchema::new(
            "between-bytes",
            ValueKind::time(1, 7 * DAY),
            DefaultValue::millis(30_000),
            "Between two bytes of a request's body, and between two reads by a client of its response.",
        )
        .http_only(),
        WHOLE,
        KeySchema::new(
            "drain",
            ValueKind::time(0, DAY),
            DefaultValue::Derived("global.drain"),
            "How long requests in flight of a removed or changed service may finish.",
        )
        .proxy_only(),
        TUNNEL,
        packets::EMBRYONIC,
        packets::HALF_CLOSED,
        packets::UDP,
        packets::ICMP,
        KeySchema::refused("connect", "connecting is the pool's: `timeout.connect` in `[pool.NAME]`"),
        KeySchema::refused("first-byte", "waiting for a server is the pool's: `timeout.first-byte` in `[pool.NAME]`"),
        KeySchema::refused("queue", "waiting for a server is the pool's: `timeout.queue` in `[pool.NAME]`"),
    ],
};

static LIMIT: TableSchema = TableSchema {
    description: "limits of a service",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "connections",
            ValueKind::count_or_keyword(1, 100_000_000, "off"),
            DefaultValue::unset("off"),
            "Client connections at a time; `off`: the global limit alone. At the limit an idle connection is closed \
             for a new one.",
        ),
        KeySchema::new(
            "connections-per-client",
            ValueKind::count_or_keyword(1, 100_000_000, "auto"),
            DefaultValue::unset("auto"),
            "The same of one client: an IPv4 address, or an IPv6 /64. `auto`: once half of the limit is in use, at \
             most as many as are free, but never fewer than 8. Clients in `trust` and senders in `accept-proxy` have \
             no such limit.",
        ),
        HEADER_BYTES,
        HEADER_COUNT,
        TARGET_BYTES,
        body_limit::OF_SERVICE,
        CONNECTION_BYTES,
        KeySchema::refused(
            "idle",
            "kept connections are the pool's: `limit.idle` in `[pool.NAME]`",
        ),
        KeySchema::refused("queue", "the queue is the pool's: `limit.queue` in `[pool.NAME]`"),
    ],
};

/// Whose word about earlier hops is believed.
pub const TRUST: KeySchema = KeySchema::new(
    "trust",
    ValueKind::PrefixesOrFiles,
    DefaultValue::Literal(ConfigValue::Prefixes(Vec::new())),
    "Networks of proxies in front, such as a CDN's, and files of networks (`\"file:/etc/steelyard/cdn.cidr\"`: one a \
     line, read again when they change). Forwarding fields (X-Forwarded-*, Forwarded, X-Real-IP) are accepted only \
     from these addresses; by default from none. Limits of one client's connections and handshakes do not apply to \
     them, because many clients are behind each.",
);

/// Ten seconds outlast three retransmissions of a lost packet (1 + 2 + 4 s), and a slow attacker holds a place no
/// longer.
pub const HEADER: KeySchema = KeySchema::new(
    "header",
    ValueKind::time(1, 7 * DAY),
    DefaultValue::millis(10_000),
    "Complete request headers, from the connection's first byte or the end of the previous exchange.",
)
.http_only();

/// Idle timeout of connections on both sides.
pub const IDLE_BOTH: KeySchema = KeySchema::new(
    "idle",
    ValueKind::time(1, 7 * DAY),
    DefaultValue::millis(60_000),
    "A keep-alive connection without a request: a client's, and an idle one to a server.",
);

/// Timeout for silence within a message on both sides.
pub const BETWEEN_BYTES_BOTH: KeySchema = KeySchema::new(
    "between-bytes",
    ValueKind::time(1, 7 * DAY),
    DefaultValue::millis(30_000),
    "Between two bytes or two reads within a message, for clients and servers.",
);

/// Off: the length of a good download or stream is unknown, and the times between bytes bound a stalled one.
pub const WHOLE: KeySchema = KeySchema::new(
    "total",
    ValueKind::time_or_keyword(1, 7 * DAY, "off"),
    DefaultValue::unset("off"),
    "Time for the whole exchange, from its first byte to its last.",
)
.formerly(&["whole"])
.http_only();

/// One hour, as HAProxy's documentation has it for WebSockets.
pub const TUNNEL: KeySchema = KeySchema::new(
    "tunnel",
    ValueKind::time(1, 7 * DAY),
    DefaultValue::millis(HOUR),
    "Idle time of a tunnel (`tcp`, or an upgraded connection such as a WebSocket).",
)
.proxy_only();

/// Limit for a head; the 64 KiB buffer needs room for added fields.
pub const HEADER_BYTES: KeySchema = KeySchema::new(
    "header-bytes",
    ValueKind::size(1_024, 60 * 1_024),
    DefaultValue::Literal(ConfigValue::Size(32 * 1_024)),
    "Bytes of request headers.",
)
.http_only();

/// Limit for the fields of a head.
pub const HEADER_COUNT: KeySchema = KeySchema::new(
    "header-count",
    ValueKind::count(1, 256),
    DefaultValue::count(100),
    "Number of request headers.",
)
.http_only();

/// Limit for the bytes of a target.
pub const TARGET_BYTES: KeySchema = KeySchema::new(
    "target-bytes",
    ValueKind::size(64, 60 * 1_024),
    DefaultValue::Literal(ConfigValue::Size(8 * 1_024)),
    "Bytes of a request's target; at most `header-bytes`.",
)
.http_only();

/// Limit for the balancer's memory of one connection.
pub const CONNECTION_BYTES: KeySchema = KeySchema::new(
    "connection-bytes",
    ValueKind::size(64 * 1_024, 16 * 1_024 * 1_024),
    DefaultValue::Literal(ConfigValue::Size(64 * 1_024)),
    "Bytes of memory that one connection may hold.",
);
