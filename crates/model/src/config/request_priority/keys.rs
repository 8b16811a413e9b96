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
    "Which class its requests, or `tcp` connections, have in the queue of a pool: a higher one leaves it first, a lower one \
     is shed first. Short form: the class.",
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
            "Of requests of which neither a rule nor `header` says one.",
        ),
        KeySchema::new(
            "header",
            ValueKind::Text { form: TextFormat::Token, unset: None },
            DefaultValue::Absent,
            "The field of a request whose value, one digit, is its class; another value says nothing. Whoever may write it \
             chooses.",
        )
        .http_only(),
    ],
};
