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

/// The form of what is kept; another one is not understood.
pub const VERSION: u32 = 1;

/// What outlives a process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct SavedState {
    /// `VERSION`.
    pub version: u32,
    /// Servers of which something is remembered.
    pub servers: Vec<SavedServerState>,
    /// Servers that are not as the file has them.
    #[serde(default, skip_serializing_if = "ServerOverlay::is_empty")]
    pub overlay: ServerOverlay,
}

/// What is remembered of one server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct SavedServerState {
    /// Its pool's name.
    pub pool: String,
    /// Its name.
    pub name: String,
    /// Its address as configured: at another one it is another server.
    pub address: String,
    /// An operator's word about its state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub admin: Option<SavedOverride<AdminState>>,
    /// An operator's word about its weight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<SavedOverride<u16>>,
    /// It takes no new client for a while.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiesce: Option<QuiescePeriod>,
    /// A window of maintenance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maintain: Option<MaintenanceWindow>,
    /// It was enabled against what the schedule wanted.
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

/// One word.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct SavedOverride<T> {
    /// What was said.
    pub value: T,
    /// What the file said then.
    pub over: T,
    /// By whom.
    pub by: ChangeOrigin,
    /// When.
    pub at: SystemTime,
}

impl Default for SavedState {
    fn default() -> Self {
        SavedState { version: VERSION, servers: Vec::new(), overlay: ServerOverlay::default() }
    }
}

impl SavedState {
    /// Operators' words and the controller's weights: what a restart keeps.
    pub fn persistent<'a>(servers: impl Iterator<Item = &'a ServerFacts>) -> SavedState {
        let judge = |facts: &ServerFacts| facts.share.and_then(|share| share.controller);
        let all = servers.filter(|facts| {
            facts.overrides != OperatorOverrides::default() || judge(facts).is_some()
        });
        let kept = |facts| SavedServerState { share: judge(facts), ..saved_overrides(facts) };
        SavedState::sorted(all.map(kept).collect())
    }

    /// Everything: what a process that takes over starts with.
    pub fn full<'a>(servers: impl Iterator<Item = &'a ServerFacts>) -> SavedState {
        SavedState::sorted(servers.map(remember).collect())
    }

    /// With servers that are not as the file has them.
    pub fn with_overlay(self, overlay: &ServerOverlay) -> SavedState {
        SavedState { overlay: overlay.clone(), ..self }
    }

    /// What is remembered of this server.
    pub fn find_server(&self, pool: &str, config: &ServerConfig) -> Option<&SavedServerState> {
        let address = server_text::format_address(&config.address);
        let same = |it: &&SavedServerState| {
            it.pool == pool && it.name == config.name && it.address == address
        };
        self.servers.iter().find(same)
    }

    fn sorted(mut servers: Vec<SavedServerState>) -> SavedState {
        servers.sort_by(|a, b| (&a.pool, &a.name).cmp(&(&b.pool, &b.name)));
        SavedState { servers, ..SavedState::default() }
    }
}

/// Puts what is remembered into a server that is new to this process.
pub fn restore_server(facts: &mut ServerFacts, memory: &SavedState, now: SystemTime) {
    let Some(old) = memory.find_server(&facts.pool_name, &facts.config) else { return };
    still_differs(facts, old);
    facts.share = old.share.map(|judge| {
        let weight = server_state::clamp_weight(judge);
        WeightShare { controller: Some(judge), slow_start_percent: 100, weight }
    });
    if let Some(judged) = old.judged.clone().filter(|judged| judged.evidence) {
        facts.health_status = judged;
    }
    if let (Some(address), ResolvedAddress::Pending) = (old.resolved, &facts.resolved) {
        facts.resolved = ResolvedAddress::Known(address);
    }
    server_state::compute_state(facts, now);
    facts.since = if facts.health_status.evidence { facts.health_status.since } else { now };
}

/// What operators said of a server, as it is written down.
pub fn saved_overrides(facts: &ServerFacts) -> SavedServerState {
    SavedServerState { share: None, judged: None, resolved: None, ..remember(facts) }
}

/// What operators said of a server is from now on this and nothing else.
pub fn restore_overrides(
    old: &ServerFacts,
    words: &SavedServerState,
    now: SystemTime,
) -> ServerFacts {
    let mut facts = ServerFacts { overrides: OperatorOverrides::default(), ..old.clone() };
    still_differs(&mut facts, words);
    server_state::compute_state(&mut facts, now);
    facts
}

/// What was said of what the file still says.
fn still_differs(facts: &mut ServerFacts, old: &SavedServerState) {
    if let Some(said) = old.admin.clone().filter(|said| said.over == facts.config.admin) {
        let SavedOverride { value, over, by, at } = said;
        facts.overrides.admin = Some(OperatorOverride { value, file_value: over, by, at });
    }
    if let Some(said) = old.weight.clone().filter(|said| said.over == facts.config.weight.get()) {
        let value = server_state::clamp_weight(said.value);
        let over = facts.config.weight;
        facts.overrides.weight =
            Some(OperatorOverride { value, file_value: over, by: said.by, at: said.at });
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
