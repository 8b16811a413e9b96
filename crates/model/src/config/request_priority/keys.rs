//! Describes priorities of requests, of a service and of a rule.

use crate::config::schema::{
    DefaultValue, KeySchema, TableSchema, TableShorthand, TextFormat, ValueKind,
};
use crate::wait_queue::{DEFAULT_CLASS, HIGHEST_CLASS};

/// `priority` of a service.
pub const PRIORITY: KeySchema = KeySchema::new(
    "priority",
    ValueKind::Table { table: &PRIORITY_TABLE, short: TableShorthand::Key("class"), unset: None },
    DefaultValue::Inner,
    "Priority class of its requests, or `tcp` connections, in the wait queue of a pool: a higher class is served \
     first, a lower one is shed first. Short form: the class.",
)
.proxy_only();

/// `priority` of a rule.
pub const OF_RULE: KeySchema = KeySchema::new(
    "priority",
    ValueKind::count(0, HIGHEST_CLASS as u64),
    DefaultValue::Absent,
    "The class in the queue of a pool, before what the service and its header say.",
)
.proxy_only();

static PRIORITY_TABLE: TableSchema = TableSchema {
    description: "a priority",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "class",
            ValueKind::count(0, HIGHEST_CLASS as u64),
            DefaultValue::count(DEFAULT_CLASS as u64),
            "Class of requests that get none from a rule or `header`.",
        ),
        KeySchema::new(
            "header",
            ValueKind::Text { form: TextFormat::Token, unset: None },
            DefaultValue::Absent,
            "Header field whose value, one digit, is the class; other values are ignored. Clients that can write it \
             choose their class.",
        )
        .http_only(),
    ],
};
