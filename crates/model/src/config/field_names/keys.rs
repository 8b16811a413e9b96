//! Describes what a service does with field names of unusual characters.

use crate::config::schema::{DefaultValue, KeySchema, Keyword, ValueKind};

pub const FIELD_NAMES: KeySchema = KeySchema::new(
    "field-names",
    ValueKind::Keyword(&[Keyword::new("any"), Keyword::new("drop"), Keyword::new("refuse")]),
    DefaultValue::keyword("any"),
    "Fields of requests whose names have other characters than letters, digits and `-`, such as `X_User`: they pass, they are \
     dropped and counted (nginx's `underscores_in_headers off`), or the request is refused with 400. With `drop` and `refuse` \
     such trailers are dropped.",
)
.http_only();
