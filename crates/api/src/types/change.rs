//! Changes of the configuration: planned, applied, stored, and the end of the daemon.
//!
//! The configuration itself travels as TOML text. What differs is worked out by `model::config::diff`, not here.

use std::collections::BTreeMap;

use model::config::ConfigFinding;
use model::config::reference::ReferenceTable;
use serde::{Deserialize, Serialize};

/// Query of `POST /v1/plan` and `POST /v1/apply`; the body is the configuration's text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct ApplyQuery {
    /// Applied only when this generation is active; otherwise 409.
    pub if_generation: Option<u64>,
    /// The file that the text came from, for findings and the record.
    pub file: Option<String>,
    /// Whether the change is written to the daemon's file; absent: as `global.control.write-back` says.
    pub save: Option<bool>,
}

/// Query of `PUT` and `PATCH /v1/config`, and of `PATCH` and `DELETE` of its objects. Which generation must be active stands in `If-Match`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct ChangeQuery {
    /// The file that the text came from, for findings and the record; a patch needs none.
    pub file: Option<String>,
    /// Whether the change is written to the daemon's file; absent: as `global.control.write-back` says.
    pub save: Option<bool>,
}

/// Query of `PUT` of one object of the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct ObjectQuery {
    /// Whether the change is written to the daemon's file; absent: as `global.control.write-back` says.
    pub save: Option<bool>,
    /// Name or position of the rule before which a new rule is inserted; absent: at the end.
    pub before: Option<String>,
}

/// Query of `GET /v1/config`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct ConfigQuery {
    /// Whether to return the text as written, with its comments, instead of all active values.
    pub written: bool,
    /// Number of a stored generation, whose text is returned as written; absent: the active one.
    pub generation: Option<u64>,
}

/// Query of `POST /v1/rollback`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct RollbackQuery {
    /// Number of the generation; absent: the one before the active one.
    pub generation: Option<u64>,
    /// Whether the change is written to the daemon's file; absent: as `global.control.write-back` says.
    pub save: Option<bool>,
}

/// In what the daemon's file and what is active differ.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Drift {
    /// Path of the file.
    pub file: String,
    /// Keys that differ: `pool.web.servers`.
    pub keys: Vec<String>,
    /// Number of further keys that are not listed.
    pub unlisted: u64,
    /// Whether the file was changed after it was read.
    pub edited: bool,
    /// Whether the difference is stored beside the file and survives a restart.
    #[serde(alias = "kept")]
    pub saved: bool,
    /// Why the file cannot be compared; absent: it can.
    #[serde(alias = "trouble")]
    #[serde(serialize_with = "crate::plain_text::serialize")]
    pub problem: Option<String>,
}

/// Answer of `POST /v1/plan`: what `apply` would do. Nothing was done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PlanChange {
    /// The generation of the comparison.
    pub generation: u64,
    /// Whether anything would change.
    pub changed: bool,
    /// Settings of the process.
    pub global: Vec<KeyChange>,
    /// Changed services.
    pub services: Changes,
    /// Changed pools.
    pub pools: PoolChanges,
    /// Changed single tables: `packets`, `mptcp`, `uplinks`, `names`.
    #[serde(default)]
    pub parts: Vec<Changed>,
    /// Changed objects of other kinds by table: `vrrp`, `heartbeat`, `capture`, `link`, `uplink`, `zone`, `name`.
    #[serde(default)]
    pub objects: BTreeMap<String, Changes>,
    /// Listeners, connections and exchanges that would be affected, one sentence each.
    pub effects: Vec<String>,
    /// Changes that would take effect at the next start, one sentence or key each.
    pub needs_restart: Vec<String>,
    /// The warnings of `check`.
    pub warnings: Vec<ConfigFinding>,
}

/// Objects that come, go or differ.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Changes {
    /// New names.
    pub added: Vec<String>,
    /// Removed names.
    pub removed: Vec<String>,
    /// Objects with different settings.
    pub changed: Vec<Changed>,
}

/// An object that differs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Changed {
    /// Name of the object.
    pub name: String,
    /// Keys that differ.
    pub keys: Vec<KeyChange>,
}

/// A key that differs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct KeyChange {
    /// Path of the key in the object: `timeout.idle`.
    pub key: String,
    /// The active value, if it can be shown.
    pub from: Option<String>,
    /// The new value, if it can be shown.
    pub to: Option<String>,
}

/// Pools that come, go or differ.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PoolChanges {
    /// New names.
    pub added: Vec<String>,
    /// Removed names.
    pub removed: Vec<String>,
    /// Names with different settings.
    pub changed: Vec<PoolChanged>,
}

/// A pool that differs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PoolChanged {
    /// Name of the pool.
    pub name: String,
    /// Keys that differ, without servers.
    pub keys: Vec<KeyChange>,
    /// Changed servers.
    pub servers: Changes,
}

/// Answer of everything that activates a configuration; its ETag is the generation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Applied {
    /// The active generation.
    pub generation: u64,
    /// Whether anything changed; if not, the generation is the same as before.
    pub changed: bool,
    /// The generation whose text was restored; only after a rollback.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(alias = "repeats")]
    pub restored_generation: Option<u64>,
    /// Whether all workers use it already. If not, they will within moments.
    pub confirmed: bool,
    /// Listeners, connections and objects that changed, one sentence each.
    pub effects: Vec<String>,
    /// Changes that take effect at the next start, one sentence or key each.
    pub needs_restart: Vec<String>,
    /// The warnings of `check`.
    pub warnings: Vec<ConfigFinding>,
    /// The file that the text was written to; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved: Option<String>,
    /// What could not be written to disk, one sentence each; absent: everything was written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(alias = "unkept")]
    #[serde(serialize_with = "crate::plain_text::serialize")]
    pub unsaved: Vec<String>,
}

/// A change of both members of a pair, as the program prints it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PairApplied {
    /// This member.
    #[serde(alias = "here")]
    pub local: Applied,
    /// The other one.
    pub peer: Applied,
    /// Where that is.
    #[serde(alias = "place")]
    pub peer_address: String,
    /// Places of the change that are this member's own, so that the other one has nothing of them.
    #[serde(alias = "own")]
    pub local_keys: Vec<String>,
}

/// Answer of `GET /v1/generations`, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Generations {
    /// The stored generations.
    pub generations: Vec<Generation>,
}

/// A configuration that was active once, or is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Generation {
    /// Number of the generation.
    pub generation: u64,
    /// Time at which it was applied.
    #[serde(alias = "when-unix-ms")]
    pub at_unix_ms: u64,
    /// Who applied it: `uid 0`, `SIGHUP`, `start`.
    pub who: String,
    /// Source of its text: a file, or `rollback to 4`.
    pub from: String,
    /// Digest of its text, in hexadecimal.
    pub digest: String,
    /// Whether it is active.
    pub current: bool,
}

/// Query of `POST /v1/stop`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct StopQuery {
    /// Time for exchanges to finish, milliseconds; absent: `global.drain`.
    pub limit_ms: Option<u64>,
    /// Whether the kernel continues to forward packets.
    pub detach: bool,
}

/// Answer of `POST /v1/stop`, given at once: draining has begun, and the socket closes when it is over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Stopping {
    /// Time for exchanges to finish, milliseconds.
    pub limit_ms: u64,
    /// Open connections at the start of the drain.
    pub connections: u64,
    /// Active exchanges or `tcp` connections at the start of the drain.
    pub in_flight: u64,
}

/// Answer of `GET /v1/config/keys`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ConfigKeys {
    /// Tables of the configuration.
    pub tables: Vec<ReferenceTable>,
}
