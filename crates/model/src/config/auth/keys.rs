//! Describes `[auth.NAME]`, and the keys of services and rules that name such an object.

use crate::config::schema::{DefaultValue, KeySchema, Keyword, TableSchema, TextFormat, ValueKind};
use crate::config::value::ConfigValue;

/// Limit for the objects of one file.
/// One for each team of a large house.
pub const OBJECTS: usize = 1_000;

pub const OF_SERVICE: KeySchema = KeySchema::new(
    "auth",
    ValueKind::Text { form: TextFormat::Name, unset: None },
    DefaultValue::Absent,
    "Whoever asks for something of a server must prove who it is: the name of a table `[auth.NAME]`. What rules answer, \
     redirect or deny is not asked for.",
)
.http_only();

pub const OF_RULE: KeySchema = KeySchema::new(
    "auth",
    ValueKind::Text { form: TextFormat::Name, unset: None },
    DefaultValue::Derived("the service's"),
    "The name of a table `[auth.NAME]` that its requests need in the place of the service's, also for its `answer` or \
     `redirect`; `\"off\"`: they need none.",
)
.http_only();

pub static AUTH: TableSchema = TableSchema {
    description: "an authentication",
    exclusive_groups: &[&["header"], &["query"]],
    keys: &[
        KeySchema::new(
            "kind",
            ValueKind::Keyword(&[Keyword::new("basic"), Keyword::new("api-key")]),
            DefaultValue::Required,
            "What a client shows: `basic`: a name and a password (RFC 7617). `api-key`: a key in a field or in the query.",
        ),
        KeySchema::new(
            "file",
            ValueKind::Text { form: TextFormat::File, unset: None },
            DefaultValue::Absent,
            "`basic`: a file as `htpasswd` writes it, `name:hash` a line, with bcrypt, argon2, SHA-crypt or apr1. `api-key`: \
             `name:digest` a line, the digest is the SHA-256 of the key in 64 hexadecimal digits. Read again when it has \
             changed.",
        ),
        KeySchema::new(
            "realm",
            ValueKind::Text { form: TextFormat::VisibleText, unset: None },
            DefaultValue::Derived("the name of the table"),
            "What browsers show with the question for a password.",
        ),
        KeySchema::new(
            "header",
            ValueKind::Text { form: TextFormat::FieldName, unset: None },
            DefaultValue::Derived("`X-Api-Key` for `api-key`, unless `query` is written"),
            "The field that has the key.",
        ),
        KeySchema::new(
            "query",
            ValueKind::Text { form: TextFormat::Token, unset: None },
            DefaultValue::Absent,
            "The parameter of the query that has the key, in the place of a field. The log shows `-` for it.",
        ),
        KeySchema::new(
            "user-field",
            ValueKind::Text { form: TextFormat::FieldName, unset: None },
            DefaultValue::Absent,
            "A field with the user's name for servers. What clients send under this name reaches no server.",
        ),
        KeySchema::new(
            "keep-credentials",
            ValueKind::Flag,
            DefaultValue::Literal(ConfigValue::Flag(false)),
            "`true`: servers get the password or key too.",
        ),
        // A changed file ends it at once; a browser sends the password with each request.
        KeySchema::new(
            "cache",
            ValueKind::time_or_keyword(1_000, 86_400_000, "off"),
            DefaultValue::millis(300_000),
            "`basic`: how long a proven password is not hashed again. It ends when the file changes.",
        ),
    ],
};
