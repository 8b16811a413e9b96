//! Describes `compress` of a service.

use std::borrow::Cow;

use crate::config::schema::{
    DefaultValue, KeySchema, Keyword, TableSchema, TableShorthand, TextFormat, ValueKind,
};
use crate::config::value::ConfigValue;

pub const COMPRESS: KeySchema = KeySchema::new(
    "compress",
    ValueKind::Table { table: &COMPRESS_TABLE, short: TableShorthand::Switch, unset: Some("off") },
    DefaultValue::unset("off"),
    "Answers are compressed for clients that take it, where their server has not done so. Short form: `true`.",
)
.http_only();

static COMPRESS_TABLE: TableSchema = TableSchema {
    description: "the compressing of answers",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "codings",
            ValueKind::KeywordList(&[
                Keyword::new("zstd"),
                Keyword::new("br"),
                Keyword::new("gzip"),
            ]),
            DefaultValue::Literal(ConfigValue::Keywords(Cow::Borrowed(&["zstd", "br", "gzip"]))),
            "Which codings, the one that is preferred first: it is taken where a client likes several alike.",
        ),
        KeySchema::new(
            "types",
            ValueKind::Texts { form: TextFormat::MediaType, unset: None },
            DefaultValue::Derived(
                "`text/*`, `image/svg+xml` and of `application/`: `json`, `javascript`, `xml`, `xhtml+xml`, `rss+xml`, \
                 `atom+xml`, `ld+json`, `manifest+json`, `wasm`",
            ),
            "Of which media types; `text/*`: of all that begin so.",
        ),
        // An answer of less than a kibibyte fits one packet either way.
        KeySchema::new(
            "min",
            ValueKind::size(1, 1 << 30),
            DefaultValue::Literal(ConfigValue::Size(1_024)),
            "Answers with fewer bytes are left as they are; those of unknown length are compressed.",
        ),
        KeySchema::new(
            "at-once",
            ValueKind::count(1, 65_535),
            DefaultValue::count(64),
            "Answers being compressed at a time, per worker: each takes up to 2 MiB. What is more goes as it is.",
        ),
        // A fifth of the cores stays for connections that need no compression.
        KeySchema::new(
            "busy",
            ValueKind::count(1, 100),
            DefaultValue::count(80),
            "A worker that was busy for more than this share of its time, percent, compresses no further answers; 100: \
             it always does.",
        ),
    ],
};
