//! Describes schedules of servers.

use crate::config::schema::{
    DefaultValue, KeySchema, Keyword, TableSchema, TableShorthand, ValueKind,
};

pub const SCHEDULE: KeySchema = KeySchema::new(
    "schedule",
    ValueKind::List { table: &SCHEDULE_TABLE, short: TableShorthand::None, most: 1_000 },
    DefaultValue::Absent,
    "What the clock wants of the server, local time. In a pool: for its servers that set none.",
);

pub static DAYS: [Keyword; 7] = [
    Keyword::new("mon"),
    Keyword::new("tue"),
    Keyword::new("wed"),
    Keyword::new("thu"),
    Keyword::new("fri"),
    Keyword::new("sat"),
    Keyword::new("sun"),
];

static SCHEDULE_TABLE: TableSchema = TableSchema {
    description: "a schedule",
    exclusive_groups: &[&["drain", "sticky"], &["disable"]],
    keys: &[
        KeySchema::new(
            "drain",
            ValueKind::DailyWindow,
            DefaultValue::Absent,
            "It finishes what it has during these hours: `\"22:00-06:00\"`, or by whole hours, the last included: \
             `\"22-5\"`.",
        ),
        KeySchema::new(
            "disable",
            ValueKind::DailyWindow,
            DefaultValue::Absent,
            "It takes nothing during these hours.",
        ),
        KeySchema::new(
            "days",
            ValueKind::KeywordList(&DAYS),
            DefaultValue::Absent,
            "On which days the hours begin; none: on all.",
        ),
        KeySchema::new(
            "sticky",
            ValueKind::time(1_000, 30 * 86_400_000),
            DefaultValue::Absent,
            "`drain`: how long after its beginning clients that are kept at the server still come, also where `sticky.drain` \
             of their service says less; none: as that says.",
        ),
    ],
};
