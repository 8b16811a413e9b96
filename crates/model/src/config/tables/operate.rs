//! Describes the keys for operating by hand and by the clock.

use super::super::schema::{Fallback, Key, Kind};
use super::super::value::Value;

/// Whether orders about servers reach the file.
pub const WRITE_BACK: Key = Key::new(
    "write-back",
    Kind::Flag,
    Fallback::Is(Value::Flag(false)),
    "Orders about servers are written back to the file, with its comments, unless they say otherwise.",
);

/// How long the record of orders may grow.
pub const AUDIT: Key = Key::new(
    "audit",
    Kind::size(64 * 1024, 1024 * 1024 * 1024),
    Fallback::Is(Value::Size(8 * 1024 * 1024)),
    "The record of who ordered what: so large it may be; then its older half goes.",
);
