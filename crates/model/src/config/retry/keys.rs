//! Describes retries.

use crate::config::schema::{DefaultValue, KeySchema, TableSchema, ValueKind};
use crate::config::value::ConfigValue;

pub const RETRY: KeySchema = KeySchema::new(
    "retry",
    ValueKind::table(&RETRY_TABLE),
    DefaultValue::Inner,
    "Retry budget, back-off, and the responses that are retried.",
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
            "Retries, percent of the requests of the window; `off`: as many as `retries` allows for each request.",
        ),
        // Ten a second, so that pools with few requests can retry at all. linkerd has the same floor, share and window.
        KeySchema::new(
            "min-per-second",
            ValueKind::count(0, 100_000),
            DefaultValue::count(10),
            "Retries a second that are allowed in addition, so that few requests have a budget too.",
        ).formerly(&["at-least"]),
        // Ten seconds smooth a burst, and with the floor they allow a hundred retries at once.
        KeySchema::new(
            "window",
            ValueKind::time(1_000, 60_000),
            DefaultValue::millis(10_000),
            "The window of time that is counted.",
        ),
        // The first value of Envoy; its longest is ten times that, as below.
        KeySchema::new(
            "back-off",
            ValueKind::time(0, 60_000),
            DefaultValue::millis(25),
            "Back-off: a random time up to this before the second retry, and before the first if no other server is \
             up; it doubles with each retry.",
        ),
        // Ten times the first value, as Envoy.
        KeySchema::new(
            "max-back-off",
            ValueKind::time(0, 60_000),
            DefaultValue::millis(250),
            "The longest back-off.",
        ).formerly(&["back-off-most"]),
        KeySchema::new(
            "on",
            ValueKind::Status,
            DefaultValue::Absent,
            "Statuses of responses that are retried instead of passed on: of idempotent requests whose body is still \
             buffered. Default: none.",
        )
        .http_only(),
        KeySchema::new(
            "on-timeout",
            ValueKind::Flag,
            DefaultValue::Literal(ConfigValue::Flag(false)),
            "Retry at another server an idempotent request that a server did not begin to answer within \
             `timeout.first-byte`, or stopped reading for `timeout.between-bytes`. The server may still be working on \
             it.",
        )
        .http_only(),
        KeySchema::new(
            "on-malformed",
            ValueKind::Flag,
            DefaultValue::Literal(ConfigValue::Flag(false)),
            "Retry at another server an idempotent request whose response breaks the rules of HTTP.",
        )
        .http_only(),
        KeySchema::new(
            "unsent-only",
            ValueKind::Flag,
            DefaultValue::Literal(ConfigValue::Flag(false)),
            "Apart from `on`, `on-timeout` and `on-malformed`, retry only if no server can have received a byte of \
             the request: no server accepted a connection or data.",
        )
        .http_only(),
        KeySchema::new(
            "backup",
            ValueKind::Flag,
            DefaultValue::Literal(ConfigValue::Flag(false)),
            "When a request has failed at all servers of a priority, retries go to servers of the next priority, and \
             then to backup and last-resort servers.",
        ),
    ],
};
