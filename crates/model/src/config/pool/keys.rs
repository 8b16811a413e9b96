//! Describes `[pool.NAME]` and its servers.

use super::lenient_answers::LENIENT_ANSWERS;
use crate::config::agent::AGENT;
use crate::config::probe::PROBE;
use crate::config::schema::{
    DefaultValue, KeySchema, Keyword, MAX_SERVERS, TableSchema, TableShorthand, ValueKind,
};
use crate::config::server::{CONNECTIONS, SERVER, WEIGHT};
use crate::config::value::ConfigValue;
use crate::config::{
    balance, circuit_breaker, discovery, hedging, http2, load_shedding, outlier_detection,
    proxy_protocol, retry, schedule, service, socket, tls,
};

/// One day, in milliseconds: the bound of the times here.
const DAY: u64 = 86_400_000;

pub static POOL: TableSchema = TableSchema {
    description: "a pool",
    exclusive_groups: &[],
    keys: &[
        balance::BALANCE,
        balance::HASH_ON,
        balance::JUDGE,
        balance::SLOW_START,
        balance::SPILL_OVER,
        balance::POOL_LOCALITY,
        KeySchema::new(
            "initial",
            ValueKind::Keyword(&[
                Keyword::new("up"),
                Keyword::new("unknown"),
                Keyword::new("down"),
            ]),
            DefaultValue::Derived("`unknown` when every server has a probe, else `up`"),
            "State of a server before its first health check; `unknown` servers get requests only while no server \
             is up.",
        ),
        KeySchema::new(
            "all-down",
            ValueKind::Keyword(&[Keyword::new("refuse"), Keyword::new("spread")]),
            DefaultValue::Derived(
                "`spread` when only packets are forwarded to the pool, else `refuse`",
            ),
            "When no server is available: `refuse` requests with the cause, or `spread` them over every enabled \
             server.",
        ),
        PROBE,
        AGENT,
        KeySchema::new(
            "servers",
            ValueKind::List {
                table: &SERVER,
                short: TableShorthand::Key("address"),
                most: MAX_SERVERS,
            },
            DefaultValue::Derived("required where `servers-from` is not written"),
            "Its servers, at least one: tables, or their addresses as a short form.",
        )
        .elements_inherit(),
        discovery::SERVERS_FROM,
        schedule::SCHEDULE,
        WEIGHT,
        CONNECTIONS,
        KeySchema::new(
            "timeout",
            ValueKind::table(&TIMEOUT),
            DefaultValue::Inner,
            "Timeouts towards servers.",
        )
        .inherited()
        .proxy_only(),
        KeySchema::new(
            "limit",
            ValueKind::table(&LIMIT),
            DefaultValue::Inner,
            "Limits towards servers.",
        )
        .inherited()
        .proxy_only(),
        KeySchema::new(
            "source",
            ValueKind::AddressesOr("client"),
            DefaultValue::Literal(ConfigValue::Addresses(Vec::new())),
            "Source addresses for connections to servers, used in turn; none: the kernel chooses. For `nat` \
             services the return addresses, or `client`: servers see the client's own address and route back \
             through this machine.",
        ),
        KeySchema::new(
            "socket",
            ValueKind::table(&socket::POOL),
            DefaultValue::Inner,
            "Socket options of connections to servers.",
        )
        .inherited()
        .proxy_only(),
        KeySchema::new(
            "retries",
            ValueKind::count(0, 10),
            DefaultValue::count(2),
            "Retries of failed requests that may be repeated.",
        )
        .proxy_only(),
        retry::RETRY,
        outlier_detection::EJECT,
        circuit_breaker::BREAKER,
        load_shedding::SHED,
        hedging::HEDGE,
        KeySchema::refused(
            "sticky",
            "keeping clients is the service's: `sticky` in `[service.NAME]`",
        ),
        tls::OF_POOL,
        http2::POOL_HTTP2,
        proxy_protocol::SEND,
        LENIENT_ANSWERS,
        KeySchema::refused(
            "fin-timeout",
            "packet forwarding has it in the service: `fin-timeout` in `[service.NAME]`",
        ),
        KeySchema::refused(
            "idle-timeout",
            "packet forwarding has it in the service: `idle-timeout` in `[service.NAME]`",
        ),
        KeySchema::refused("listen", "listening is the service's: `listen` in `[service.NAME]`"),
        KeySchema::refused("forward", "the method is the service's: `forward` in `[service.NAME]`"),
    ],
};

static TIMEOUT: TableSchema = TableSchema {
    description: "times of a pool",
    exclusive_groups: &[],
    keys: &[
        CONNECT,
        FIRST_BYTE,
        ATTEMPTS,
        KeySchema::new(
            "between-bytes",
            ValueKind::time(1, 7 * DAY),
            DefaultValue::millis(30_000),
            "Between two bytes of a response, and between two reads by a server of its request.",
        )
        .http_only(),
        // An hour without a message: streams of events send a comment or a ping more often.
        KeySchema::new(
            "stream",
            ValueKind::time(1, 7 * DAY),
            DefaultValue::millis(3_600_000),
            "The same in event streams (`text/event-stream`) and gRPC (`application/grpc`), which may be silent for \
             long; at least `between-bytes`. For a gRPC request also between two bytes of the client.",
        )
        .http_only(),
        QUEUE_TIME,
        // A server's own limit is learned. A minute bounds what an idle connection costs the server.
        KeySchema::new(
            "idle",
            ValueKind::time(1, 7 * DAY),
            DefaultValue::millis(60_000),
            "An idle connection to a server, unless the server's own limit, once learned, is shorter.",
        )
        .http_only(),
        KeySchema::refused(
            "header",
            "a request's head is the service's: `timeout.header` in `[service.NAME]`",
        ),
        KeySchema::refused(
            "total",
            "a whole exchange is the service's: `timeout.total` in `[service.NAME]`",
        ).formerly(&["whole"]),
        KeySchema::refused("tunnel", "tunnels are the service's: `timeout.tunnel` in `[service.NAME]`"),
        KeySchema::refused("drain", "draining is the service's: `timeout.drain` in `[service.NAME]`"),
    ],
};

static LIMIT: TableSchema = TableSchema {
    description: "limits of a pool",
    exclusive_groups: &[],
    keys: &[
        IDLE_CONNECTIONS,
        QUEUE_LENGTH,
        service::HEADER_BYTES,
        service::HEADER_COUNT,
        KeySchema::refused(
            "connections",
            "a cap for each server is `connections` in the pool or the server",
        ),
        KeySchema::refused(
            "target-bytes",
            "targets are the service's: `limit.target-bytes` in `[service.NAME]`",
        ),
        KeySchema::refused(
            "body-bytes",
            "request bodies are the service's: `limit.body-bytes` in `[service.NAME]`",
        ),
        KeySchema::refused(
            "connection-bytes",
            "it is the service's: `limit.connection-bytes` in `[service.NAME]`",
        ),
    ],
};

/// Time limit for establishing a connection.
pub const CONNECT: KeySchema = KeySchema::new(
    "connect",
    ValueKind::time(1, 10 * 60_000),
    DefaultValue::millis(3_000),
    "Time to establish a connection.",
);

/// Time limit for the start of a response.
pub const FIRST_BYTE: KeySchema = KeySchema::new(
    "first-byte",
    ValueKind::time(1, 7 * DAY),
    DefaultValue::millis(60_000),
    "From the request's last byte to the response's first.",
)
.http_only();

/// Bounded like the times that it replaces.
pub const ATTEMPTS: KeySchema = KeySchema::new(
    "attempts",
    ValueKind::time(1, 7 * DAY),
    DefaultValue::Derived("`connect` and `first-byte` together, or with `retry.on-timeout` twice `first-byte`"),
    "From the start of the first attempt to a response: after that no retry starts, and an attempt in progress ends.",
)
.http_only();

/// Time limit in the pool's queue.
pub const QUEUE_TIME: KeySchema = KeySchema::new(
    "queue",
    ValueKind::time(0, DAY),
    DefaultValue::millis(1_000),
    "Waiting in the queue for a server below its connection limit.",
);

/// Per worker. Each costs a descriptor and the server's memory; without any, every request opens a connection.
pub const IDLE_CONNECTIONS: KeySchema = KeySchema::new(
    "idle",
    ValueKind::count(0, 65_535),
    DefaultValue::count(256),
    "Idle connection pool: idle connections per server and worker. A connection that is not to stay open is \
     announced with `Connection: close`.",
)
.http_only();

/// Per worker. Each waiting exchange holds its buffers; `timeout.queue` bounds how long.
pub const QUEUE_LENGTH: KeySchema = KeySchema::new(
    "queue",
    ValueKind::count(0, 1_000_000),
    DefaultValue::count(1_024),
    "Wait queue: requests waiting for a server, per worker.",
);
