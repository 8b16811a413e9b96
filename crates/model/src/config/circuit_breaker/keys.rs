//! Describes the circuit breaker.

use crate::config::schema::{DefaultValue, KeySchema, TableSchema, ValueKind};

pub const BREAKER: KeySchema = KeySchema::new(
    "breaker",
    ValueKind::table(&BREAKER_TABLE),
    DefaultValue::Inner,
    "Circuit breakers: what may be under way at a time over all workers; what exceeds it is refused at once with 503 and \
     the cause `circuit-open`, `tcp` connections with a reset.",
)
.proxy_only();

/// More than one machine can hold open: larger numbers are unit mistakes.
const MOST: u64 = 10_000_000;

// The limits are off unless written: only the operator knows what the servers can do.
static BREAKER_TABLE: TableSchema = TableSchema {
    description: "circuit breakers",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "connections",
            ValueKind::count_or_keyword(1, MOST, "off"),
            DefaultValue::unset("off"),
            "Open connections to the servers of the pool, idle ones included. Before a request is refused an idle one of \
             its worker is closed.",
        ),
        KeySchema::new(
            "pending",
            ValueKind::count_or_keyword(0, MOST, "off"),
            DefaultValue::unset("off"),
            "Requests that wait for a server below its cap.",
        ),
        KeySchema::new(
            "requests",
            ValueKind::count_or_keyword(1, MOST, "off"),
            DefaultValue::unset("off"),
            "Requests, or `tcp` connections, that servers have.",
        ),
        KeySchema::new(
            "retries",
            ValueKind::count_or_keyword(0, MOST, "off"),
            DefaultValue::unset("off"),
            "Requests whose further attempt is under way; besides `retry.budget`.",
        ),
    ],
};
