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
    "Paths that servers may read in several ways (`%2F`, `\\`, `;`, `//`, `..`, encoded twice). `all-readings`: \
     rules are evaluated for each reading; a `deny` or an `answer` with an error matches if one reading does, any \
     other rule only if all do, else the request is refused with 400 and the cause `ambiguous-path`. `refuse`: such \
     a path is always refused. `normal-form`: rules and servers get the normal form, otherwise as `all-readings`. \
     `raw`: rules compare the path as the client wrote it, which is safe only if servers do the same.",
)
.http_only();

pub const CASE: KeySchema = KeySchema::new(
    "path-case",
    ValueKind::Keyword(&[Keyword::new("exact"), Keyword::new("ignore")]),
    DefaultValue::keyword("exact"),
    "Whether the case of ASCII letters counts in `path` and `path-regex` of rules. `ignore` is for servers that \
     ignore it: Windows, macOS, some frameworks.",
)
.http_only();
