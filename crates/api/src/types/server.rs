//! Orders about servers.
//!
//! A selector is `POOL/NAME`, where `*` stands for every server of the pool.

use model::config::AdminState;
use model::snapshot::ServerState;
use serde::{Deserialize, Serialize};

/// Body of `POST /v1/servers/{pool}/{name}`: `{"action": "weight", "weight": 3, "save": true}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ServerOrder {
    /// The command.
    #[serde(flatten)]
    pub action: ServerAction,
    /// Written back to the daemon's file, or not; absent: as `global.control.write-back` is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub save: Option<bool>,
    /// The record of the first order of one command about several servers: `undo` takes them back together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part_of: Option<u64>,
}

/// The command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "kebab-case", rename_all_fields = "kebab-case")]
pub enum ServerAction {
    /// Finishes what it has and takes nothing new.
    Drain,
    /// Judged by its health alone; ends a quiesce and a maintenance too.
    Enable,
    /// Takes nothing.
    Disable,
    /// Takes nothing, and what it has is reset now.
    Cut,
    /// No new clients; clients with a sticky session still come for this time, then the server drains.
    Quiesce {
        /// For how long.
        limit_ms: u64,
    },
    /// Takes nothing during a window.
    Maintain {
        /// From when; absent: now.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from_unix_ms: Option<u64>,
        /// Until when; absent: until it is enabled.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until_unix_ms: Option<u64>,
        /// Why, for those who look.
        reason: String,
    },
    /// Takes this share.
    Weight {
        /// 0–256; absent: the configured one again.
        weight: Option<u16>,
    },
    /// The server is new; with the name `-` it is named after its address.
    Add {
        /// Its address or name, and port.
        address: String,
        /// 0–256; absent: the pool's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        weight: Option<u16>,
    },
    /// The server is no more; what it has is finished.
    Remove,
}

impl From<ServerAction> for ServerOrder {
    /// Saved as configured.
    fn from(action: ServerAction) -> ServerOrder {
        ServerOrder { action, save: None, part_of: None }
    }
}

/// Answer of `POST /v1/servers/{pool}/{name}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ServerChanged {
    /// Every server that was selected, changed or not.
    pub servers: Vec<ServerChange>,
    /// The record of the command that these are part of: its first order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<u64>,
    /// The file that the order was written to; absent: to none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved: Option<String>,
    /// What the daemon could not write to disk, each a whole sentence; absent: everything was written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(alias = "unkept")]
    pub unsaved: Vec<String>,
}

/// What became of a selected server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ServerChange {
    /// Its pool.
    pub pool: String,
    /// Its name.
    pub server: String,
    /// Whether anything is different from before.
    pub changed: bool,
    /// What the operator wants of it now.
    pub admin: AdminState,
    /// Its state now.
    pub state: ServerState,
    /// Its weight now.
    pub weight: u16,
    /// Exchanges or `tcp` connections that it still has.
    pub in_flight: u32,
    /// It is no longer there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub removed: bool,
}
