//! The facts of a server and the changes of them. Pure.
//!
//! The state follows from the file, the operator, the resolved name, the agent and health, in that order of rank.

mod computed_state;

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use model::config::{
    AdminState, InitialState, PoolConfig, ScheduleRule, ServerConfig, ServerWeight,
};
use model::id::{PoolId, ServerId};
use model::schedule;
use model::snapshot::ServerState;

use crate::state::change::HealthReport;
use crate::state::origin::ChangeOrigin;
use crate::state::server_command::OperatorCommand;
use crate::state::state_snapshot::{
    AgentRequestedState, HealthState, HealthStatus, MaintenanceWindow, OperatorOverride,
    OperatorOverrides, QuiescePeriod, ResolvedAddress, ServerEjection, ServerFacts,
};
use crate::util::wall_clock::ClockStep;

pub(crate) use computed_state::compute_state;
pub use computed_state::wanted_state;

/// A server that was not there before.
pub fn new_server_facts(
    id: ServerId,
    pool_id: PoolId,
    pool: &PoolConfig,
    config: &Arc<ServerConfig>,
    now: SystemTime,
) -> ServerFacts {
    let resolved =
        config.address.endpoint().map_or(ResolvedAddress::Pending, ResolvedAddress::Known);
    let mut facts = ServerFacts {
        id,
        pool: pool_id,
        pool_name: pool.name.clone(),
        config: Arc::clone(config),
        resolved,
        health_status: initial_state(pool, now),
        ejection: None,
        agent: None,
        overrides: OperatorOverrides::default(),
        scheduled: None,
        scheduled_affinity_until: None,
        affinity_until: None,
        state: ServerState::Unknown,
        reason: String::new(),
        since: now,
        weight: config.weight,
        share: None,
    };
    compute_state(&mut facts, now);
    facts.since = now;
    facts
}

/// The same server under a new configuration. An operator's command ends if the file's value for the same setting
/// changed; evidence of a probe ends with the probe.
pub fn reconfigure(
    old: &ServerFacts,
    pool: &PoolConfig,
    config: &Arc<ServerConfig>,
    now: SystemTime,
) -> ServerFacts {
    let mut facts = old.clone();
    let probed_before = old.config.probe.is_some();
    facts.config = Arc::clone(config);
    facts.overrides.admin.take_if(|command| command.file_value != config.admin);
    facts.overrides.weight.take_if(|command| command.file_value != config.weight);
    let untested =
        config.probe.is_none() && probed_before && old.health_status.health != HealthState::Up;
    if untested
        || (!facts.health_status.evidence
            && facts.health_status.health != health_reason(pool.initial))
    {
        facts.health_status = initial_state(pool, now);
    }
    compute_state(&mut facts, now);
    facts
}

/// The state after an operator's command.
pub fn apply_command(
    old: &ServerFacts,
    command: OperatorCommand,
    by: ChangeOrigin,
    now: SystemTime,
) -> ServerFacts {
    let mut facts = old.clone();
    let admin = |value| discard_redundant(value, old.config.admin, &by, now);
    match command {
        OperatorCommand::Enable => {
            facts.overrides.admin = admin(AdminState::Enabled);
            facts.overrides.quiesce = None;
            facts.overrides.maintenance = None;
            facts.overrides.against_schedule = facts.scheduled.is_some();
        }
        OperatorCommand::Drain => {
            facts.overrides.admin = admin(AdminState::Drain);
            facts.overrides.quiesce = None;
        }
        OperatorCommand::Disable | OperatorCommand::Cut => {
            facts.overrides.admin = admin(AdminState::Disabled);
            facts.overrides.quiesce = None;
        }
        OperatorCommand::Quiesce(limit) => {
            // The last order counts: a quiesce ends an earlier drain or disable.
            facts.overrides.admin = admin(AdminState::Enabled);
            facts.overrides.quiesce = Some(QuiescePeriod { until: now + limit, by, at: now });
        }
        OperatorCommand::Maintain { from, until, reason } => {
            let from = from.unwrap_or(now);
            facts.overrides.maintenance =
                Some(MaintenanceWindow { from, until, reason, by, at: now });
        }
        OperatorCommand::Weight(weight) => {
            facts.overrides.weight = discard_redundant(weight, old.config.weight, &by, now);
        }
        OperatorCommand::Add { .. } | OperatorCommand::Remove => {}
    }
    compute_state(&mut facts, now);
    facts
}

/// After time has passed: windows open and close, a quiesce becomes a drain. `None`: nothing of that.
pub fn apply_tick(old: &ServerFacts, now: SystemTime, local_seconds: i64) -> Option<ServerFacts> {
    let scheduled = !old.config.schedule.is_empty() || old.scheduled.is_some();
    if old.overrides.quiesce.is_none() && old.overrides.maintenance.is_none() && !scheduled {
        return None;
    }
    let mut facts = old.clone();
    facts.scheduled = schedule::active_rule(&old.config.schedule, local_seconds).copied();
    facts.scheduled_affinity_until =
        facts.scheduled.and_then(|rule| scheduled_affinity_until(&rule, now, local_seconds));
    if facts.scheduled != old.scheduled {
        // At a start the schedule is evaluated for the first time, so a command against it stays.
        facts.overrides.against_schedule &= old.scheduled.is_none() && facts.scheduled.is_some();
    }
    facts.overrides.maintenance.take_if(|window| window.is_over(now));
    end_quiesce(&mut facts, now, |quiesce| quiesce.until <= now);
    compute_state(&mut facts, now);
    (facts != *old).then_some(facts)
}

/// The state after the clock was set: limits by duration retain their duration.
pub fn apply_clock_step(old: &ServerFacts, step: ClockStep, now: SystemTime) -> ServerFacts {
    let mut facts = old.clone();
    if let Some(quiesce) = &mut facts.overrides.quiesce {
        quiesce.until = step.adjust(quiesce.until);
        quiesce.at = step.adjust(quiesce.at);
    }
    if let Some(ejected) = &mut facts.ejection {
        ejected.until = step.adjust(ejected.until);
    }
    compute_state(&mut facts, now);
    facts
}

/// The state after the last client has disconnected: a quiesce becomes a drain. `None`: the server is not quiesced.
pub fn apply_clients_gone(old: &ServerFacts, now: SystemTime) -> Option<ServerFacts> {
    let mut facts = old.clone();
    end_quiesce(&mut facts, now, |_| true);
    compute_state(&mut facts, now);
    (facts != *old).then_some(facts)
}

fn end_quiesce(facts: &mut ServerFacts, now: SystemTime, ends: impl Fn(&QuiescePeriod) -> bool) {
    let stands = wanted_state(facts) == AdminState::Enabled;
    if let Some(QuiescePeriod { by, .. }) = facts.overrides.quiesce.take_if(|quiesce| ends(quiesce))
        && stands
    {
        facts.overrides.admin = discard_redundant(AdminState::Drain, facts.config.admin, &by, now);
    }
}

/// Until when clients that a scheduled drain finds at a server may come.
fn scheduled_affinity_until(
    rule: &ScheduleRule,
    now: SystemTime,
    local_seconds: i64,
) -> Option<SystemTime> {
    let sticky = rule.sticky.filter(|_| rule.what == AdminState::Drain)?;
    let passed = u64::try_from(local_seconds - schedule::opened_at(rule, local_seconds)).ok()?;
    let left = sticky.checked_sub(Duration::from_secs(passed)).filter(|left| !left.is_zero())?;
    // By whole seconds, so that every tick computes the same moment.
    let seconds = now.duration_since(UNIX_EPOCH).ok()?.as_secs();
    Some(UNIX_EPOCH + Duration::from_secs(seconds) + left)
}

pub fn apply_verdict(old: &ServerFacts, verdict: HealthReport, now: SystemTime) -> ServerFacts {
    let HealthReport { health, reason, note, .. } = verdict;
    let mut facts = old.clone();
    let stood = old.health_status.evidence && old.health_status.health == health;
    let since = if stood { old.health_status.since } else { now };
    facts.health_status = HealthStatus { health, reason, since, evidence: true, note };
    compute_state(&mut facts, now);
    facts
}

/// The state after an ejection or a readmission.
pub fn apply_ejection(
    old: &ServerFacts,
    ejected: Option<ServerEjection>,
    now: SystemTime,
) -> ServerFacts {
    let mut facts = old.clone();
    facts.ejection = ejected;
    compute_state(&mut facts, now);
    facts
}

/// The state after its agent reported, or was lost.
pub fn apply_agent_report(
    old: &ServerFacts,
    wanted: Option<AgentRequestedState>,
    now: SystemTime,
) -> ServerFacts {
    let mut facts = old.clone();
    facts.agent = wanted;
    compute_state(&mut facts, now);
    facts
}

/// The state after a look-up of its name. A name that no longer resolves retains its last address, because a failing
/// resolver must not remove servers.
pub fn apply_resolution(
    old: &ServerFacts,
    result: Result<std::net::SocketAddr, String>,
    now: SystemTime,
) -> ServerFacts {
    let mut facts = old.clone();
    match result {
        Ok(address) => facts.resolved = ResolvedAddress::Known(address.into()),
        Err(why) if old.resolved.endpoint().is_none() => {
            facts.resolved = ResolvedAddress::Failed(why)
        }
        Err(_) => {}
    }
    compute_state(&mut facts, now);
    facts
}

fn initial_state(pool: &PoolConfig, now: SystemTime) -> HealthStatus {
    let reason = match pool.initial {
        InitialState::Up => "assumed up until a health check or traffic shows otherwise",
        InitialState::Unknown => "no evidence yet",
        InitialState::Down => "down until its probe has succeeded often enough",
    };
    let health = health_reason(pool.initial);
    HealthStatus { health, reason: reason.to_owned(), since: now, evidence: false, note: None }
}

fn health_reason(initial: InitialState) -> HealthState {
    match initial {
        InitialState::Up => HealthState::Up,
        InitialState::Unknown => HealthState::Unknown,
        InitialState::Down => HealthState::Down,
    }
}

/// Drops a command that equals the file's value.
fn discard_redundant<T: PartialEq>(
    value: T,
    over: T,
    by: &ChangeOrigin,
    at: SystemTime,
) -> Option<OperatorOverride<T>> {
    (value != over).then(|| OperatorOverride { value, file_value: over, by: by.clone(), at })
}

/// A weight from a stored number, limited to the largest weight.
pub(crate) fn clamp_weight(number: u16) -> ServerWeight {
    ServerWeight::new(number.min(ServerWeight::MAX)).unwrap_or(ServerWeight::ONE)
}
