//! Keys of health checks that search a directory (LDAP).

use std::borrow::Cow;

use crate::config::schema::{DefaultValue, KeySchema, Keyword, TextFormat, ValueKind};
use crate::config::value::ConfigValue;

pub const BASE: KeySchema = text_key(
    "base",
    TextFormat::FreeText,
    DefaultValue::Absent,
    "`ldap`: after the bind, entries are searched from this DN on; `\"\"`: at the root DSE, which every server has.",
);

pub const SCOPE: KeySchema = KeySchema::new(
    "scope",
    ValueKind::Keyword(&[Keyword::new("base"), Keyword::new("one"), Keyword::new("sub")]),
    DefaultValue::keyword("base"),
    "`ldap`: the entry `base` alone, those `one` level below it, or the whole `sub`tree.",
);

pub const FILTER: KeySchema = text_key(
    "filter",
    TextFormat::FreeText,
    DefaultValue::Literal(ConfigValue::Text(Cow::Borrowed("(objectClass=*)"))),
    "`ldap`: entries that match this filter (RFC 4515) are found, such as `\"(objectClass=person)\"`.",
);

pub const ENTRIES: KeySchema = text_key(
    "entries",
    TextFormat::Range,
    DefaultValue::Literal(ConfigValue::Text(Cow::Borrowed("1-"))),
    "`ldap`: how many entries are found: a number or a range such as `\"2-5\"`, up to 1000.",
);

pub const ATTRIBUTE: KeySchema = text_key(
    "attribute",
    TextFormat::Token,
    DefaultValue::Absent,
    "`ldap`: one of the found entries has this attribute; with `expect`, with a value that matches.",
);

const fn text_key(
    name: &'static str,
    form: TextFormat,
    default: DefaultValue,
    doc: &'static str,
) -> KeySchema {
    KeySchema::new(name, ValueKind::Text { form, unset: None }, default, doc)
}
