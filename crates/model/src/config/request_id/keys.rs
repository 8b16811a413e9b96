//! Describes the field with the id of a request.

use crate::config::schema::{
    DefaultValue, KeySchema, TableSchema, TableShorthand, TextFormat, ValueKind,
};
use crate::config::value::ConfigValue;

pub const REQUEST_ID: KeySchema = KeySchema::new(
    "request-id",
    ValueKind::Table { table: &TABLE, short: TableShorthand::Key("header"), unset: Some("off") },
    DefaultValue::unset("off"),
    "Request ID: a header field with the id of each request for servers. An id of a proxy in `trust` is passed on; \
     for all other clients one is generated, which is the `id` of the access log. Short form: the name of the field.",
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
            "response",
            ValueKind::Flag,
            DefaultValue::Literal(ConfigValue::Flag(false)),
            "Responses have the field too, instead of a server's own.",
        )
        .formerly(&["answer"]),
    ],
};
