//! The state of one server and the evidence that decided it. Pure.

use api::types::{
    CheckEvidence, ErrorCounts, Evidence, PlannedMaintenance, ServerStatus, Source, StickyClients,
};
use model::config::AdminState;
use model::snapshot::{ServerState, ServerView};
use model::stats::ServerCounters;

use crate::planes::draining_clients::counts::RemainingClients;
use crate::state::evidence::EvidenceEntry;
use crate::state::{HealthState, MaintenanceWindow, ResolvedAddress, ServerFacts};
use crate::util::local_time::format_local;
use crate::util::wall_clock::unix_ms;

/// Its state, without its errors.
pub(super) fn server_status(
    view: &ServerView,
    facts: &ServerFacts,
    note: Option<EvidenceEntry>,
    left: Option<RemainingClients>,
    now_unix_ms: u64,
) -> ServerStatus {
    let sticky_clients = facts.affinity_until.map(|until| StickyClients {
        until_unix_ms: unix_ms(until),
        clients: left.map(|left| left.clients),
        uncounted: left.is_some_and(|left| left.uncounted),
    });
    let mut reason = deciding_evidence(view, facts, note);
    reason.text.push_str(
        &sticky_clients.map(|clients| remaining_clients_text(&clients)).unwrap_or_default(),
    );
    let window = facts.overrides.maintenance.as_ref();
    if let Some(planned) = window.filter(|window| unix_ms(window.from) > now_unix_ms) {
        reason.text.push_str(&planned_maintenance_text(planned));
    }
    let assumed = view.state == ServerState::Up && reason.source == Source::Configuration;
    ServerStatus {
        name: view.config.name.clone(),
        address: facts.config.address.to_string(),
        resolved: view.socket_address(),
        state: view.state,
        admin: facts.overrides.admin.as_ref().map_or(facts.config.admin, |word| word.value),
        weight: view.weight.get(),
        configured_weight: facts.config.weight.get(),
        since_unix_ms: unix_ms(facts.since),
        reason,
        in_flight: view.stats.in_flight.get(),
        connections: view.stats.connections.get(),
        max_connections: facts.config.connections,
        errors: ErrorCounts::default(),
        assumed,
        sticky_clients,
        maintenance: window.map(|window| PlannedMaintenance {
            from_unix_ms: unix_ms(window.from),
            until_unix_ms: window.until.map(unix_ms),
            reason: window.reason.clone(),
            who: window.by.to_string(),
        }),
    }
}

/// A window that is to come, as it is added to the reason of the state.
fn planned_maintenance_text(window: &MaintenanceWindow) -> String {
    let until = window.until.map_or("it is enabled".to_owned(), format_local);
    let why = if window.reason.is_empty() { "" } else { ": " };
    format!("; maintenance from {} until {until}{why}{}", format_local(window.from), window.reason)
}

/// How many clients are left, as it is added to why a server drains.
fn remaining_clients_text(sticky: &StickyClients) -> String {
    match (sticky.clients, sticky.uncounted) {
        (None, _) => String::new(),
        (Some(1), false) => "; 1 is left".to_owned(),
        (Some(clients), false) => format!("; {clients} are left"),
        (Some(0), true) => "; how many are left is not counted".to_owned(),
        (Some(clients), true) => format!("; at least {clients} are left"),
    }
}

/// The evidence that decided the state: an operator's command first, then the resolver, then health checks.
fn deciding_evidence(
    view: &ServerView,
    facts: &ServerFacts,
    note: Option<EvidenceEntry>,
) -> Evidence {
    let of = |source, text: &str, at| Evidence {
        source,
        text: text.to_owned(),
        at_unix_ms: unix_ms(at),
        check: None,
    };
    if let Some(word) =
        facts.overrides.admin.as_ref().filter(|word| word.value != AdminState::Enabled)
    {
        return of(Source::Operator, &facts.reason, word.at);
    }
    let by_hand = facts.overrides.maintenance.is_some() || facts.overrides.quiesce.is_some();
    if !by_hand
        && facts.config.admin == AdminState::Enabled
        && let Some(wish) = facts.agent.as_ref().filter(|wish| wish.state == facts.state)
    {
        return of(Source::Agent, &wish.reason, facts.since);
    }
    if matches!(facts.state, ServerState::Drain | ServerState::Disabled) {
        let source = if by_hand { Source::Operator } else { Source::Configuration };
        return of(source, &facts.reason, facts.since);
    }
    if !matches!(facts.resolved, ResolvedAddress::Known(_)) {
        return of(Source::Resolver, &facts.reason, facts.since);
    }
    if facts.ejection.is_some() && facts.health_status.health != HealthState::Down {
        return of(Source::Traffic, &facts.reason, facts.since);
    }
    match note.or_else(|| facts.health_status.note.clone()) {
        Some(note) => Evidence {
            check: Some(evidence_text(&note)),
            ..of(source(&note), &note.describe(), note.at)
        },
        None if facts.health_status.evidence => {
            of(Source::Probe, &facts.health_status.reason, facts.health_status.since)
        }
        None => match traffic_evidence(view) {
            Some(text) => of(Source::Traffic, &text, facts.since),
            None => of(Source::Configuration, &facts.reason, facts.since),
        },
    }
}

fn source(note: &EvidenceEntry) -> Source {
    if note.probe.is_some() { Source::Probe } else { Source::Traffic }
}

fn evidence_text(note: &EvidenceEntry) -> CheckEvidence {
    let EvidenceEntry { probe, saw, took, good, in_a_row, at: _ } = note.clone();
    CheckEvidence {
        probe,
        result: saw,
        duration_us: took.map(|took| u64::try_from(took.as_micros()).unwrap_or(u64::MAX)),
        passed: good,
        consecutive: in_a_row,
    }
}

/// Results of clients' connections if none reported trouble; `None`: there were no connections.
fn traffic_evidence(view: &ServerView) -> Option<String> {
    let sum = |of: fn(&ServerCounters) -> u64| -> u64 {
        view.stats.slots.iter().map(|slot| of(&slot.counters)).sum()
    };
    let tried = sum(|it| it.connects.get());
    let failed = sum(|it| it.connect_failed.get());
    let made = tried.saturating_sub(failed);
    (made > 0).then(|| format!("{made} of {tried} connections for clients were made"))
}
