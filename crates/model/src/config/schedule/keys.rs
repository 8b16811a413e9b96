//! Describes schedules of servers.

use crate::config::schema::{
    DefaultValue, KeySchema, Keyword, TableSchema, TableShorthand, ValueKind,
};

pub const SCHEDULE: KeySchema = KeySchema::new(
    "schedule",
    ValueKind::List { table: &SCHEDULE_TABLE, short: TableShorthand::None, most: 1_000 },
    DefaultValue::Absent,
    "Schedule that drains or disables the server, in local time. In a pool: for its servers that set none.",
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
            "It drains during these hours: `\"22:00-06:00\"`, or by whole hours, including the last one: `\"22-5\"`.",
        ),
        KeySchema::new(
            "disable",
            ValueKind::DailyWindow,
            DefaultValue::Absent,
            "It is disabled during these hours.",
        ),
        KeySchema::new(
            "days",
            ValueKind::KeywordList(&DAYS),
            DefaultValue::Absent,
            "Days on which the hours begin; none: all days.",
        ),
        KeySchema::new(
            "sticky",
            ValueKind::time(1_000, 30 * 86_400_000),
            DefaultValue::Absent,
            "`drain`: how long after its beginning clients with a sticky session still come, even if `sticky.drain` \
             of their service is shorter; none: as `sticky.drain`.",
        ),
    ],
};
