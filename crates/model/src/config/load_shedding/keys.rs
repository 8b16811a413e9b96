//! Describes load shedding.

use crate::config::schema::{DefaultValue, KeySchema, TableSchema, TableShorthand, ValueKind};

pub const SHED: KeySchema = KeySchema::new(
    "load-shedding",
    ValueKind::Table { table: &SHED_TABLE, short: TableShorthand::Key("target"), unset: Some("off") },
    DefaultValue::unset("off"),
    "Load shedding: when the wait queue is limited to what servers can take in time. The newest request of the lowest \
     class is refused with 503 and the cause `overload-shed`. Short form: the target.",
).formerly(&["shed"])
.proxy_only();

static SHED_TABLE: TableSchema = TableSchema {
    description: "the shedding of a queue",
    exclusive_groups: &[],
    keys: &[
        // A tenth of `interval`, the ratio of CoDel (RFC 8289: 5 to 10 percent).
        KeySchema::new(
            "target",
            ValueKind::time(1, 60_000),
            DefaultValue::millis(50),
            "The longest acceptable wait.",
        ),
        // Long enough for a burst to pass.
        KeySchema::new(
            "interval",
            ValueKind::time(10, 600_000),
            DefaultValue::millis(500),
            "How long the longest wait must be above the target before shedding begins.",
        ),
    ],
};
