//! The checked configuration of a server, and what an operator wants of it.

use crate::config::address::ServerAddress;
use crate::config::admin_state::AdminState;
use crate::config::balance::Priority;
use crate::config::probe::ProbeConfig;
use crate::config::schedule::ScheduleRule;
use serde::Serialize;

/// A server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ServerConfig {
    /// Its name within the pool, kebab-case.
    pub name: String,
    /// Where it is.
    pub address: ServerAddress,
    /// Its share.
    pub weight: ServerWeight,
    /// Its rank among the servers of the pool.
    pub priority: Priority,
    /// Where it is; `None`: near.
    pub locality: Option<String>,
    /// What the operator wrote in the file.
    pub admin: AdminState,
    /// What the clock wants of it.
    pub schedule: Vec<ScheduleRule>,
    /// Its probe, after inheritance.
    pub probe: Option<ProbeConfig>,
    /// Connections at a time over all workers; `None`: no cap.
    pub connections: Option<u32>,
}

/// A server's share, 0–256; 0 takes no new work and is neither `down` nor `drain`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct ServerWeight(u16);

impl ServerWeight {
    /// The range of HAProxy's weights, so that converted files keep their numbers.
    pub const MAX: u16 = 256;
    pub const ONE: ServerWeight = ServerWeight(1);

    pub fn new(value: u16) -> Option<ServerWeight> {
        (value <= Self::MAX).then_some(ServerWeight(value))
    }

    pub fn get(self) -> u16 {
        self.0
    }
}
