//! Describes the settings of a rule that replace those of its service and pool.
//!
//! The kinds and bounds are those of the keys that are replaced. What is not written is the pool's or the service's.

use crate::config::buffer::{BEYOND_WORDS, REQUEST_KIND, RESPONSE_KIND};
use crate::config::schema::{DefaultValue, KeySchema, TableSchema, TableShorthand, ValueKind};

/// One day, in milliseconds: the bound of the times here.
const DAY: u64 = 86_400_000;

const OF_POOL: DefaultValue = DefaultValue::Derived("the pool's");
const OF_SERVICE: DefaultValue = DefaultValue::Derived("the service's");

pub const TIMEOUT: KeySchema = KeySchema::new(
    "timeout",
    ValueKind::Table { table: &TIMEOUT_TABLE, short: TableShorthand::None, unset: None },
    DefaultValue::Absent,
    "Timeouts of matching requests, in place of those of the pool and the service.",
)
.proxy_only();

pub const RETRIES: KeySchema = KeySchema::new(
    "retries",
    ValueKind::count(0, 10),
    OF_POOL,
    "Retries of matching requests, in place of the pool's `retries`.",
)
.proxy_only();

pub const RETRY: KeySchema = KeySchema::new(
    "retry",
    ValueKind::Table { table: &RETRY_TABLE, short: TableShorthand::None, unset: None },
    DefaultValue::Absent,
    "Which failures are retried, in place of the pool's `retry`. The budget and the back-off stay the pool's.",
)
.http_only();

pub const BUFFER: KeySchema = KeySchema::new(
    "buffer",
    ValueKind::Table { table: &BUFFER_TABLE, short: TableShorthand::None, unset: None },
    DefaultValue::Absent,
    "Buffering of bodies, in place of the service's `buffer`, whose `memory` is shared.",
)
.http_only();

static TIMEOUT_TABLE: TableSchema = TableSchema {
    description: "times of a rule",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "connect",
            ValueKind::time(1, 10 * 60_000),
            OF_POOL,
            "Until a connection to a server is established.",
        ),
        KeySchema::new(
            "first-byte",
            ValueKind::time(1, 7 * DAY),
            OF_POOL,
            "From the request's last byte to the response's first.",
        )
        .http_only(),
        KeySchema::new(
            "attempts",
            ValueKind::time(1, 7 * DAY),
            DefaultValue::Derived(
                "the pool's; at least what the rule's own times need for two attempts, if they need more than the pool's",
            ),
            "From the start of the first attempt to a response: after that no retry starts, and an attempt in \
             progress ends.",
        )
        .http_only(),
        KeySchema::new(
            "between-bytes",
            ValueKind::time(1, 7 * DAY),
            OF_POOL,
            "Between two bytes of a response, and between two reads by a server of its request.",
        )
        .http_only(),
        KeySchema::new(
            "stream",
            ValueKind::time(1, 7 * DAY),
            OF_POOL,
            "The same in event streams and gRPC; at least `between-bytes`.",
        )
        .http_only(),
        KeySchema::new(
            "queue",
            ValueKind::time(0, DAY),
            OF_POOL,
            "Waiting in the queue for a server below its connection limit.",
        ),
        KeySchema::new(
            "client-between-bytes",
            ValueKind::time(1, 7 * DAY),
            DefaultValue::Derived("`timeout.between-bytes` of the service"),
            "Between two bytes of a request's body, and between two reads by a client of its response.",
        )
        .http_only(),
        KeySchema::new(
            "tunnel",
            ValueKind::time(1, 7 * DAY),
            OF_SERVICE,
            "Idle time of a tunnel (`tcp`, or an upgraded connection such as a WebSocket).",
        ),
    ],
};

static RETRY_TABLE: TableSchema = TableSchema {
    description: "the further attempts of a rule",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "on",
            ValueKind::Status,
            OF_POOL,
            "Response statuses that are retried instead of passed on.",
        ),
        KeySchema::new(
            "on-timeout",
            ValueKind::Flag,
            OF_POOL,
            "Retry a request that a server received and did not begin to answer in time.",
        ),
        KeySchema::new(
            "on-malformed",
            ValueKind::Flag,
            OF_POOL,
            "Retry a request whose response breaks the rules of HTTP.",
        ),
        KeySchema::new(
            "unsent-only",
            ValueKind::Flag,
            OF_POOL,
            "Otherwise retry only if no server can have received a byte of the request.",
        ),
    ],
};

static BUFFER_TABLE: TableSchema = TableSchema {
    description: "the keeping of bodies of a rule",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "request",
            REQUEST_KIND,
            OF_SERVICE,
            "A request's body of up to this size is read completely before a server is chosen.",
        ),
        KeySchema::new(
            "when-larger",
            ValueKind::Keyword(BEYOND_WORDS),
            OF_SERVICE,
            "A longer body: `stream` it to a server as it arrives, or `refuse` it with 413.",
        )
        .formerly(&["beyond"]),
        KeySchema::new(
            "response",
            RESPONSE_KIND,
            OF_SERVICE,
            "How many bytes of a response's body are read ahead of its client.",
        ),
    ],
};
