//! Describes the field with the id of a request.

use crate::config::schema::{
    DefaultValue, KeySchema, TableSchema, TableShorthand, TextFormat, ValueKind,
};
use crate::config::value::ConfigValue;

pub const REQUEST_ID: KeySchema = KeySchema::new(
    "request-id",
    ValueKind::Table { table: &TABLE, short: TableShorthand::Key("header"), unset: Some("off") },
    DefaultValue::unset("off"),
    "Servers get the id of each request in a field. The id that a proxy in `trust` sends in this field is kept; for everybody \
     else one is made, the `id` of the access log. Short form: the name of the field.",
)
.http_only();

static TABLE: TableSchema = TableSchema {
    description: "the id of a request",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "header",
            ValueKind::Text { form: TextFormat::FieldName, unset: None },
            DefaultValue::Required,
            "The name of the field, such as \"X-Request-Id\". What a client sends in it never reaches a server, in any \
             spelling.",
        ),
        KeySchema::new(
            "answer",
            ValueKind::Flag,
            DefaultValue::Literal(ConfigValue::Flag(false)),
            "Answers have the field too, in the place of a server's own.",
        ),
    ],
};
