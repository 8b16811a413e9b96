//! Describes what a service does with paths that can be read in several ways.

use super::super::schema::{Fallback, Key, Kind, Word};

/// `path-normalization`.
pub const NORMALIZATION: Key = Key::new(
    "path-normalization",
    Kind::Words(&[
        Word::of("all-readings"),
        Word::of("refuse"),
        Word::of("normal-form"),
        Word::of("raw"),
    ]),
    Fallback::word("all-readings"),
    "A path that servers may read in several ways (`%2F`, `\\`, `;`, `//`, `..`, encoded twice): rules are asked for each \
     reading, a `deny` or an `answer` with an error fires if one fits, any other rule only if all do, else the request is refused with 400 and the cause \
     `ambiguous-path`; such a path is always refused; its normal form goes to rules and servers, and the rest is as in the \
     first case; rules compare the path as the client wrote it, which is safe only where servers do the same.",
)
.http();

/// `path-case`.
pub const CASE: Key = Key::new(
    "path-case",
    Kind::Words(&[Word::of("exact"), Word::of("ignore")]),
    Fallback::word("exact"),
    "Whether `path` and `path-regex` of rules look at the case of ASCII letters. `ignore` is for servers that do not: \
     Windows, macOS, some frameworks.",
)
.http();
