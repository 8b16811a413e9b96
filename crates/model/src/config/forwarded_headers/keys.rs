//! Describes `forwarded` of a service.

use crate::config::schema::{
    DefaultValue, KeySchema, Keyword, TableSchema, TableShorthand, TextFormat, ValueKind,
};
use crate::config::value::ConfigValue;

pub const FORWARDED: KeySchema = KeySchema::new(
    "forwarded",
    ValueKind::table(&TABLE),
    DefaultValue::Inner,
    "Which headers tell the server about the client.",
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
            "X-Forwarded-For and X-Forwarded-Proto: passed as they came, appended to, replaced by ours, or removed. Other \
             `X-Forwarded-` fields and X-Real-IP pass with `keep` and `append`. What a client sends that is not in `trust` \
             never passes: `keep` and `append` then replace it, X-Real-IP too. `pass`: all of them go on as any client \
             wrote them, nothing is added, and rules see them.",
        ),
        KeySchema::new(
            "forwarded",
            ValueKind::Keyword(ACTIONS),
            DefaultValue::keyword("keep"),
            "Forwarded (RFC 7239): likewise. With `keep` nothing is added where none came.",
        ),
        KeySchema::new(
            "client-field",
            ValueKind::Table {
                table: &CLIENT_FIELD,
                short: TableShorthand::Key("name"),
                unset: Some("off"),
            },
            DefaultValue::unset("off"),
            "A field with the client's address, written after the rules, so that a rule may remove the client's own first. \
             Short form: its name.",
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
            "`set`: it replaces every field of the name, in any spelling. `add`: another line behind those that are there. \
             `list`: the last line of the name gets `, ` and the address. `if-absent`: written where no field of the name is.",
        ),
        KeySchema::new(
            "except",
            ValueKind::Prefixes,
            DefaultValue::Literal(ConfigValue::Prefixes(Vec::new())),
            "Networks of clients for whom nothing is written: what they send goes on as it came.",
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
