//! Describes `buffer` of a service.

use crate::config::schema::{DefaultValue, KeySchema, Keyword, TableSchema, ValueKind};
use crate::config::value::ConfigValue;

/// The longest body that may be buffered.
/// A gibibyte: a larger body belongs on the disk of an application.
const MOST: u64 = 1 << 30;

/// Bytes of a request's body.
pub const REQUEST_KIND: ValueKind = ValueKind::Size { min: 1, max: MOST, unset: Some("off") };

/// Bytes of an answer's body. Below 64 KiB every body is held already (`limit.connection-bytes`).
pub const RESPONSE_KIND: ValueKind =
    ValueKind::Size { min: 64 * 1_024, max: MOST, unset: Some("off") };

/// What is done with a longer body.
pub const BEYOND_WORDS: &[Keyword] = &[Keyword::new("stream"), Keyword::new("refuse")];

pub const BUFFER: KeySchema = KeySchema::new(
    "buffer",
    ValueKind::table(&BUFFER_TABLE),
    DefaultValue::Inner,
    "Buffering of request and response bodies, so that slow clients hold no server.",
)
.http_only();

static BUFFER_TABLE: TableSchema = TableSchema {
    description: "the keeping of bodies",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "request",
            REQUEST_KIND,
            DefaultValue::unset("off"),
            "Request buffering: a request's body of up to this size is read whole before a server is chosen; the \
             request can then be retried like one without a body.",
        ),
        KeySchema::new(
            "when-larger",
            ValueKind::Keyword(BEYOND_WORDS),
            DefaultValue::keyword("stream"),
            "A longer body: `stream` passes it to a server while it arrives, `refuse` refuses it with 413. The same \
             applies when `memory` is used up: refused with 503.",
        ).formerly(&["beyond"]),
        KeySchema::new(
            "response",
            RESPONSE_KIND,
            DefaultValue::unset("off"),
            "Response buffering: a response's body is read this many bytes ahead of its client, and its server is \
             free once all of it was read. Such responses are copied, not spliced.",
        ),
        KeySchema::new(
            "memory",
            ValueKind::size(64 * 1_024, 1 << 40),
            DefaultValue::Literal(ConfigValue::Size(64 * 1_024 * 1_024)),
            "Memory for buffered bodies of this service at a time, over all workers.",
        ),
    ],
};
