//! Describes `lenient-responses` of a pool.

use crate::config::schema::{DefaultValue, KeySchema, Keyword, ValueKind};

pub const LENIENT_ANSWERS: KeySchema = KeySchema::new(
    "lenient-responses",
    ValueKind::KeywordList(&[
        Keyword::new("repeated-length"),
        Keyword::new("bare-lf"),
        Keyword::new("space-before-colon"),
    ]),
    DefaultValue::Absent,
    "Faults in response heads that are repaired instead of refused with 502: `Content-Length` several times with \
     equal values, lines that end with LF alone, blanks before a colon. Each is counted. Only HTTP/1.",
).formerly(&["lenient-answers"])
.http_only();
