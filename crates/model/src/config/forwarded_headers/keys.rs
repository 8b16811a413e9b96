//! Describes `forwarded` of a service.

use crate::config::schema::{
    DefaultValue, KeySchema, Keyword, TableSchema, TableShorthand, TextFormat, ValueKind,
};
use crate::config::value::ConfigValue;

pub const FORWARDED: KeySchema = KeySchema::new(
    "forwarded",
    ValueKind::table(&TABLE),
    DefaultValue::Inner,
    "Header fields that name the client to servers.",
)
.http_only();

static TABLE: TableSchema = TableSchema {
    description: "forwarding headers",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "x-forwarded",
            ValueKind::Keyword(ACTIONS),
            DefaultValue::keyword("append"),
            "X-Forwarded-For and X-Forwarded-Proto: passed unchanged, appended to, replaced, or removed. Other \
             `X-Forwarded-` fields and X-Real-IP pass with `keep` and `append`. Fields of a client that is not in \
             `trust` never pass: `keep` and `append` then replace them, X-Real-IP too. `pass`: all of them pass as any \
             client wrote them, nothing is added, and rules see them.",
        ),
        KeySchema::new(
            "forwarded",
            ValueKind::Keyword(ACTIONS),
            DefaultValue::keyword("keep"),
            "Forwarded (RFC 7239): likewise. With `keep` nothing is added if there was none.",
        ),
        KeySchema::new(
            "client-field",
            ValueKind::Table {
                table: &CLIENT_FIELD,
                short: TableShorthand::Key("name"),
                unset: Some("off"),
            },
            DefaultValue::unset("off"),
            "Header field with the client IP, written after the rules, so that a rule can remove the client's own \
             field first. Short form: its name.",
        ),
        KeySchema::new(
            "via",
            ValueKind::Flag,
            DefaultValue::Literal(ConfigValue::Flag(true)),
            "Add Via (RFC 9110 §7.6.3).",
        ),
    ],
};

static CLIENT_FIELD: TableSchema = TableSchema {
    description: "a field with the client's address",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "name",
            ValueKind::Text { form: TextFormat::FieldName, unset: None },
            DefaultValue::Required,
            "Its name, such as \"X-Forwarded-For\".",
        ),
        KeySchema::new(
            "mode",
            ValueKind::Keyword(&[
                Keyword::new("set"),
                Keyword::new("add"),
                Keyword::new("list"),
                Keyword::new("if-absent"),
            ]),
            DefaultValue::keyword("set"),
            "`set`: it replaces every field of the name, in any spelling. `add`: another line after existing ones. \
             `list`: the last line of the name gets `, ` and the address. `if-absent`: written if there is no field of \
             the name.",
        ),
        KeySchema::new(
            "except",
            ValueKind::Prefixes,
            DefaultValue::Literal(ConfigValue::Prefixes(Vec::new())),
            "Networks of clients without this field: their own field passes unchanged.",
        ),
    ],
};

const ACTIONS: &[Keyword] = &[
    Keyword::new("keep"),
    Keyword::new("append"),
    Keyword::new("replace"),
    Keyword::new("remove"),
    Keyword::new("pass"),
];
