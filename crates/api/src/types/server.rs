//! Orders about servers.
//!
//! A selector is `POOL/NAME`, where `*` stands for every server of the pool.

use model::config::Admin;
use model::snapshot::ServerState;
use serde::{Deserialize, Serialize};

/// Body of `POST /v1/servers/{pool}/{name}`: `{"action": "weight", "weight": 3}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "kebab-case")]
pub enum ServerAction {
    /// Finishes what it has and takes nothing new.
    Drain,
    /// Judged by its health alone.
    Enable,
    /// Takes nothing.
    Disable,
    /// Takes this share.
    Weight {
        /// 0–256; absent: the configured one again.
        weight: Option<u16>,
    },
}

/// Answer of `POST /v1/servers/{pool}/{name}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ServerChanged {
    /// Every server that was selected, changed or not.
    pub servers: Vec<ServerChange>,
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
    pub admin: Admin,
    /// Its state now.
    pub state: ServerState,
    /// Its weight now.
    pub weight: u16,
    /// Exchanges or `tcp` connections that it still has.
    pub in_flight: u32,
}
