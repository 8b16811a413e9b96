//! Commands for servers.
//!
//! A selector is `POOL/NAME`, where `*` stands for every server of the pool.

use model::config::AdminState;
use model::snapshot::ServerState;
use serde::{Deserialize, Serialize};

/// Body of `POST /v1/servers/{pool}/{name}`: `{"action": "weight", "weight": 3, "save": true}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ServerActionRequest {
    /// The command.
    #[serde(flatten)]
    pub action: ServerAction,
    /// Whether the change is written to the daemon's file; absent: as `global.control.write-back` says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub save: Option<bool>,
    /// The first audit record of the same command, if one command changes several servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part_of: Option<u64>,
}

/// The command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "kebab-case", rename_all_fields = "kebab-case")]
pub enum ServerAction {
    /// Finishes its active exchanges and gets no new ones.
    Drain,
    /// Follows its health checks alone; also ends a quiesce and a maintenance.
    Enable,
    /// Gets no requests.
    Disable,
    /// Gets no requests, and its connections are reset.
    Cut,
    /// Gets no new clients. Clients with a sticky session may come for this time, then the server drains.
    Quiesce {
        /// Time, milliseconds.
        limit_ms: u64,
    },
    /// Gets no requests during a maintenance window.
    Maintain {
        /// Start; absent: now.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from_unix_ms: Option<u64>,
        /// End; absent: until the server is enabled.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until_unix_ms: Option<u64>,
        /// Reason, shown in the status.
        reason: String,
    },
    /// Sets its weight.
    Weight {
        /// 0 to 256; absent: the configured weight.
        weight: Option<u16>,
    },
    /// Adds the server; with the name `-` it is named after its address.
    Add {
        /// Address or name, and port.
        address: String,
        /// 0 to 256; absent: as in the pool.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        weight: Option<u16>,
    },
    /// Removes the server; its active exchanges are finished.
    Remove,
}

impl From<ServerAction> for ServerActionRequest {
    /// Saved as configured.
    fn from(action: ServerAction) -> ServerActionRequest {
        ServerActionRequest { action, save: None, part_of: None }
    }
}

/// Answer of `POST /v1/servers/{pool}/{name}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ServerChanged {
    /// All selected servers, changed or not.
    pub servers: Vec<ServerChange>,
    /// Number of the first audit record of this command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<u64>,
    /// The file that the change was written to; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved: Option<String>,
    /// What could not be written to disk, one sentence each; absent: everything was written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(alias = "unkept")]
    #[serde(serialize_with = "crate::plain_text::serialize")]
    pub unsaved: Vec<String>,
}

/// What became of a selected server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ServerChange {
    /// Name of the pool.
    pub pool: String,
    /// Name of the server.
    pub server: String,
    /// Whether anything changed.
    pub changed: bool,
    /// Administrative state.
    pub admin: AdminState,
    /// Current state.
    pub state: ServerState,
    /// Current weight.
    pub weight: u16,
    /// Exchanges or `tcp` connections that are still active.
    pub in_flight: u32,
    /// Whether it was removed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub removed: bool,
}
