//! The record of orders: who changed what, when, by which way, from what to what.
//!
//! It has commands; what happened by itself is an event.

use serde::{Deserialize, Serialize};

/// Query of `GET /v1/audit`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct AuditQuery {
    /// Only what came at this moment or later.
    pub since_unix_ms: Option<u64>,
}

/// Answer of `GET /v1/audit`, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Audit {
    /// The stored records.
    pub records: Vec<AuditRecord>,
    /// Lines of the file that could not be read: the last one of a crash, or damage.
    pub unreadable: u64,
    /// Records that could not be written since the start.
    pub failures: u64,
}

/// One order that was carried out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct AuditRecord {
    /// Its number; numbers only grow.
    pub id: u64,
    /// When.
    pub at_unix_ms: u64,
    /// Who: `uid 0 (root), process 4711 (steelyard)`, `clock`, `SIGHUP`.
    pub who: String,
    /// By which way: `api`, `reload`, `rollback`, `clock`.
    pub way: String,
    /// The command: `drain`, `apply`.
    pub action: String,
    /// Of what: `web/a`, `configuration`.
    pub target: String,
    /// How it was.
    pub before: String,
    /// How it is.
    pub after: String,
    /// The file that the order was written to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved: Option<String>,
    /// The record that this one undid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undoes: Option<u64>,
    /// The record of the first order of the command about several servers that this one is part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part_of: Option<u64>,
    /// Whether `undo` can take it back, as long as nothing else changed the same since.
    #[serde(default)]
    pub reversible: bool,
}

/// Query of `POST /v1/undo`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct UndoQuery {
    /// Which record, alone; absent: all that is left of the latest command that can be undone.
    pub id: Option<u64>,
}

/// Answer of `POST /v1/undo`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct UndoResult {
    /// The records of the undoing, in the order in which it was done: the latest order first.
    pub records: Vec<AuditRecord>,
    /// Why the rest of the command was not taken back; absent: nothing is left of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}
