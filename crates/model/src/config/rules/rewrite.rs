//! Describes the changes of a rule to a request and its response.

use crate::config::schema::{DefaultValue, KeySchema, TableSchema, TextFormat, ValueKind};
use crate::config::value::ConfigValue;

pub static TABLE: TableSchema = TableSchema {
    description: "a rewrite",
    exclusive_groups: &[&["path"], &["strip", "prefix"]],
    keys: &[
        KeySchema::new(
            "path",
            ValueKind::Text { form: TextFormat::Template, unset: None },
            DefaultValue::Absent,
            "The new path; the query stays. As in `redirect.to`.",
        ),
        KeySchema::new(
            "strip",
            ValueKind::Text { form: TextFormat::RequestPath, unset: None },
            DefaultValue::Absent,
            "Taken off the beginning of the path.",
        ),
        KeySchema::new(
            "prefix",
            ValueKind::Text { form: TextFormat::RequestPath, unset: None },
            DefaultValue::Absent,
            "Put before the path.",
        ),
        KeySchema::new(
            "host",
            ValueKind::Text { form: TextFormat::Host, unset: None },
            DefaultValue::Absent,
            "The Host that the server gets.",
        ),
        fields_key(
            "set",
            "Fields of the request that are put in the place of those of the same name.",
        ),
        fields_key("add", "Fields that are added to the request."),
        names_key("remove", "Names of fields that are taken out of the request."),
        fields_key(
            "answer-set",
            "Fields of the answer that are put in the place of those of the same name.",
        ),
        names_key(
            "answer-remove",
            "Names of fields that are taken out of the answer, and of interim ones before it.",
        ),
    ],
};

const fn fields_key(name: &'static str, doc: &'static str) -> KeySchema {
    let kind = ValueKind::Lines { form: TextFormat::Field, most: 32 };
    KeySchema::new(name, kind, DefaultValue::Literal(ConfigValue::Texts(Vec::new())), doc)
}

const fn names_key(name: &'static str, doc: &'static str) -> KeySchema {
    let kind = ValueKind::Lines { form: TextFormat::FieldName, most: 32 };
    KeySchema::new(name, kind, DefaultValue::Literal(ConfigValue::Texts(Vec::new())), doc)
}
