//! Describes what a rule changes in a request and its answer.

use super::super::schema::{Fallback, Form, Key, Kind, Table};
use super::super::value::Value;

/// `rewrite`.
pub static TABLE: Table = Table {
    what: "a rewrite",
    choices: &[&["path"], &["strip", "prefix"]],
    keys: &[
        Key::new(
            "path",
            Kind::Text { form: Form::Template, unset: None },
            Fallback::Absent,
            "The new path; the query stays. As in `redirect.to`.",
        ),
        Key::new(
            "strip",
            Kind::Text { form: Form::RequestPath, unset: None },
            Fallback::Absent,
            "Taken off the beginning of the path.",
        ),
        Key::new(
            "prefix",
            Kind::Text { form: Form::RequestPath, unset: None },
            Fallback::Absent,
            "Put before the path.",
        ),
        Key::new(
            "host",
            Kind::Text { form: Form::Host, unset: None },
            Fallback::Absent,
            "The Host that the server gets.",
        ),
        fields("set", "Fields of the request that are put in the place of those of the same name."),
        fields("add", "Fields that are added to the request."),
        names("remove", "Names of fields that are taken out of the request."),
        fields(
            "answer-set",
            "Fields of the answer that are put in the place of those of the same name.",
        ),
        names(
            "answer-remove",
            "Names of fields that are taken out of the answer, and of interim ones before it.",
        ),
    ],
};

const fn fields(name: &'static str, doc: &'static str) -> Key {
    let kind = Kind::Lines { form: Form::Field, most: 32 };
    Key::new(name, kind, Fallback::Is(Value::Texts(Vec::new())), doc)
}

const fn names(name: &'static str, doc: &'static str) -> Key {
    let kind = Kind::Lines { form: Form::FieldName, most: 32 };
    Key::new(name, kind, Fallback::Is(Value::Texts(Vec::new())), doc)
}
