//! The largest request body of a service or a rule: its keys, its type, and how it is built.

use serde::Serialize;

use crate::config::schema::{DefaultValue, KeySchema, ValueKind};
use crate::config::section::ConfigSection;

const KEY: &str = "body-bytes";

/// A pebibyte at most: more than any disk behind a server holds.
const SIZE: ValueKind = ValueKind::Size { min: 1, max: 1 << 50, unset: Some("off") };

pub const OF_SERVICE: KeySchema = KeySchema::new(
    KEY,
    SIZE,
    DefaultValue::unset("off"),
    "Maximum bytes of a request's body, as received, without the chunked coding. A longer one is refused with 413 and \
     the cause `body-too-large`: before a server gets a byte if its length is known, else while it passes.",
)
.http_only();

pub const OF_RULE: KeySchema = KeySchema::new(
    KEY,
    SIZE,
    DefaultValue::Derived("the service's"),
    "The most bytes of a request's body, in place of the service's `limit.body-bytes`.",
)
.http_only();

/// The largest request body in bytes; `None`: no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct BodyLimit(pub Option<u64>);

/// The limit of a service, or of a rule that writes one.
pub fn build_body_limit(section: &ConfigSection) -> BodyLimit {
    BodyLimit(section.count(KEY))
}

/// The limit of a rule; `None`: the service's.
pub fn build_rule_body_limit(rule: &ConfigSection) -> Option<BodyLimit> {
    rule.setting(KEY).map(|_| build_body_limit(rule))
}
