//! Describes outlier detection.

use std::borrow::Cow;

use crate::config::schema::{DefaultValue, KeySchema, TableSchema, TableShorthand, ValueKind};
use crate::config::status_range::StatusRange;
use crate::config::value::ConfigValue;

pub const EJECT: KeySchema = KeySchema::new(
    "eject",
    ValueKind::Table { table: &EJECT_TABLE, short: TableShorthand::None, unset: Some("off") },
    DefaultValue::Inner,
    "Outlier detection: when a server is ejected for a while because of its responses; `off`: only health checks and \
     failed connections decide.",
)
.http_only();

static EJECT_TABLE: TableSchema = TableSchema {
    description: "an ejection",
    exclusive_groups: &[],
    keys: &[
        // As Envoy's consecutive_5xx.
        KeySchema::new(
            "failures",
            ValueKind::count(1, 10_000),
            DefaultValue::count(5),
            "Consecutive failures, over all workers, that eject a server.",
        ),
        // Above a half, more answers fail than succeed.
        KeySchema::new(
            "rate",
            ValueKind::count(1, 100),
            DefaultValue::count(50),
            "Failure rate of the interval, percent of its responses and failures, that ejects a server.",
        ),
        // Truncated answers are rare in good times, so a small share is a fault of the server.
        KeySchema::new(
            "truncation-rate",
            ValueKind::count(1, 100),
            DefaultValue::count(5),
            "Rate of responses cut in the middle, percent likewise and at least three, that ejects a server.",
        ).formerly(&["cut-rate"]),
        // With fewer, one failure would be more than ten percent.
        KeySchema::new(
            "min-requests",
            ValueKind::count(1, 1_000_000),
            DefaultValue::count(10),
            "Minimum of responses and failures in the interval for `rate`.",
        ).formerly(&["volume"]),
        KeySchema::new(
            "interval",
            ValueKind::time(200, 60_000),
            DefaultValue::millis(1_000),
            "The window of time that is counted.",
        ),
        // Five seconds are time for a restart of the server's process.
        KeySchema::new(
            "base-time",
            ValueKind::time(100, 86_400_000),
            DefaultValue::millis(5_000),
            "Duration of the first ejection; each further one is twice as long, less a random share of up to a tenth.",
        ).formerly(&["time"]),
        // Five minutes, as Envoy's max_ejection_time: a repaired server is back within them.
        KeySchema::new(
            "max-time",
            ValueKind::time(100, 86_400_000),
            DefaultValue::millis(300_000),
            "The longest ejection.",
        ).formerly(&["most"]),
        // Half of the pool: what is left must carry the load.
        KeySchema::new(
            "max-percent",
            ValueKind::count(0, 100),
            DefaultValue::count(50),
            "Servers that may be ejected at a time, percent of the enabled ones, rounded down; servers that are down \
             count.",
        ).formerly(&["share"]),
        KeySchema::new(
            "on",
            ValueKind::Status,
            DefaultValue::Literal(ConfigValue::Status(Cow::Borrowed(&[StatusRange {
                first: 502,
                last: 504,
            }]))),
            "Statuses of responses that count as failures.",
        ),
    ],
};
