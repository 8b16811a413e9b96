//! Describes the handling of ambiguous paths.

use crate::config::schema::{DefaultValue, KeySchema, Keyword, ValueKind};

pub const NORMALIZATION: KeySchema = KeySchema::new(
    "path-normalization",
    ValueKind::Keyword(&[
        Keyword::new("all-readings"),
        Keyword::new("refuse"),
        Keyword::new("normal-form"),
        Keyword::new("raw"),
    ]),
    DefaultValue::keyword("all-readings"),
    "A path that servers may read in several ways (`%2F`, `\\`, `;`, `//`, `..`, encoded twice): rules are asked for each \
     reading, a `deny` or an `answer` with an error fires if one fits, any other rule only if all do, else the request is refused with 400 and the cause \
     `ambiguous-path`; such a path is always refused; its normal form goes to rules and servers, and the rest is as in the \
     first case; rules compare the path as the client wrote it, which is safe only where servers do the same.",
)
.http_only();

pub const CASE: KeySchema = KeySchema::new(
    "path-case",
    ValueKind::Keyword(&[Keyword::new("exact"), Keyword::new("ignore")]),
    DefaultValue::keyword("exact"),
    "Whether `path` and `path-regex` of rules look at the case of ASCII letters. `ignore` is for servers that do not: \
     Windows, macOS, some frameworks.",
)
.http_only();
