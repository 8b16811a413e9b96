//! The state of a server: what the operator, the schedule, the resolver, health checks and the agent come to.

use std::time::SystemTime;

use model::config::{AdminState, ScheduleRule};
use model::snapshot::ServerState;

use crate::state::server_text::format_utc;
use crate::state::state_snapshot::{
    HealthState, HealthStatus, MaintenanceWindow, QuiescePeriod, ResolvedAddress, ServerEjection,
    ServerFacts,
};

/// The state that the file and operators request, apart from maintenance windows.
pub fn wanted_state(facts: &ServerFacts) -> AdminState {
    facts.overrides.admin.as_ref().map_or(facts.config.admin, |command| command.value)
}

/// The state that follows from all of it.
pub(crate) fn compute_state(facts: &mut ServerFacts, now: SystemTime) {
    let hand = facts.overrides.admin.as_ref();
    let by = hand.map_or_else(|| "by the file".to_owned(), |command| format!("by {}", command.by));
    let window = facts.overrides.maintenance.as_ref().filter(|window| window.is_open(now));
    let (state, reason) = match wanted_state(facts) {
        AdminState::Enabled | AdminState::Drain if window.is_some() => {
            (ServerState::Disabled, window.map(maintenance_state).unwrap_or_default())
        }
        AdminState::Disabled => (ServerState::Disabled, format!("disabled {by}")),
        AdminState::Drain => (ServerState::Drain, format!("drained {by}")),
        AdminState::Enabled if facts.overrides.quiesce.is_some() => {
            let quiesced = |quiesce: &QuiescePeriod| quiesce_state(quiesce, &facts.health_status);
            (ServerState::Drain, facts.overrides.quiesce.as_ref().map(quiesced).unwrap_or_default())
        }
        AdminState::Enabled if facts.scheduled.is_some() && !facts.overrides.against_schedule => {
            let until = facts.scheduled_affinity_until.filter(|until| *until > now);
            let by_clock = |rule: &ScheduleRule| scheduled_state(rule, until);
            facts.scheduled.as_ref().map_or((ServerState::Drain, String::new()), by_clock)
        }
        AdminState::Enabled => match &facts.resolved {
            ResolvedAddress::Pending => {
                (ServerState::Unknown, "its name is being looked up".to_owned())
            }
            ResolvedAddress::Failed(why) => (ServerState::Down, why.clone()),
            ResolvedAddress::Known(_) => match health_or_agent_state(facts) {
                (ServerState::Up | ServerState::Unknown, _) if facts.ejection.is_some() => (
                    ServerState::Down,
                    facts.ejection.as_ref().map(ejected_state).unwrap_or_default(),
                ),
                other => other,
            },
        },
    };
    if facts.state != state {
        facts.since = now;
    }
    facts.state = state;
    facts.reason = reason;
    facts.affinity_until = affinity_until(facts, now);
    facts.weight =
        facts.overrides.weight.as_ref().map_or(facts.config.weight, |command| command.value);
}

/// The time until which clients with affinity may reach a draining server. A server that is down accepts no client.
fn affinity_until(facts: &ServerFacts, now: SystemTime) -> Option<SystemTime> {
    let told_off = facts
        .agent
        .as_ref()
        .is_some_and(|wish| matches!(wish.state, ServerState::Down | ServerState::Disabled));
    let works =
        facts.health_status.health != HealthState::Down && facts.ejection.is_none() && !told_off;
    if facts.state != ServerState::Drain || wanted_state(facts) != AdminState::Enabled || !works {
        return None;
    }
    let by_clock = facts
        .scheduled_affinity_until
        .filter(|_| facts.scheduled.is_some() && !facts.overrides.against_schedule);
    let until = facts.overrides.quiesce.as_ref().map_or(by_clock, |quiesce| Some(quiesce.until));
    until.filter(|until| *until > now)
}

/// The state by health and agent.
fn health_or_agent_state(facts: &ServerFacts) -> (ServerState, String) {
    match &facts.agent {
        // An agent may lower the state that health allows, but never raise it.
        Some(wish) if facts.health_status.health != HealthState::Down => {
            (wish.state, wish.reason.clone())
        }
        _ => (operator_state(facts.health_status.health), facts.health_status.reason.clone()),
    }
}

fn ejected_state(ejected: &ServerEjection) -> String {
    format!("{}; until {}", ejected.reason, format_utc(ejected.until))
}

fn scheduled_state(rule: &ScheduleRule, until: Option<SystemTime>) -> (ServerState, String) {
    let stay = |until| format!("; clients that it has may stay until {}", format_utc(until));
    let stay = until.map(stay).unwrap_or_default();
    match rule.what {
        AdminState::Disabled => {
            (ServerState::Disabled, format!("disabled by schedule {}", rule.hours))
        }
        _ => (ServerState::Drain, format!("drained by schedule {}{stay}", rule.hours)),
    }
}

fn maintenance_state(window: &MaintenanceWindow) -> String {
    let until = window.until.map(|until| format!(" until {}", format_utc(until)));
    let why = if window.reason.is_empty() { String::new() } else { format!(": {}", window.reason) };
    format!("in maintenance{} by {}{why}", until.unwrap_or_default(), window.by)
}

fn quiesce_state(quiesce: &QuiescePeriod, health_status: &HealthStatus) -> String {
    let until = format_utc(quiesce.until);
    if health_status.health == HealthState::Down {
        let by = &quiesce.by;
        let why = &health_status.reason;
        return format!("takes no new client by {by} until {until}, and keeps none: {why}");
    }
    format!("takes no new client by {}; those that it has may stay until {until}", quiesce.by)
}

fn operator_state(health: HealthState) -> ServerState {
    match health {
        HealthState::Up => ServerState::Up,
        HealthState::Down => ServerState::Down,
        HealthState::Unknown => ServerState::Unknown,
    }
}
