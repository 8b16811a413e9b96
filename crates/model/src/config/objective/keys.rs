//! Describes `objective` of a service: its SLO.

use crate::config::schema::{DefaultValue, KeySchema, TableSchema, TableShorthand, ValueKind};
use crate::config::value::ConfigValue;

/// One hour, in milliseconds.
const HOUR: u64 = 3_600_000;

const DAY: u64 = 24 * HOUR;

/// A lower objective is meaningless.
const LEAST: u64 = 500_000;

/// An objective without an error budget cannot be met.
const MOST: u64 = 999_999;

pub const OBJECTIVE: KeySchema = KeySchema::new(
    "objective",
    ValueKind::Table { table: &OBJECTIVE_TABLE, short: TableShorthand::Key("availability"), unset: None },
    DefaultValue::Absent,
    "SLO: the share of operations that must succeed, and the share that must be fast. The error budget is calculated, \
     and an alarm is raised when it burns too quickly. Short form: `availability`.",
)
.proxy_only();

static OBJECTIVE_TABLE: TableSchema = TableSchema {
    description: "an objective",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "availability",
            ValueKind::Share(LEAST, MOST, Some("off")),
            DefaultValue::Literal(ConfigValue::Share(999_000)),
            "Availability: share of operations that succeed, by a response below 500, or a `tcp` connection that \
             ended in order. Errors of clients do not count.",
        ).formerly(&["available"]),
        KeySchema::new(
            "latency",
            ValueKind::time(1, HOUR),
            DefaultValue::Absent,
            "Latency: the longest duration of a fast operation, from its first byte to the response's last.",
        ).formerly(&["fast"])
        .http_only(),
        KeySchema::new(
            "latency-target",
            ValueKind::Share(LEAST, MOST, None),
            DefaultValue::Literal(ConfigValue::Share(990_000)),
            "Share of operations that must be fast; failed ones are not fast.",
        ).formerly(&["share"])
        .http_only(),
        // A month evens out the days of a week; a quarter is the longest.
        KeySchema::new(
            "window",
            ValueKind::time(DAY, 90 * DAY),
            DefaultValue::millis(30 * DAY),
            "Window of the SLO. After a restart it is read from the history.",
        ),
        // Below ten, single accidents would raise alarms at night.
        KeySchema::new(
            "min-bad",
            ValueKind::count(1, 1_000_000),
            DefaultValue::count(10),
            "Minimum of bad operations in an alarm's longer span to raise it.",
        ).formerly(&["at-least"]),
        KeySchema::new(
            "networks",
            ValueKind::count(1, 4_096),
            DefaultValue::count(64),
            "Client networks that are counted separately; others are counted together.",
        ),
        // The prefixes that RFC 7871 §11.1 recommends, so that no single client is identified.
        KeySchema::new(
            "mask4",
            ValueKind::count(1, 32),
            DefaultValue::count(24),
            "Prefix length of an IPv4 network.",
        ),
        // The prefix that RFC 7871 §11.1 recommends: /56.
        KeySchema::new(
            "mask6",
            ValueKind::count(1, 128),
            DefaultValue::count(56),
            "Prefix length of an IPv6 network.",
        ),
    ],
};
