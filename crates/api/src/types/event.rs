//! What happened, for those who watch.
//!
//! `status` has the result of every event; a reader who missed some reads `status`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Answer of `GET /v1/events`: the latest, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Events {
    /// The stored events.
    pub events: Vec<Event>,
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Event {
    /// Time of the event.
    pub at_unix_ms: u64,
    /// Level of the event.
    pub level: Level,
    /// Kind of the event, in kebab-case.
    #[serde(alias = "what")]
    pub kind: String,
    /// The event as a sentence.
    pub text: String,
    /// Machine-readable subject of the event: `pool`, `server`, `state`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub about: BTreeMap<String, String>,
}

/// Level of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// Good to know.
    Info,
    /// Something to look at.
    Warning,
    /// A requested action failed.
    Error,
}
