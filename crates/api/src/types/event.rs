//! What happened, for those who watch.
//!
//! Events repeat nothing that `status` would not also tell; who missed some reads `status`.

use serde::{Deserialize, Serialize};

/// Answer of `GET /v1/events`: the latest, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Events {
    /// Those kept.
    pub events: Vec<Event>,
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Event {
    /// Its number, rising by one.
    pub number: u64,
    /// When.
    pub at_unix_ms: u64,
    /// What kind.
    pub kind: EventKind,
    /// About what: `web/a`, `service shop`, `generation 7`.
    pub subject: String,
    /// What happened, a whole sentence.
    pub text: String,
}

/// Kinds of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EventKind {
    /// The configuration changed.
    Generation,
    /// A server's state changed.
    Server,
    /// A service's state changed.
    Service,
    /// Something an operator should know.
    Warning,
    /// The daemon starts or stops.
    Process,
}
