//! Describes `[[service.NAME.error-page]]`.

use crate::config::schema::{
    DefaultValue, KeySchema, Keyword, TableSchema, TableShorthand, TextFormat, ValueKind,
};
use crate::config::value::ConfigValue;

/// Limit for the error pages of one file.
/// Two pages for each service.
const PAGES: usize = 20_000;

pub const ERROR_PAGE: KeySchema = KeySchema::new(
    "error-page",
    ValueKind::List { table: &ERROR_PAGE_TABLE, short: TableShorthand::None, most: PAGES },
    DefaultValue::Absent,
    "Custom error pages, instead of the balancer's text. The first page that names a status is used.",
)
.http_only();

static ERROR_PAGE_TABLE: TableSchema = TableSchema {
    description: "an error page",
    exclusive_groups: &[&["file"], &["body"]],
    keys: &[
        KeySchema::new(
            "status",
            ValueKind::Status,
            DefaultValue::Required,
            "Statuses with this page, 400 to 599: of local replies, of `deny`, and of an `answer` without a body.",
        ),
        KeySchema::new(
            "file",
            ValueKind::Text { form: TextFormat::File, unset: None },
            DefaultValue::Absent,
            "The file with the page: at most 64 KiB, and all of a configuration at most 1 MiB. It is read with the \
             configuration, and again when it has changed.",
        ),
        KeySchema::new(
            "format",
            ValueKind::Keyword(&[Keyword::new("body"), Keyword::new("http")]),
            DefaultValue::keyword("body"),
            "Format of the file: `body` is the page alone, `http` has a status line and header fields before it, like \
             HAProxy's `errorfile`. Fields about connections and lengths are left out.",
        ),
        KeySchema::new(
            "body",
            ValueKind::Text { form: TextFormat::FreeText, unset: None },
            DefaultValue::Absent,
            "The page as a text, instead of a file.",
        ),
        KeySchema::new(
            "type",
            ValueKind::Text { form: TextFormat::VisibleText, unset: None },
            DefaultValue::text("text/html"),
            "Its Content-Type. A file with `format = \"http\"` has its own.",
        ),
        KeySchema::new(
            "headers",
            ValueKind::Lines { form: TextFormat::Field, most: 16 },
            DefaultValue::Literal(ConfigValue::Texts(Vec::new())),
            "Further fields.",
        ),
        KeySchema::new(
            "as",
            ValueKind::count(200, 599),
            DefaultValue::Derived("the status of the file's head, else that of the error"),
            "The status that the client gets.",
        ),
        KeySchema::new(
            "intercept",
            ValueKind::Flag,
            DefaultValue::Literal(ConfigValue::Flag(false)),
            "`true`: the page also replaces responses of servers with such a status. Of their fields \
             `WWW-Authenticate`, `Proxy-Authenticate`, `Allow` and `Retry-After` stay.",
        ),
    ],
};
