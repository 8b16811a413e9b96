//! Describes `compress` of a service.

use std::borrow::Cow;

use super::super::schema::{Fallback, Form, Key, Kind, Short, Table, Word};
use super::super::value::Value;

/// `compress`.
pub const COMPRESS: Key = Key::new(
    "compress",
    Kind::Table { table: &COMPRESS_TABLE, short: Short::On, unset: Some("off") },
    Fallback::unset("off"),
    "Answers are compressed for clients that take it, where their server has not done so. Short form: `true`.",
)
.http();

static COMPRESS_TABLE: Table = Table {
    what: "the compressing of answers",
    choices: &[],
    keys: &[
        Key::new(
            "codings",
            Kind::WordList(&[Word::of("zstd"), Word::of("br"), Word::of("gzip")]),
            Fallback::Is(Value::Words(Cow::Borrowed(&["zstd", "br", "gzip"]))),
            "Which codings, the one that is preferred first: it is taken where a client likes several alike.",
        ),
        Key::new(
            "types",
            Kind::Texts { form: Form::MediaType, unset: None },
            Fallback::Derived(
                "`text/*`, `image/svg+xml` and of `application/`: `json`, `javascript`, `xml`, `xhtml+xml`, `rss+xml`, \
                 `atom+xml`, `ld+json`, `manifest+json`, `wasm`",
            ),
            "Of which media types; `text/*`: of all that begin so.",
        ),
        Key::new(
            "min",
            Kind::size(1, 1 << 30),
            Fallback::Is(Value::Size(1_024)),
            "Answers with fewer bytes are left as they are; those of unknown length are compressed.",
        ),
        Key::new(
            "at-once",
            Kind::count(1, 65_535),
            Fallback::count(64),
            "Answers being compressed at a time, per worker: each takes up to 2 MiB. What is more goes as it is.",
        ),
        Key::new(
            "busy",
            Kind::count(1, 100),
            Fallback::count(80),
            "A worker that was busy for more than this share of its time, percent, compresses no further answers; 100: \
             it always does.",
        ),
    ],
};
