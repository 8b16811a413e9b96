//! Describes retries.

use crate::config::schema::{DefaultValue, KeySchema, TableSchema, ValueKind};
use crate::config::value::ConfigValue;

pub const RETRY: KeySchema = KeySchema::new(
    "retry",
    ValueKind::table(&RETRY_TABLE),
    DefaultValue::Inner,
    "What further attempts may cost, and which answers ask for one.",
)
.proxy_only();

static RETRY_TABLE: TableSchema = TableSchema {
    description: "the terms of further attempts",
    exclusive_groups: &[],
    keys: &[
        // A fifth: servers that all fail get 1.2 times the load, not three times as with two free retries each.
        KeySchema::new(
            "budget",
            ValueKind::count_or_keyword(0, 100, "off"),
            DefaultValue::count(20),
            "Further attempts, percent of the requests of the window; `off`: as many as `retries` allows each.",
        ),
        // Ten a second, so that pools with few requests can retry at all. linkerd has the same floor, share and window.
        KeySchema::new(
            "at-least",
            ValueKind::count(0, 100_000),
            DefaultValue::count(10),
            "Further attempts a second that are allowed besides, so that few requests have a budget too.",
        ),
        // Ten seconds smooth a burst, and with the floor they allow a hundred retries at once.
        KeySchema::new("window", ValueKind::time(1_000, 60_000), DefaultValue::millis(10_000), "What is looked back on."),
        // The first value of Envoy; its longest is ten times that, as below.
        KeySchema::new(
            "back-off",
            ValueKind::time(0, 60_000),
            DefaultValue::millis(25),
            "A random time up to this is waited before the second further attempt, and before the first if no other \
             server is up; each further time it is twice as long.",
        ),
        // Ten times the first value, as Envoy.
        KeySchema::new(
            "back-off-most",
            ValueKind::time(0, 60_000),
            DefaultValue::millis(250),
            "The longest of these times.",
        ),
        KeySchema::new(
            "on",
            ValueKind::Status,
            DefaultValue::Absent,
            "Answers that are not passed on while another attempt may be made: of idempotent requests whose body is \
             still held. Not written: none.",
        )
        .http_only(),
        KeySchema::new(
            "on-timeout",
            ValueKind::Flag,
            DefaultValue::Literal(ConfigValue::Flag(false)),
            "Another attempt, at another server, for an idempotent request that a server took and did not begin to answer \
             within `timeout.first-byte`, or stopped taking for `timeout.between-bytes`. The server may still be at work on it.",
        )
        .http_only(),
        KeySchema::new(
            "on-malformed",
            ValueKind::Flag,
            DefaultValue::Literal(ConfigValue::Flag(false)),
            "Another attempt, at another server, for an idempotent request whose answer breaks the rules of HTTP.",
        )
        .http_only(),
        KeySchema::new(
            "unsent-only",
            ValueKind::Flag,
            DefaultValue::Literal(ConfigValue::Flag(false)),
            "Besides what `on`, `on-timeout` and `on-malformed` name, another attempt only if no server can have received \
             a byte of the request: none connected, or none took it.",
        )
        .http_only(),
        KeySchema::new(
            "backup",
            ValueKind::Flag,
            DefaultValue::Literal(ConfigValue::Flag(false)),
            "Once a request has failed at all servers that may take it, further attempts go to those of the next \
             priority, and then to those for backup and of last resort.",
        ),
    ],
};
