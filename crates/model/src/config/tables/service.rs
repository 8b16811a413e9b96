//! Describes `[service.NAME]`.

use super::super::schema::{Fallback, Form, Key, Kind, Table, Word};
use super::super::value::Value;
use super::{buffer, compress, objective, packets, proxy, resilience, rules, socket, sticky};
use super::{http2, http3, path, tls};

const HOUR: u64 = 3_600_000;
const DAY: u64 = 24 * HOUR;

/// `[service.NAME]`.
pub static SERVICE: Table = Table {
    what: "a service",
    choices: &[],
    keys: &[
        Key::new(
            "listen",
            Kind::Listen,
            Fallback::Required,
            "Where it listens: `\"203.0.113.10:80\"`, `\"[2001:db8::10]:80\"`, `\":80\"` for every address of both \
             families, or a list. Where packets are forwarded also `\"203.0.113.10:80,443,8000-8010\"` and \
             `\"203.0.113.10:*\"` for any port.",
        ),
        Key::new(
            "forward",
            Kind::Words(&[
                Word::of("http"),
                Word::of("tcp"),
                Word::of("mac"),
                Word::of("nat"),
                Word::of("tunnel"),
            ]),
            Fallback::Required,
            "The method: proxied requests, proxied bytes, or packets: sent on with another MAC address, translated \
             both ways, or put into a tunnel.",
        ),
        Key::new(
            "pool",
            Kind::Text { form: Form::Name, unset: None },
            Fallback::Required,
            "Name of its pool.",
        ),
        Key::new("timeout", Kind::table(&TIMEOUT), Fallback::Inner, "Times towards clients.")
            .inherited(),
        Key::new("limit", Kind::table(&LIMIT), Fallback::Inner, "Limits towards clients.")
            .inherited()
            .proxy(),
        Key::new(
            "socket",
            Kind::table(&socket::ALL),
            Fallback::Inner,
            "What is set on listeners and client connections.",
        )
        .inherited()
        .proxy(),
        TRUST.inherited().proxy(),
        Key::new(
            "forwarded",
            Kind::table(&FORWARDED),
            Fallback::Inner,
            "Which headers tell the server about the client.",
        )
        .http(),
        packets::PROTOCOL,
        packets::FIN_TIMEOUT,
        packets::STALE_TIMEOUT,
        sticky::STICKY,
        packets::TUNNEL,
        packets::MSS_CLAMP,
        packets::REPLICATE,
        packets::GUARD,
        rules::RULE,
        path::NORMALIZATION,
        path::CASE,
        tls::OF_SERVICE,
        http2::OF_SERVICE,
        http3::OF_SERVICE,
        proxy::ACCEPT,
        compress::COMPRESS,
        buffer::BUFFER,
        resilience::PRIORITY,
        objective::OBJECTIVE,
        Key::refused("access-log", "there is one access log: `access-log` in `[global]`"),
        Key::refused("servers", "servers stand in a pool: `[pool.NAME]`"),
        Key::refused("balance", "choosing is the pool's: `balance` in `[pool.NAME]`"),
        Key::refused("probe", "judging is the pool's: `probe` in `[pool.NAME]`"),
    ],
};

static TIMEOUT: Table = Table {
    what: "times of a service",
    choices: &[],
    keys: &[
        HEADER,
        Key::new(
            "idle",
            Kind::time(1, 7 * DAY),
            Fallback::millis(60_000),
            "A keep-alive connection without a request.",
        )
        .http(),
        Key::new(
            "between-bytes",
            Kind::time(1, 7 * DAY),
            Fallback::millis(30_000),
            "Between two bytes of a request's body, and between two reads by a client of its answer.",
        )
        .http(),
        WHOLE,
        Key::new(
            "drain",
            Kind::time(0, DAY),
            Fallback::Derived("global.drain"),
            "How long exchanges of a removed or changed service may finish.",
        )
        .proxy(),
        TUNNEL,
        packets::EMBRYONIC,
        packets::HALF_CLOSED,
        packets::UDP,
        packets::ICMP,
        Key::refused("connect", "connecting is the pool's: `timeout.connect` in `[pool.NAME]`"),
        Key::refused("first-byte", "waiting for a server is the pool's: `timeout.first-byte` in `[pool.NAME]`"),
        Key::refused("queue", "waiting for a server is the pool's: `timeout.queue` in `[pool.NAME]`"),
    ],
};

static LIMIT: Table = Table {
    what: "limits of a service",
    choices: &[],
    keys: &[
        Key::new(
            "connections",
            Kind::count_or(1, 100_000_000, "off"),
            Fallback::unset("off"),
            "Client connections at a time; `off`: the global limit alone. At the limit a connection without a request is \
             closed for a newcomer.",
        ),
        Key::new(
            "connections-per-client",
            Kind::count_or(1, 100_000_000, "auto"),
            Fallback::unset("auto"),
            "The same of one client: an IPv4 address, or a /64 of IPv6. `auto`: once half of the limit is taken, at most as \
             many as are free, but never fewer than 8. Clients in `trust` and senders in `accept-proxy` have no such limit.",
        ),
        HEADER_BYTES,
        HEADER_COUNT,
        TARGET_BYTES,
        CONNECTION_BYTES,
        Key::refused("idle", "kept connections are the pool's: `limit.idle` in `[pool.NAME]`"),
        Key::refused("queue", "the queue is the pool's: `limit.queue` in `[pool.NAME]`"),
    ],
};

static FORWARDED: Table = Table {
    what: "forwarding headers",
    choices: &[],
    keys: &[
        Key::new(
            "x-forwarded",
            Kind::Words(TREATMENTS),
            Fallback::word("append"),
            "X-Forwarded-For and X-Forwarded-Proto: passed as they came, appended to, replaced by ours, or removed. Other \
             `X-Forwarded-` fields and X-Real-IP pass with `keep` and `append`. What a client sends that is not in `trust` \
             never passes: `keep` and `append` then replace it, X-Real-IP too.",
        ),
        Key::new(
            "forwarded",
            Kind::Words(TREATMENTS),
            Fallback::word("keep"),
            "Forwarded (RFC 7239): likewise. With `keep` nothing is added where none came.",
        ),
        Key::new("via", Kind::Flag, Fallback::Is(Value::Flag(true)), "Add Via (RFC 9110 §7.6.3)."),
    ],
};

const TREATMENTS: &[Word] =
    &[Word::of("keep"), Word::of("append"), Word::of("replace"), Word::of("remove")];

/// Whose word about earlier hops is believed.
pub const TRUST: Key = Key::new(
    "trust",
    Kind::Prefixes,
    Fallback::Is(Value::Prefixes(Vec::new())),
    "Networks of proxies in front, such as a CDN's. Forwarding fields (X-Forwarded-*, Forwarded, X-Real-IP) are believed \
     from these addresses alone; by default from none. Limits of one client's connections and handshakes do not hold \
     for them, since many clients stand behind each.",
);

/// A request's head.
pub const HEADER: Key = Key::new(
    "header",
    Kind::time(1, 7 * DAY),
    Fallback::millis(10_000),
    "A whole head, from the connection's first byte or the end of the previous exchange.",
)
.http();

/// Idle connections of both sides.
pub const IDLE_BOTH: Key = Key::new(
    "idle",
    Kind::time(1, 7 * DAY),
    Fallback::millis(60_000),
    "A keep-alive connection without a request: a client's, and a kept one towards a server.",
);

/// Silence within a message, both sides.
pub const BETWEEN_BYTES_BOTH: Key = Key::new(
    "between-bytes",
    Kind::time(1, 7 * DAY),
    Fallback::millis(30_000),
    "Between two bytes or two reads within a message, of a client and of a server.",
);

/// A whole exchange.
pub const WHOLE: Key = Key::new(
    "whole",
    Kind::time_or(1, 7 * DAY, "off"),
    Fallback::unset("off"),
    "The whole exchange, from its first byte to its last.",
)
.http();

/// An idle tunnel.
pub const TUNNEL: Key = Key::new(
    "tunnel",
    Kind::time(1, 7 * DAY),
    Fallback::millis(HOUR),
    "A tunnel (`tcp`, or an upgraded connection such as a WebSocket) with no byte either way.",
)
.proxy();

/// Bytes of a head; the buffer of 64 KiB keeps room for what we add.
pub const HEADER_BYTES: Key = Key::new(
    "header-bytes",
    Kind::size(1_024, 60 * 1_024),
    Fallback::Is(Value::Size(32 * 1_024)),
    "Bytes of a head.",
)
.http();

/// Fields of a head.
pub const HEADER_COUNT: Key =
    Key::new("header-count", Kind::count(1, 256), Fallback::count(100), "Fields of a head.").http();

/// Bytes of a target.
pub const TARGET_BYTES: Key = Key::new(
    "target-bytes",
    Kind::size(64, 60 * 1_024),
    Fallback::Is(Value::Size(8 * 1_024)),
    "Bytes of a request's target; at most `header-bytes`.",
)
.http();

/// Our bytes for one connection.
pub const CONNECTION_BYTES: Key = Key::new(
    "connection-bytes",
    Kind::size(64 * 1_024, 16 * 1_024 * 1_024),
    Fallback::Is(Value::Size(64 * 1_024)),
    "Bytes of ours that one connection may hold.",
);
