//! The audit log: who changed what, when, by which way, from what to what.
//!
//! It has commands; what happened by itself is an event.

use serde::{Deserialize, Serialize};

/// Query of `GET /v1/audit`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct AuditQuery {
    /// Only entries from this time on.
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

/// One command that was carried out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct AuditRecord {
    /// Number of the record. Later records have higher numbers.
    pub id: u64,
    /// Time of the command.
    pub at_unix_ms: u64,
    /// The caller: `uid 0 (root), process 4711 (steelyard)`, `clock`, `SIGHUP`.
    pub who: String,
    /// Where the command came from: `api`, `reload`, `rollback`, `clock`.
    pub way: String,
    /// The command, such as `drain` or `apply`.
    pub action: String,
    /// The object: `web/a`, `configuration`.
    pub target: String,
    /// The state before the command.
    pub before: String,
    /// The state after the command.
    pub after: String,
    /// The file that the change was written to; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved: Option<String>,
    /// The record that this command undid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undoes: Option<u64>,
    /// The first record of the same command, if one command changed several servers.
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
    /// Number of the record to undo alone; absent: the rest of the latest command that can be undone.
    pub id: Option<u64>,
}

/// Answer of `POST /v1/undo`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct UndoResult {
    /// Audit records of the undo, the latest command first.
    pub records: Vec<AuditRecord>,
    /// Why the rest of the command was not undone; absent: all of it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(serialize_with = "crate::plain_text::serialize")]
    pub failed: Option<String>,
}
