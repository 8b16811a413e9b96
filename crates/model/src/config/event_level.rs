//! How severe an event is, and the keys for the least level that a target gets. It writes no event.

use serde::Serialize;

use crate::config::schema::{DefaultValue, KeySchema, Keyword, ValueKind};
use crate::config::section::ConfigSection;

/// How severe an event is, from the least to the most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EventLevel {
    #[default]
    Info,
    /// Something to look at.
    Warning,
    /// A requested action failed.
    Error,
}

const LEVELS: ValueKind =
    ValueKind::Keyword(&[Keyword::new("info"), Keyword::new("warning"), Keyword::new("error")]);

/// The level of standard error.
pub const EVENT_LEVEL: KeySchema = KeySchema::new(
    "event-level",
    LEVELS,
    DefaultValue::keyword("info"),
    "Log level: events below it are not written to standard error, which is the journal under systemd. `info`, `warning` \
     (something to look at) or `error` (a requested action failed). Hooks, the API, the page and metrics get every event; \
     `telemetry.level` is the level of the collector.",
);

/// The level of the OpenTelemetry collector.
pub const TELEMETRY_LEVEL: KeySchema = KeySchema::new(
    "level",
    LEVELS,
    DefaultValue::keyword("info"),
    "Log level: events below it are not sent to the collector.",
);

/// The level that a key of a table is set to.
pub fn build_level(section: &ConfigSection, key: &str) -> EventLevel {
    match section.text(key) {
        Some("warning") => EventLevel::Warning,
        Some("error") => EventLevel::Error,
        _ => EventLevel::Info,
    }
}
