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
    /// Written into the daemon's file, or not; absent: as `global.control.write-back` is set.
    pub save: Option<bool>,
}

/// Query of `PUT` and `PATCH /v1/config`, and of `PATCH` and `DELETE` of its objects. Which generation must be active stands in `If-Match`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct ChangeQuery {
    /// The file that the text came from, for findings and the record; a patch needs none.
    pub file: Option<String>,
    /// Written into the daemon's file, or not; absent: as `global.control.write-back` is set.
    pub save: Option<bool>,
}

/// Query of `PUT` of one object of the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct ObjectQuery {
    /// Written into the daemon's file, or not; absent: as `global.control.write-back` is set.
    pub save: Option<bool>,
    /// The name or place of the rule before which a new rule is inserted; absent: it is the last one.
    pub before: Option<String>,
}

/// Query of `GET /v1/config`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct ConfigQuery {
    /// The text as it was written, comments and all, instead of every active value.
    pub written: bool,
    /// That of a stored generation, as it was written; absent: the active one.
    pub generation: Option<u64>,
}

/// Query of `POST /v1/rollback`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct RollbackQuery {
    /// Which; absent: the one before the active one.
    pub generation: Option<u64>,
    /// Written into the daemon's file, or not; absent: as `global.control.write-back` is set.
    pub save: Option<bool>,
}

/// In what the daemon's file and what is active differ.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Drift {
    /// The file.
    pub file: String,
    /// Where they differ: `pool.web.servers`.
    pub keys: Vec<String>,
    /// Further places that are not listed.
    pub unlisted: u64,
    /// The file was written since it was read.
    pub edited: bool,
    /// The difference is stored beside the file: it survives a restart.
    #[serde(alias = "kept")]
    pub saved: bool,
    /// Why the file cannot be compared.
    #[serde(alias = "trouble")]
    pub problem: Option<String>,
}

/// Answer of `POST /v1/plan`: what `apply` would do. Nothing was done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PlanChange {
    /// The generation that it was compared with.
    pub generation: u64,
    /// Whether anything would change.
    pub changed: bool,
    /// What belongs to the process.
    pub global: Vec<KeyChange>,
    /// Services.
    pub services: Changes,
    /// Pools.
    pub pools: PoolChanges,
    /// Tables of one part that differ: `packets`, `mptcp`, `uplinks`, `names`.
    #[serde(default)]
    pub parts: Vec<Changed>,
    /// Objects of all other kinds, by the kind's table: `vrrp`, `heartbeat`, `capture`, `link`, `uplink`, `zone`, `name`.
    /// Kinds without a difference are left out.
    #[serde(default)]
    pub objects: BTreeMap<String, Changes>,
    /// Which listeners, connections and exchanges it touches, each a whole sentence.
    pub effects: Vec<String>,
    /// What takes effect only in the next process, each a whole sentence or a key.
    pub needs_restart: Vec<String>,
    /// What `check` warns about.
    pub warnings: Vec<ConfigFinding>,
}

/// Objects that come, go or differ.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Changes {
    /// Names that are new.
    pub added: Vec<String>,
    /// Names that are gone.
    pub removed: Vec<String>,
    /// Those that differ.
    pub changed: Vec<Changed>,
}

/// An object that differs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Changed {
    /// Its name.
    pub name: String,
    /// Its keys that differ.
    pub keys: Vec<KeyChange>,
}

/// A key that differs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct KeyChange {
    /// Its path in the object: `timeout.idle`.
    pub key: String,
    /// Its active value, where that can be shown.
    pub from: Option<String>,
    /// Its value afterwards, if it can be shown.
    pub to: Option<String>,
}

/// Pools that come, go or differ.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PoolChanges {
    /// Names that are new.
    pub added: Vec<String>,
    /// Names that are gone.
    pub removed: Vec<String>,
    /// Those that differ.
    pub changed: Vec<PoolChanged>,
}

/// A pool that differs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PoolChanged {
    /// Its name.
    pub name: String,
    /// Its keys that differ, servers apart.
    pub keys: Vec<KeyChange>,
    /// Its servers.
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
    /// Of a rollback: the generation whose text it has again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(alias = "repeats")]
    pub restored_generation: Option<u64>,
    /// Whether every worker acts on it already; if not, it will.
    pub confirmed: bool,
    /// What was touched, each a whole sentence.
    pub effects: Vec<String>,
    /// What takes effect only in the next process, each a whole sentence or a key.
    pub needs_restart: Vec<String>,
    /// What `check` warns about.
    pub warnings: Vec<ConfigFinding>,
    /// The file that has it now; absent: none has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved: Option<String>,
    /// What the daemon could not write to disk, each a whole sentence; absent: everything was written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(alias = "unkept")]
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
    /// The stored ones.
    pub generations: Vec<Generation>,
}

/// A configuration that was active once, or is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Generation {
    /// Its number.
    pub generation: u64,
    /// When it was applied.
    #[serde(alias = "when-unix-ms")]
    pub at_unix_ms: u64,
    /// Who applied it: `uid 0`, `SIGHUP`, `start`.
    pub who: String,
    /// Where its text came from: a file, or `rollback to 4`.
    pub from: String,
    /// A digest of its text, in hexadecimal.
    pub digest: String,
    /// Whether it is active.
    pub current: bool,
}

/// Query of `POST /v1/stop`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct StopQuery {
    /// How long exchanges may finish; absent: the configured drain.
    pub limit_ms: Option<u64>,
    /// Packets go on being forwarded by the kernel.
    pub detach: bool,
}

/// Answer of `POST /v1/stop`, given at once: draining has begun, and the socket closes when it is over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Stopping {
    /// How long exchanges may finish.
    pub limit_ms: u64,
    /// Connections open when draining began.
    pub connections: u64,
    /// Exchanges or `tcp` connections under way when draining began.
    pub in_flight: u64,
}

/// Answer of `GET /v1/config/keys`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ConfigKeys {
    /// Tables of the configuration.
    pub tables: Vec<ReferenceTable>,
}
