//! Describes the retention of stored history.

use crate::config::schema::{DefaultValue, KeySchema, TableSchema, TableShorthand, ValueKind};
use crate::config::value::ConfigValue;

pub const HISTORY: KeySchema = KeySchema::new(
    "history",
    ValueKind::Table {
        table: &HISTORY_TABLE,
        short: TableShorthand::Key("size"),
        unset: Some("off"),
    },
    DefaultValue::Inner,
    "History of rates and states on disk, for `report --since`. Short form: its size.",
);

static HISTORY_TABLE: TableSchema = TableSchema {
    description: "the history",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "size",
            ValueKind::size(64 * 1024, 64 << 30),
            DefaultValue::Literal(ConfigValue::Size(64 << 20)),
            "Maximum size on disk; beyond it the oldest records are removed.",
        ),
        KeySchema::new(
            "keep",
            ValueKind::time(3_600_000, 3_660 * 86_400_000),
            DefaultValue::millis(30 * 86_400_000),
            "Maximum age of records.",
        ),
        // A minute is the step of most monitoring; a second is the finest that states are looked at.
        KeySchema::new(
            "step",
            ValueKind::time(1_000, 3_600_000),
            DefaultValue::millis(60_000),
            "Time between two records; records older than two days are merged into steps of fifteen.",
        ),
    ],
};
