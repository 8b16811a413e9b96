//! Describes `buffer` of a service.

use super::super::schema::{Fallback, Key, Kind, Table, Word};
use super::super::value::Value;

/// The longest body that may be kept.
const MOST: u64 = 1 << 30;

/// `buffer`.
pub const BUFFER: Key = Key::new(
    "buffer",
    Kind::table(&BUFFER_TABLE),
    Fallback::Inner,
    "Bodies that are read ahead of whoever is to have them, so that slow clients hold no server.",
)
.http();

static BUFFER_TABLE: Table = Table {
    what: "the keeping of bodies",
    choices: &[],
    keys: &[
        Key::new(
            "request",
            Kind::Size { min: 1, max: MOST, unset: Some("off") },
            Fallback::unset("off"),
            "A request's body of up to so many bytes is read whole before a server is chosen; then the request can be sent \
             again as one without a body can.",
        ),
        Key::new(
            "beyond",
            Kind::Words(&[Word::of("stream"), Word::of("refuse")]),
            Fallback::word("stream"),
            "A longer one: goes on to a server while it comes, or is refused with 413. Likewise where `memory` is used up: \
             refused with 503.",
        ),
        Key::new(
            "response",
            Kind::Size { min: 64 * 1_024, max: MOST, unset: Some("off") },
            Fallback::unset("off"),
            "An answer's body is read so many bytes ahead of its client, and its server is free once all of it was read. \
             Such answers are copied, not spliced.",
        ),
        Key::new(
            "memory",
            Kind::size(64 * 1_024, 1 << 40),
            Fallback::Is(Value::Size(64 * 1_024 * 1_024)),
            "Bytes of this service that may be kept so at a time, over all workers.",
        ),
    ],
};
