//! Describes hedging.

use crate::config::schema::{DefaultValue, KeySchema, TableSchema, TableShorthand, ValueKind};

pub const HEDGE: KeySchema = KeySchema::new(
    "hedge",
    ValueKind::Table { table: &HEDGE_TABLE, short: TableShorthand::Key("after"), unset: Some("off") },
    DefaultValue::unset("off"),
    "Hedging: when an idempotent request is also sent to a second server, because the first one has not begun to \
     answer. It counts as a retry within `retries` and the budget, and the first response is passed on. Short form: \
     the delay.",
)
.http_only();

static HEDGE_TABLE: TableSchema = TableSchema {
    description: "the asking of a second server",
    exclusive_groups: &[&["after"], &["percentile"]],
    keys: &[
        KeySchema::new(
            "after",
            ValueKind::time(1, 60_000),
            DefaultValue::Absent,
            "Delay: the first server has been silent for this long.",
        ),
        // Below the median every second request would be sent twice; 99 is the last whole percent.
        KeySchema::new(
            "percentile",
            ValueKind::count(50, 99),
            DefaultValue::Derived("95 where `after` is not written"),
            "Delay as a percentile: the first server has been silent for longer than this percentage of the pool's \
             responses took to begin in the last 5 to 10 s.",
        ),
        // A second request is work for another server, so it must be able to save some milliseconds.
        KeySchema::new(
            "min-delay",
            ValueKind::time(0, 60_000),
            DefaultValue::millis(5),
            "Minimum delay, for any percentile.",
        )
        .formerly(&["at-least"]),
    ],
};
