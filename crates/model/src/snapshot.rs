//! What workers act on: an immutable picture of the services and pools in force.
//!
//! The reconciler makes a new one for each change or verdict; parts that did not change are shared. Live counters
//! hang on it by reference, so that they outlive every picture. It decides nothing: `pick` does.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::config::{Pool, Server, Service, Weight};
use crate::id::{PoolId, ServerId, ServiceId};
use crate::live::{ServerLive, ServiceLive};

/// Everything a worker needs to serve.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// The configuration's generation.
    pub generation: u64,
    /// Counts every snapshot, verdicts included.
    pub version: u64,
    /// Services by id.
    pub services: HashMap<ServiceId, Arc<ServiceView>>,
    /// Pools by id; each service's pool is here.
    pub pools: HashMap<PoolId, Arc<PoolView>>,
}

/// One service in force.
#[derive(Debug)]
pub struct ServiceView {
    /// Its id.
    pub id: ServiceId,
    /// As configured.
    pub config: Arc<Service>,
    /// Its pool.
    pub pool: PoolId,
    /// Its counters.
    pub live: Arc<ServiceLive>,
}

/// One pool in force.
#[derive(Debug)]
pub struct PoolView {
    /// Its id.
    pub id: PoolId,
    /// As configured.
    pub config: Arc<Pool>,
    /// Its servers, in the order configured.
    pub servers: Vec<ServerView>,
}

/// One server in force.
#[derive(Clone, Debug)]
pub struct ServerView {
    /// Its id.
    pub id: ServerId,
    /// As configured.
    pub config: Arc<Server>,
    /// Where it is; `None` while its name does not resolve.
    pub address: Option<SocketAddr>,
    /// Its state now.
    pub state: ServerState,
    /// Its weight now (an operator's or the judge's word may differ from the file).
    pub weight: Weight,
    /// Its counters.
    pub live: Arc<ServerLive>,
}

/// What a server may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServerState {
    /// Takes work.
    Up,
    /// Takes none: judged so.
    Down,
    /// No evidence yet: takes work only while nothing is up.
    Unknown,
    /// Finishes what it has.
    Drain,
    /// Takes nothing.
    Disabled,
}

impl ServerState {
    /// As written in status, metrics and the API.
    pub const fn name(self) -> &'static str {
        match self {
            ServerState::Up => "up",
            ServerState::Down => "down",
            ServerState::Unknown => "unknown",
            ServerState::Drain => "drain",
            ServerState::Disabled => "disabled",
        }
    }
}
