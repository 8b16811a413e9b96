//! What is known of a server, and what it comes to: file, operator, name, agent and health, in that order of rank.
//! Pure.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use model::calendar::CivilDateTime;
use model::config::{
    AdminState, InitialState, PoolConfig, ScheduleRule, ServerAddress, ServerConfig, ServerHost,
    ServerWeight,
};
use model::id::{PoolId, ServerId};
use model::schedule;
use model::snapshot::ServerState;

use crate::state::change::HealthReport;
use crate::state::origin::ChangeOrigin;
use crate::state::server_command::OperatorCommand;
use crate::state::state_snapshot::{
    HealthState, HealthStatus, MaintenanceWindow, OperatorOverride, OperatorOverrides,
    QuiescePeriod, ResolvedAddress, ServerEjection, ServerFacts,
};
use crate::util::wall_clock::ClockStep;

/// A server that was not there before.
pub fn new_server_facts(
    id: ServerId,
    pool_id: PoolId,
    pool: &PoolConfig,
    config: &Arc<ServerConfig>,
    now: SystemTime,
) -> ServerFacts {
    let resolved = match &config.address.host {
        ServerHost::Ip(ip) => ResolvedAddress::Known((*ip, config.address.port).into()),
        ServerHost::Name(_) => ResolvedAddress::Pending,
    };
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

/// The same server under a new configuration. A word of an operator ends where the file's own word changed;
/// evidence of a probe ends with the probe.
pub fn reconfigure(
    old: &ServerFacts,
    pool: &PoolConfig,
    config: &Arc<ServerConfig>,
    now: SystemTime,
) -> ServerFacts {
    let mut facts = old.clone();
    let probed_before = old.config.probe.is_some();
    facts.config = Arc::clone(config);
    facts.overrides.admin.take_if(|word| word.file_value != config.admin);
    facts.overrides.weight.take_if(|word| word.file_value != config.weight);
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

/// After an operator's word.
pub fn apply_command(
    old: &ServerFacts,
    word: OperatorCommand,
    by: ChangeOrigin,
    now: SystemTime,
) -> ServerFacts {
    let mut facts = old.clone();
    let admin = |value| discard_redundant(value, old.config.admin, &by, now);
    match word {
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
            // The last order counts: one that drained it, or took it out, is over.
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
        // At a start the clock's word is read again, and what was said against it stands.
        facts.overrides.against_schedule &= old.scheduled.is_none() && facts.scheduled.is_some();
    }
    facts.overrides.maintenance.take_if(|window| window.is_over(now));
    end_quiesce(&mut facts, now, |quiesce| quiesce.until <= now);
    compute_state(&mut facts, now);
    (facts != *old).then_some(facts)
}

/// After the clock was set: what lasts for a time lasts so long.
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

/// After the last of its clients has gone: a quiesce becomes a drain. `None`: it is not quiesced.
pub fn apply_clients_gone(old: &ServerFacts, now: SystemTime) -> Option<ServerFacts> {
    let mut facts = old.clone();
    end_quiesce(&mut facts, now, |_| true);
    compute_state(&mut facts, now);
    (facts != *old).then_some(facts)
}

fn end_quiesce(facts: &mut ServerFacts, now: SystemTime, ends: impl Fn(&QuiescePeriod) -> bool) {
    let stands = wanted_state(facts) == AdminState::Enabled;
    if let Some(QuiescePeriod { by, .. }) = facts.overrides.quiesce.take_if(|it| ends(it))
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
    // By whole seconds, so that each tick comes to the same moment.
    let seconds = now.duration_since(UNIX_EPOCH).ok()?.as_secs();
    Some(UNIX_EPOCH + Duration::from_secs(seconds) + left)
}

/// What the file and operators want of a server, windows apart.
pub fn wanted_state(facts: &ServerFacts) -> AdminState {
    facts.overrides.admin.as_ref().map_or(facts.config.admin, |word| word.value)
}

/// A server in a few words, as the record of orders has it.
pub fn describe_server(facts: &ServerFacts) -> String {
    let address = format_address(&facts.config.address);
    let state = facts.state.name();
    let weight = facts.weight.get();
    format!("{state}, weight {weight}, at {address}: {}", facts.reason)
}

/// A moment as people read it, in UTC.
pub fn format_utc(at: SystemTime) -> String {
    let seconds = at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    format!("{}Z", CivilDateTime::from_unix_seconds(i64::try_from(seconds).unwrap_or(i64::MAX / 2)))
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

/// After it was put out for what it answered, or came back.
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

/// After its agent said something, or fell silent.
pub fn apply_agent_report(
    old: &ServerFacts,
    said: Option<(ServerState, String)>,
    now: SystemTime,
) -> ServerFacts {
    let mut facts = old.clone();
    facts.agent = said;
    compute_state(&mut facts, now);
    facts
}

/// After its name was looked up. A name that no longer resolves keeps the address that it had: a resolver that is
/// out must not take servers away.
pub fn apply_resolution(
    old: &ServerFacts,
    found: Result<std::net::SocketAddr, String>,
    now: SystemTime,
) -> ServerFacts {
    let mut facts = old.clone();
    match found {
        Ok(address) => facts.resolved = ResolvedAddress::Known(address),
        Err(why) if old.resolved.address().is_none() => {
            facts.resolved = ResolvedAddress::Failed(why)
        }
        Err(_) => {}
    }
    compute_state(&mut facts, now);
    facts
}

/// A configured address, as it is written.
pub fn format_address(address: &ServerAddress) -> String {
    match &address.host {
        ServerHost::Ip(ip) => std::net::SocketAddr::new(*ip, address.port).to_string(),
        ServerHost::Name(name) => format!("{name}:{}", address.port),
    }
}

/// What all of it comes to.
pub(crate) fn compute_state(facts: &mut ServerFacts, now: SystemTime) {
    let hand = facts.overrides.admin.as_ref();
    let by = hand.map_or_else(|| "by the file".to_owned(), |word| format!("by {}", word.by));
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
    facts.weight = facts.overrides.weight.as_ref().map_or(facts.config.weight, |word| word.value);
}

/// Until when clients that are kept at it may come although it drains. A server that is down keeps nobody.
fn affinity_until(facts: &ServerFacts, now: SystemTime) -> Option<SystemTime> {
    let told_off = matches!(facts.agent, Some((ServerState::Down | ServerState::Disabled, _)));
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

/// What its health and its agent come to.
fn health_or_agent_state(facts: &ServerFacts) -> (ServerState, String) {
    match &facts.agent {
        // It may want less than its health allows, never more.
        Some((said, why)) if facts.health_status.health != HealthState::Down => {
            (*said, why.clone())
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

fn quiesce_state(quiesce: &QuiescePeriod, judged: &HealthStatus) -> String {
    let until = format_utc(quiesce.until);
    if judged.health == HealthState::Down {
        let by = &quiesce.by;
        let why = &judged.reason;
        return format!("takes no new client by {by} until {until}, and keeps none: {why}");
    }
    format!("takes no new client by {}; those that it has may stay until {until}", quiesce.by)
}

fn initial_state(pool: &PoolConfig, now: SystemTime) -> HealthStatus {
    let reason = match pool.initial {
        InitialState::Up => "taken as up until something shows otherwise",
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

fn operator_state(health: HealthState) -> ServerState {
    match health {
        HealthState::Up => ServerState::Up,
        HealthState::Down => ServerState::Down,
        HealthState::Unknown => ServerState::Unknown,
    }
}

/// A word that says what the file says is none.
fn discard_redundant<T: PartialEq>(
    value: T,
    over: T,
    by: &ChangeOrigin,
    at: SystemTime,
) -> Option<OperatorOverride<T>> {
    (value != over).then(|| OperatorOverride { value, file_value: over, by: by.clone(), at })
}

/// A weight from a number kept elsewhere; beyond the largest it is the largest.
pub(crate) fn clamp_weight(number: u16) -> ServerWeight {
    ServerWeight::new(number.min(ServerWeight::MAX)).unwrap_or(ServerWeight::ONE)
}
