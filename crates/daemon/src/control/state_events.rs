//! The events of changes. It changes nothing.

use model::config::EventLevel;
use model::snapshot::ServerState;

use super::active_config::{ActiveConfig, needs_restart};
use crate::control::reconcile::applied_state::{AppliedState, ServerTransition};
use crate::control::reconcile::apply;
use crate::state::server_text::{format_address, format_utc};
use crate::state::state_snapshot::ServerFacts;
use crate::util::event::{EventFields, EventLog};
use crate::util::listeners::ListenerSet;

/// Logs that a generation is active.
pub(super) fn report_active_generation(events: &EventLog, force: &ActiveConfig, confirmed: bool) {
    let ActiveConfig { generation, origin, config, .. } = force;
    let services = config.services.len();
    let pools = config.pools.len();
    events.info(
        "applied",
        format!(
            "generation {generation} is active: {services} services, {pools} pools; by {origin}"
        ),
    );
    for key in needs_restart(&force.at_start, config) {
        let text =
            format!("{key} takes effect in the next process: restart, or upgrade with SIGUSR2");
        events.warn("needs-restart", text);
    }
    if !confirmed {
        let text = format!(
            "generation {generation}: a worker had not confirmed within {:?}",
            apply::CONFIRM_TIMEOUT
        );
        events.warn("not-confirmed", text);
    }
}

/// Logs warnings about files at the start.
pub(super) fn report_file_warnings(
    events: &EventLog,
    warnings: &[String],
    doubts: &mut Vec<String>,
) {
    report_certificate_warnings(events, warnings);
    report_cookie_warnings(events, doubts);
}

/// Logs warnings about key and certificate files.
pub(super) fn report_certificate_warnings(events: &EventLog, warnings: &[String]) {
    for warning in warnings {
        events.warn("certificate", warning.clone());
    }
}

/// Logs warnings about the secret of cookies, once.
pub(super) fn report_cookie_warnings(events: &EventLog, doubts: &mut Vec<String>) {
    for doubt in doubts.drain(..) {
        events.warn("sticky-secret", doubt);
    }
}

/// Inherited listeners that not every worker can accept on.
pub(super) fn report_fewer_sockets(
    events: &EventLog,
    applied: &AppliedState,
    listeners: &ListenerSet,
) {
    let workers = applied.worker_count();
    for (address, listener) in &applied.listeners {
        let sockets = listeners.open_at(*address);
        if sockets < workers {
            let service = &listener.service_name;
            let text = format!(
                "service.{service}: {address} came from a process with {sockets} workers: of {workers} workers only \
                 so many accept there until the next restart"
            );
            events.warn("fewer-sockets-than-workers", text);
        }
    }
}

/// A server's state changed, if it did; and with it its pool's, if that is so.
pub(super) fn report_server_state(events: &EventLog, changed: &ServerTransition) {
    let ServerTransition { old: old_facts, new: facts, eligible_before, eligible_after } = changed;
    report_ejection(events, old_facts, facts);
    if old_facts.state == facts.state {
        return;
    }
    let ServerFacts { pool_name, config, state, reason, .. } = &**facts;
    let was = old_facts.state.name();
    let is = state.name();
    let text = format!("{pool_name}/{}: {was} → {is}: {reason}", config.name);
    let (level, kind) = match state {
        ServerState::Up => (EventLevel::Info, "server-up"),
        ServerState::Down => (EventLevel::Warning, "server-down"),
        ServerState::Unknown => (EventLevel::Info, "server-unknown"),
        ServerState::Drain => (EventLevel::Info, "server-drain"),
        ServerState::Disabled => (EventLevel::Info, "server-disabled"),
    };
    let mut about = EventFields::from([
        ("pool", pool_name.clone()),
        ("server", config.name.clone()),
        ("address", format_address(&config.address)),
        ("was", was.to_owned()),
        ("state", is.to_owned()),
        ("reason", reason.clone()),
        ("left", eligible_after.to_string()),
    ]);
    about.extend(health_evidence(facts));
    events.emit(level, kind, text, about);
    pool(events, pool_name, *eligible_before, *eligible_after);
}

/// Logs that a server was ejected or readmitted.
fn report_ejection(events: &EventLog, old: &ServerFacts, new: &ServerFacts) {
    let name = format!("{}/{}", new.pool_name, new.config.name);
    let mut about = EventFields::from([
        ("pool", new.pool_name.clone()),
        ("server", new.config.name.clone()),
        ("address", format_address(&new.config.address)),
    ]);
    match (&old.ejection, &new.ejection) {
        (None, Some(ejected)) => {
            let until = format_utc(ejected.until);
            about.extend([("reason", ejected.reason.clone()), ("until", until.clone())]);
            let text = format!("{name}: {}; it comes back at {until}", ejected.reason);
            events.emit(EventLevel::Warning, "server-ejected", text, about);
        }
        (Some(_), None) => {
            let text = format!("{name}: it is not put out any more: {}", new.reason);
            events.emit(EventLevel::Info, "server-readmitted", text, about);
        }
        _ => {}
    }
}

/// The evidence behind a health verdict, if the state follows from the verdict.
fn health_evidence(facts: &ServerFacts) -> EventFields {
    let by_health =
        matches!(facts.state, ServerState::Up | ServerState::Down | ServerState::Unknown);
    let Some(note) = facts
        .health_status
        .note
        .as_ref()
        .filter(|_| by_health && facts.agent.is_none() && facts.ejection.is_none())
    else {
        return EventFields::new();
    };
    let mut about =
        EventFields::from([("saw", note.saw.clone()), ("in-a-row", note.in_a_row.to_string())]);
    about.extend(note.probe.clone().map(|probe| ("probe", probe)));
    about.extend(note.took.map(|took| ("took-us", took.as_micros().to_string())));
    about
}

/// Pools that a change left without an available server, or gave one back.
pub(super) fn report_pools(events: &EventLog, old: &AppliedState, new: &AppliedState) {
    for name in new.pools.keys().filter(|name| old.pools.contains_key(*name)) {
        pool(events, name, count_eligible(old, name), count_eligible(new, name));
    }
}

fn pool(events: &EventLog, name: &str, before: usize, after: usize) {
    let about = EventFields::from([("pool", name.to_owned()), ("left", after.to_string())]);
    if before > 0 && after == 0 {
        let text = format!("{name}: no server is available any more");
        events.emit(EventLevel::Warning, "pool-empty", text, about);
    } else if before == 0 && after > 0 {
        events.emit(
            EventLevel::Info,
            "pool-back",
            format!("{name}: a server is available again"),
            about,
        );
    }
}

/// Servers of a pool that take work, or would if none were up.
fn count_eligible(applied: &AppliedState, pool: &str) -> usize {
    let servers = applied.pools.get(pool).map_or(&[][..], |view| &view.servers);
    servers.iter().filter(|server| server.takes_work()).count()
}
