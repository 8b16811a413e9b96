//! What outlives a process: operators' server commands (in a file, over restarts) and health (to the process that takes
//! over).
//!
//! Plain data with a version; it reads and writes no file.

use std::time::SystemTime;

use model::config::{AdminState, ServerConfig};
use serde::{Deserialize, Serialize};

use crate::state::origin::ChangeOrigin;
use crate::state::overlay::ServerOverlay;
use crate::state::server_state;
use crate::state::server_text;
use crate::state::state_snapshot::{
    HealthStatus, MaintenanceWindow, OperatorOverride, OperatorOverrides, QuiescePeriod,
    ResolvedAddress, ServerFacts, WeightShare,
};

/// The format of the stored state. Other versions are rejected.
pub const VERSION: u32 = 1;

/// State that outlives a process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct SavedState {
    pub version: u32,
    /// Servers of which something is remembered.
    pub servers: Vec<SavedServerState>,
    /// Servers that are not as the file has them.
    #[serde(default, skip_serializing_if = "ServerOverlay::is_empty")]
    pub overlay: ServerOverlay,
}

/// What the previous process handed over, besides its sockets.
#[derive(Clone, Debug)]
pub struct PredecessorState {
    /// The generation that was active at its end.
    pub generation: u64,
    pub saved: SavedState,
}

/// The saved state of one server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct SavedServerState {
    pub pool: String,
    pub name: String,
    /// Its address as configured: at another one it is another server.
    pub address: String,
    /// An operator's command about its state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub admin: Option<SavedOverride<AdminState>>,
    /// An operator's command about its weight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<SavedOverride<u16>>,
    /// It takes no new client for a while.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiesce: Option<QuiescePeriod>,
    /// A window of maintenance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maintain: Option<MaintenanceWindow>,
    /// An operator enabled it although the schedule disables it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub despite: bool,
    /// The weight that the weight controller gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<u16>,
    /// Its health, for a process that takes over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged: Option<HealthStatus>,
    /// Where its name led, for a process that takes over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved: Option<std::net::SocketAddr>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct SavedOverride<T> {
    pub value: T,
    /// The file's value at that time.
    pub over: T,
    pub by: ChangeOrigin,
    pub at: SystemTime,
}

impl Default for SavedState {
    fn default() -> Self {
        SavedState { version: VERSION, servers: Vec::new(), overlay: ServerOverlay::default() }
    }
}

impl SavedState {
    /// Operators' commands and the controller's weights: the state that survives a restart.
    pub fn persistent<'a>(servers: impl Iterator<Item = &'a ServerFacts>) -> SavedState {
        let judge = |facts: &ServerFacts| facts.share.and_then(|share| share.controller);
        let all = servers.filter(|facts| {
            facts.overrides != OperatorOverrides::default() || judge(facts).is_some()
        });
        let save_server =
            |facts| SavedServerState { share: judge(facts), ..saved_overrides(facts) };
        SavedState::sorted(all.map(save_server).collect())
    }

    /// All state: for a process that takes over.
    pub fn full<'a>(servers: impl Iterator<Item = &'a ServerFacts>) -> SavedState {
        SavedState::sorted(servers.map(remember).collect())
    }

    /// With servers that are not as the file has them.
    pub fn with_overlay(self, overlay: &ServerOverlay) -> SavedState {
        SavedState { overlay: overlay.clone(), ..self }
    }

    /// The saved state of this server.
    pub fn find_server(&self, pool: &str, config: &ServerConfig) -> Option<&SavedServerState> {
        let address = server_text::format_address(&config.address);
        let same = |saved: &&SavedServerState| {
            saved.pool == pool && saved.name == config.name && saved.address == address
        };
        self.servers.iter().find(same)
    }

    fn sorted(mut servers: Vec<SavedServerState>) -> SavedState {
        servers.sort_by(|a, b| (&a.pool, &a.name).cmp(&(&b.pool, &b.name)));
        SavedState { servers, ..SavedState::default() }
    }
}

/// Restores the saved state of a server that is new to this process.
pub fn restore_server(facts: &mut ServerFacts, memory: &SavedState, now: SystemTime) {
    let Some(old) = memory.find_server(&facts.pool_name, &facts.config) else { return };
    still_differs(facts, old);
    facts.share = old.share.map(|judge| {
        let weight = server_state::clamp_weight(judge);
        WeightShare { controller: Some(judge), slow_start_percent: 100, weight }
    });
    if let Some(health_status) = old.judged.clone().filter(|health_status| health_status.evidence) {
        facts.health_status = health_status;
    }
    if let (Some(address), ResolvedAddress::Pending) = (old.resolved, &facts.resolved) {
        facts.resolved = ResolvedAddress::Known(address.into());
    }
    server_state::compute_state(facts, now);
    facts.since = if facts.health_status.evidence { facts.health_status.since } else { now };
}

/// An operator's commands for a server, as they are saved.
pub fn saved_overrides(facts: &ServerFacts) -> SavedServerState {
    SavedServerState { share: None, judged: None, resolved: None, ..remember(facts) }
}

/// Replaces all of an operator's commands for a server.
pub fn restore_overrides(
    old: &ServerFacts,
    saved: &SavedServerState,
    now: SystemTime,
) -> ServerFacts {
    let mut facts = ServerFacts { overrides: OperatorOverrides::default(), ..old.clone() };
    still_differs(&mut facts, saved);
    server_state::compute_state(&mut facts, now);
    facts
}

/// Drops commands that no longer differ from the file's values.
fn still_differs(facts: &mut ServerFacts, old: &SavedServerState) {
    if let Some(saved) = old.admin.clone().filter(|saved| saved.over == facts.config.admin) {
        let SavedOverride { value, over, by, at } = saved;
        facts.overrides.admin = Some(OperatorOverride { value, file_value: over, by, at });
    }
    if let Some(saved) = old.weight.clone().filter(|saved| saved.over == facts.config.weight.get())
    {
        let value = server_state::clamp_weight(saved.value);
        let over = facts.config.weight;
        facts.overrides.weight =
            Some(OperatorOverride { value, file_value: over, by: saved.by, at: saved.at });
    }
    facts.overrides.quiesce.clone_from(&old.quiesce);
    facts.overrides.maintenance.clone_from(&old.maintain);
    facts.overrides.against_schedule = old.despite;
}

fn remember(facts: &ServerFacts) -> SavedServerState {
    let admin = facts.overrides.admin.clone();
    let weight = facts.overrides.weight.clone();
    SavedServerState {
        pool: facts.pool_name.clone(),
        name: facts.config.name.clone(),
        address: server_text::format_address(&facts.config.address),
        admin: admin.map(|OperatorOverride { value, file_value: over, by, at }| SavedOverride {
            value,
            over,
            by,
            at,
        }),
        quiesce: facts.overrides.quiesce.clone(),
        despite: facts.overrides.against_schedule,
        maintain: facts.overrides.maintenance.clone(),
        weight: weight.map(|OperatorOverride { value, file_value: over, by, at }| SavedOverride {
            value: value.get(),
            over: over.get(),
            by,
            at,
        }),
        share: facts.share.and_then(|share| share.controller),
        judged: Some(facts.health_status.clone()),
        resolved: facts.resolved.address(),
    }
}
