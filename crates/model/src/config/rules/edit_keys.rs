//! Describes `[[service.NAME.edit]]`: changes of heads, each of which is made where its conditions hold.

use super::keys::WHEN_TABLE;
use super::rewrite::FIELDS_TABLE;
use crate::config::schema::{
    DefaultValue, KeySchema, Keyword, TableSchema, TableShorthand, TextFormat, ValueKind,
};
use crate::config::value::ConfigValue;

/// Limit for the edits of one file.
/// As that of rules.
const EDITS: usize = 20_000;

pub const EDIT: KeySchema = KeySchema::new(
    "edit",
    ValueKind::List { table: &EDIT_TABLE, short: TableShorthand::None, most: EDITS },
    DefaultValue::Absent,
    "Changes of fields, in order: all that fit are made, each on what those before it left. At most 256 in a service.",
)
.http_only();

pub static EDIT_TABLE: TableSchema = TableSchema {
    description: "an edit",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "name",
            ValueKind::Text { form: TextFormat::Name, unset: None },
            DefaultValue::Derived("`edit-N` by its place, from 1"),
            "Its name in explanations.",
        ),
        KeySchema::new(
            "when",
            ValueKind::table(&WHEN_TABLE),
            DefaultValue::Inner,
            "What must hold of the request, as in a rule; but nothing about rates, pools or what is under way.",
        ),
        KeySchema::new(
            "when-response",
            ValueKind::Table {
                table: &WHEN_RESPONSE,
                short: TableShorthand::Key("statuses"),
                unset: None,
            },
            DefaultValue::Absent,
            "What must hold of the server's answer; for changes of answers alone. Short form: statuses.",
        ),
        KeySchema::new(
            "pool",
            ValueKind::Text { form: TextFormat::Name, unset: None },
            DefaultValue::Absent,
            "Only for requests that go to this pool: it is made after the rules.",
        ),
        KeySchema::new(
            "after-rules",
            ValueKind::Flag,
            DefaultValue::Derived("`true` with `pool`, else `false`"),
            "It is made after the rules have chosen a pool; else before them, so that they see what it changed.",
        ),
        KeySchema::new(
            "rewrite",
            ValueKind::Table { table: &FIELDS_TABLE, short: TableShorthand::None, unset: None },
            DefaultValue::Required,
            "What is changed, as in a rule.",
        ),
    ],
};

static WHEN_RESPONSE: TableSchema = TableSchema {
    description: "a condition of an answer",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "statuses",
            ValueKind::Status,
            DefaultValue::Derived("every status"),
            "Statuses of the answer.",
        ),
        KeySchema::new(
            "header",
            ValueKind::Texts { form: TextFormat::Match, unset: None },
            DefaultValue::Absent,
            "Fields of the answer, of which one is there: as in `when`.",
        ),
        KeySchema::new(
            "without",
            ValueKind::Texts { form: TextFormat::Match, unset: None },
            DefaultValue::Absent,
            "Fields of the answer, of which none is there.",
        ),
        KeySchema::new(
            "value-case",
            ValueKind::Keyword(&[Keyword::new("exact"), Keyword::new("ignore")]),
            DefaultValue::Literal(ConfigValue::Keyword("exact")),
            "Whether letter case counts in the values of `header` and `without`.",
        ),
    ],
};
