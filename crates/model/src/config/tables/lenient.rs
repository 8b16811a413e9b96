//! Describes `lenient-answers` of a pool.

use super::super::schema::{Fallback, Key, Kind, Word};

/// `lenient-answers`.
pub const LENIENT_ANSWERS: Key = Key::new(
    "lenient-answers",
    Kind::WordList(&[
        Word::of("repeated-length"),
        Word::of("bare-lf"),
        Word::of("space-before-colon"),
    ]),
    Fallback::Absent,
    "Faults in heads of answers that are mended instead of refused with 502: `Content-Length` several times with equal \
     values, lines that end with LF alone, blanks before a colon. Each is counted. Of HTTP/1 alone.",
)
.http();
