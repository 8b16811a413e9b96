//! Describes `[pool.NAME]` and its servers.

use super::super::schema::{Fallback, Form, Key, Kind, SERVERS, Short, Table, Word};
use super::super::value::Value;
use super::agent::AGENT;
use super::balance;
use super::probe::PROBE;
use super::resilience;
use super::service;
use super::{http2, lenient, tls};
use super::{operate, proxy, socket};

const DAY: u64 = 86_400_000;

/// `[pool.NAME]`.
pub static POOL: Table = Table {
    what: "a pool",
    choices: &[],
    keys: &[
        balance::BALANCE,
        balance::HASH_ON,
        balance::JUDGE,
        balance::SLOW_START,
        balance::SPILL_OVER,
        balance::HERE,
        Key::new(
            "initial",
            Kind::Words(&[Word::of("up"), Word::of("unknown"), Word::of("down")]),
            Fallback::Derived("`unknown` when every server has a probe, else `up`"),
            "What a server is before its first evidence; `unknown` takes work only while no server is up.",
        ),
        Key::new(
            "all-down",
            Kind::Words(&[Word::of("refuse"), Word::of("spread")]),
            Fallback::Derived(
                "`spread` when only packets are forwarded to the pool, else `refuse`",
            ),
            "When no server may take work: refuse with the cause, or use every enabled server.",
        ),
        PROBE,
        AGENT,
        Key::new(
            "servers",
            Kind::List { table: &SERVER, short: Short::Key("address"), most: SERVERS },
            Fallback::Derived("required where `servers-from` is not written"),
            "Its servers, at least one: tables, or in short their addresses.",
        ),
        operate::SERVERS_FROM,
        operate::SCHEDULE,
        WEIGHT,
        CONNECTIONS,
        Key::new("timeout", Kind::table(&TIMEOUT), Fallback::Inner, "Times towards servers.")
            .inherited()
            .proxy(),
        Key::new("limit", Kind::table(&LIMIT), Fallback::Inner, "Limits towards servers.")
            .inherited()
            .proxy(),
        Key::new(
            "source",
            Kind::AddressesOr("client"),
            Fallback::Is(Value::Addresses(Vec::new())),
            "Source addresses towards servers, used in turn; none: the kernel chooses. For `nat` services the return \
             addresses, or `client`: servers see the client's own address and route back through this machine.",
        ),
        Key::new(
            "socket",
            Kind::table(&socket::POOL),
            Fallback::Inner,
            "What is set on connections to servers.",
        )
        .inherited()
        .proxy(),
        Key::new(
            "retries",
            Kind::count(0, 10),
            Fallback::count(2),
            "Further attempts after a failed one that may be repeated.",
        )
        .proxy(),
        resilience::RETRY,
        resilience::EJECT,
        resilience::BREAKER,
        resilience::SHED,
        resilience::HEDGE,
        Key::refused("sticky", "keeping clients is the service's: `sticky` in `[service.NAME]`"),
        tls::OF_POOL,
        http2::OF_POOL,
        proxy::SEND,
        lenient::LENIENT_ANSWERS,
        Key::refused(
            "fin-timeout",
            "packet forwarding has it in the service: `fin-timeout` in `[service.NAME]`",
        ),
        Key::refused(
            "stale-timeout",
            "packet forwarding has it in the service: `stale-timeout` in `[service.NAME]`",
        ),
        Key::refused("listen", "listening is the service's: `listen` in `[service.NAME]`"),
        Key::refused("forward", "the method is the service's: `forward` in `[service.NAME]`"),
    ],
};

/// An element of `servers`.
pub static SERVER: Table = Table {
    what: "a server",
    choices: &[],
    keys: &[
        Key::new(
            "name",
            Kind::Text { form: Form::Name, unset: None },
            Fallback::Derived("the address with `-` for every other character"),
            "Its name within the pool.",
        ),
        Key::new(
            "address",
            Kind::Server,
            Fallback::Required,
            "Where it is: `\"10.0.0.11:8080\"`, `\"[2001:db8::11]:8080\"` or `\"name.example:8080\"`.",
        ),
        WEIGHT.inherited(),
        balance::PRIORITY,
        balance::BACKUP,
        balance::LAST_RESORT,
        balance::LOCALITY,
        Key::new(
            "state",
            Kind::Words(&[Word::of("enabled"), Word::of("drain"), Word::of("disabled")]),
            Fallback::word("enabled"),
            "What the operator wants of it: judged by its health, finish what it has, or take nothing.",
        ),
        operate::SCHEDULE.inherited(),
        CONNECTIONS.inherited(),
        PROBE.inherited(),
    ],
};

static TIMEOUT: Table = Table {
    what: "times of a pool",
    choices: &[],
    keys: &[
        CONNECT,
        FIRST_BYTE,
        ATTEMPTS,
        Key::new(
            "between-bytes",
            Kind::time(1, 7 * DAY),
            Fallback::millis(30_000),
            "Between two bytes of an answer, and between two reads by a server of its request.",
        )
        .http(),
        Key::new(
            "stream",
            Kind::time(1, 7 * DAY),
            Fallback::millis(3_600_000),
            "The same in a stream of events (`text/event-stream`) or of gRPC messages (`application/grpc`), which may say \
             nothing for long; at least `between-bytes`. Of a request of gRPC also between two bytes of the client.",
        )
        .http(),
        QUEUE_TIME,
        Key::new(
            "idle",
            Kind::time(1, 7 * DAY),
            Fallback::millis(60_000),
            "A kept connection, unless the server's own limit, once learned, is shorter.",
        )
        .http(),
        Key::refused(
            "header",
            "a request's head is the service's: `timeout.header` in `[service.NAME]`",
        ),
        Key::refused(
            "whole",
            "a whole exchange is the service's: `timeout.whole` in `[service.NAME]`",
        ),
        Key::refused("tunnel", "tunnels are the service's: `timeout.tunnel` in `[service.NAME]`"),
        Key::refused("drain", "draining is the service's: `timeout.drain` in `[service.NAME]`"),
    ],
};

static LIMIT: Table = Table {
    what: "limits of a pool",
    choices: &[],
    keys: &[
        IDLE_CONNECTIONS,
        QUEUE_LENGTH,
        service::HEADER_BYTES,
        service::HEADER_COUNT,
        Key::refused(
            "connections",
            "a cap for each server is `connections` in the pool or the server",
        ),
        Key::refused(
            "target-bytes",
            "targets are the service's: `limit.target-bytes` in `[service.NAME]`",
        ),
        Key::refused(
            "connection-bytes",
            "it is the service's: `limit.connection-bytes` in `[service.NAME]`",
        ),
    ],
};

const WEIGHT: Key = Key::new(
    "weight",
    Kind::count(0, 256),
    Fallback::count(1),
    "A server's share; 0 takes no new work. In a pool: for its servers that set none.",
);

const CONNECTIONS: Key = Key::new(
    "connections",
    Kind::count_or(1, 1_000_000, "off"),
    Fallback::unset("off"),
    "Connections at a time to one server. In a pool: for each of its servers that set none.",
);

/// Until a connection is established.
pub const CONNECT: Key = Key::new(
    "connect",
    Kind::time(1, 10 * 60_000),
    Fallback::millis(3_000),
    "Until a connection is established.",
);

/// Until an answer begins.
pub const FIRST_BYTE: Key = Key::new(
    "first-byte",
    Kind::time(1, 7 * DAY),
    Fallback::millis(60_000),
    "From the request's last byte to the answer's first.",
)
.http();

/// All attempts together.
pub const ATTEMPTS: Key = Key::new(
    "attempts",
    Kind::time(1, 7 * DAY),
    Fallback::Derived("`connect` and `first-byte` together, or with `retry.on-timeout` twice `first-byte`"),
    "From the beginning of the first attempt to an answer: later no further attempt is begun, and one under way ends.",
)
.http();

/// In the pool's queue.
pub const QUEUE_TIME: Key = Key::new(
    "queue",
    Kind::time(0, DAY),
    Fallback::millis(1_000),
    "Waiting for a server below its connection cap.",
);

/// The shelf's size.
pub const IDLE_CONNECTIONS: Key = Key::new(
    "idle",
    Kind::count(0, 65_535),
    Fallback::count(256),
    "Kept connections per server and worker. A server whose connection is not kept is told so (`Connection: close`).",
)
.http();

/// The queue's size.
pub const QUEUE_LENGTH: Key = Key::new(
    "queue",
    Kind::count(0, 1_000_000),
    Fallback::count(1_024),
    "Exchanges waiting for a server, per worker.",
);
