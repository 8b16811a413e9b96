//! Describes the circuit breaker.

use crate::config::schema::{DefaultValue, KeySchema, TableSchema, ValueKind};

pub const BREAKER: KeySchema = KeySchema::new(
    "circuit-breaker",
    ValueKind::table(&BREAKER_TABLE),
    DefaultValue::Inner,
    "Circuit breakers: limits over all workers. Requests above a limit are refused at once with 503 and the cause \
     `circuit-open`, `tcp` connections with a reset.",
).formerly(&["breaker"])
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
            "Open connections to the servers of the pool, including idle ones. An idle connection of the worker is \
             closed before a request is refused.",
        ),
        KeySchema::new(
            "pending",
            ValueKind::count_or_keyword(0, MOST, "off"),
            DefaultValue::unset("off"),
            "Requests in the wait queue.",
        ),
        KeySchema::new(
            "requests",
            ValueKind::count_or_keyword(1, MOST, "off"),
            DefaultValue::unset("off"),
            "Requests, or `tcp` connections, in flight at servers.",
        ),
        KeySchema::new(
            "retries",
            ValueKind::count_or_keyword(0, MOST, "off"),
            DefaultValue::unset("off"),
            "Requests whose retry is in flight; in addition to `retry.budget`.",
        ),
    ],
};
