//! The checked configuration of a server.

use crate::config::address::ServerAddress;
use crate::config::admin_state::AdminState;
use crate::config::balance::Priority;
use crate::config::probe::ProbeConfig;
use crate::config::schedule::ScheduleRule;
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ServerConfig {
    /// The name within the pool, kebab-case.
    pub name: String,
    /// The value that stands for the server in an application's cookies. `None` means its name.
    pub cookie_value: Option<String>,
    pub address: ServerAddress,
    pub weight: ServerWeight,
    pub priority: Priority,
    /// The locality; `None`: the server counts as local.
    pub locality: Option<String>,
    /// The administrative state in the file.
    pub admin: AdminState,
    /// Scheduled administrative states.
    pub schedule: Vec<ScheduleRule>,
    /// The health check, after inheritance.
    pub probe: Option<ProbeConfig>,
    /// Limit for connections over all workers; `None`: no limit.
    pub connections: Option<u32>,
}

impl ServerConfig {
    /// The value that stands for the server in an application's cookies.
    pub fn cookie_value(&self) -> &str {
        self.cookie_value.as_deref().unwrap_or(&self.name)
    }
}

/// A server's weight, 0–256. With 0 the server gets no new work but is neither `down` nor `drain`.
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
