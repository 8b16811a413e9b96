//! `large_client_header_buffers`: how long a head and its first line may be. Without it nginx does as Steelyard.

use crate::notes::ConversionNotes;
use crate::size::{format_size, parse_size};
use crate::value::KeyValue;

use super::scope::DirectiveScope;
use super::tree::Directive;

pub const NAME: &str = "large_client_header_buffers";

/// The bounds of `limit.header-bytes`.
const SHORTEST: u64 = 1_024;
const LONGEST: u64 = 61_440;

/// The number of buffers, and the size of each.
struct HeadBuffers {
    count: u64,
    bytes: u64,
}

fn read(directive: &Directive) -> Option<HeadBuffers> {
    let count = directive.peek(0).parse().ok().filter(|count| *count > 0)?;
    let bytes = parse_size(directive.peek(1)).filter(|bytes| *bytes > 0)?;
    Some(HeadBuffers { count, bytes })
}

/// The limits of a service, if they are written. A line must fit into one of the buffers.
pub fn pairs(scope: &DirectiveScope<'_>) -> Vec<KeyValue> {
    let Some(directive) = scope.get(NAME) else { return Vec::new() };
    let Some(HeadBuffers { count, bytes }) = read(directive) else { return Vec::new() };
    directive.args();
    directive.mark_converted();
    let line = bytes.clamp(SHORTEST, LONGEST);
    let head = bytes.saturating_mul(count).clamp(line, LONGEST);
    vec![
        KeyValue::new("header-bytes", format_size(head)),
        KeyValue::new("target-bytes", format_size(line)),
    ]
}

/// Reports buffers that are no number and size.
pub fn note_invalid(directive: &Directive, notes: &mut ConversionNotes) {
    if read(directive).is_none() {
        let reason = "not a number and a size: heads are limited as without it";
        notes.left_out(directive.source, &directive.text(), reason, "`limit.header-bytes`");
    }
}
