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
    "Compression of responses for clients that accept it, if the server has not compressed them. Short form: `true`.",
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
            "Codings in order of preference, for clients that accept several with the same weight.",
        ),
        KeySchema::new(
            "types",
            ValueKind::Texts { form: TextFormat::MediaType, unset: None },
            DefaultValue::Derived(
                "`text/*`, `image/svg+xml` and of `application/`: `json`, `javascript`, `xml`, `xhtml+xml`, `rss+xml`, \
                 `atom+xml`, `ld+json`, `manifest+json`, `wasm`",
            ),
            "Media types to compress; `text/*`: all that begin with `text/`.",
        ),
        // An answer of less than a kibibyte fits one packet either way.
        KeySchema::new(
            "min",
            ValueKind::size(1, 1 << 30),
            DefaultValue::Literal(ConfigValue::Size(1_024)),
            "Minimum size: responses with fewer bytes are not compressed; those of unknown length are.",
        ),
        KeySchema::new(
            "max-concurrent",
            ValueKind::count(1, 65_535),
            DefaultValue::count(64),
            "Responses compressed at a time, per worker: each takes up to 2 MiB. Others are not compressed.",
        ).formerly(&["at-once"]),
        // A fifth of the cores stays for connections that need no compression.
        KeySchema::new(
            "max-cpu",
            ValueKind::count(1, 100),
            DefaultValue::count(80),
            "Percentage of its time that a worker may be busy before it stops compressing responses; 100: it always \
             compresses.",
        ).formerly(&["busy"]),
    ],
};
