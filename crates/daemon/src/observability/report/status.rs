//! State snapshot → states of services and pools, each with its reason and since when. Pure.
//!
//! What a service can do follows from its servers. The state of a server is in `server_status`.

use std::time::SystemTime;

use api::types::{
    Draining, Drift, ErrorCounts, PoolStatus, ServerStatus, ServiceState, ServiceStatus, Status,
};
use model::circuit_breaker::breaker_clock_ms;
use model::config::AllDownPolicy;
use model::exchange_error::ErrorLevel;
use model::snapshot::{PoolView, ServerState, ServerView, ServiceView};

use super::breakers::ReportClocks;
use super::error_window::WindowErrors;
use super::forwarding_name;
use super::report_sources::ProcessFacts;
use super::server_status::server_status;
use super::{breakers, certificates, standing_alarms};
use crate::state::evidence::EvidenceEntry;
use crate::state::{ServerFacts, StateSnapshot};
use crate::util::bpf_pins;
use crate::util::wall_clock::unix_ms;

/// Operators are warned below this number of free source ports. A thousand new connections a second use them up within
/// a second.
const PORTS_LOW: u32 = 1_000;

/// Everything's state. `note` finds the newest evidence of a server.
pub fn build_status(
    snapshot: &StateSnapshot,
    facts: &ProcessFacts,
    note: impl Fn(&ServerFacts) -> Option<EvidenceEntry>,
    now: SystemTime,
) -> Status {
    let [now_unix_ms, since_unix_ms] = [now, snapshot.started].map(unix_ms);
    let mut services: Vec<_> =
        snapshot.snapshot.services.values().map(|view| service(snapshot, facts, view)).collect();
    services.sort_by(|a, b| a.name.cmp(&b.name));
    let clocks =
        ReportClocks { workers: breaker_clock_ms(facts.open_counts.now), unix_ms: now_unix_ms };
    let one = |view| pool(snapshot, clocks, facts, view, &note);
    let mut pools: Vec<_> = snapshot.snapshot.pools.values().map(|view| one(view)).collect();
    pools.sort_by(|a, b| a.name.cmp(&b.name));
    let mut status = Status {
        version: env!("CARGO_PKG_VERSION").into(),
        generation: snapshot.generation,
        now_unix_ms,
        since_unix_ms,
        uptime_ms: now_unix_ms.saturating_sub(since_unix_ms),
        pid: std::process::id(),
        workers: u32::try_from(snapshot.workers).unwrap_or(u32::MAX),
        draining: draining(snapshot, &services, facts),
        alarms: Vec::new(),
        more_alarms: 0,
        error_interval_ms: u64::try_from(facts.errors.interval.as_millis()).unwrap_or(u64::MAX),
        services,
        pools,
        packets: super::packets::status(&facts.packets, snapshot),
        vrrp: super::vrrp::status(&facts.vrrp),
        heartbeats: super::heartbeat::status(&facts.vrrp),
        links: super::links::status(&facts.links),
        uplinks: super::uplinks::status(&facts.uplinks),
        mptcp: super::mptcp::status(&facts.mptcp),
        names: super::names::status(&facts.names),
        pins: bpf_pins::persistence_warnings(&snapshot.config),
        drift: snapshot.drift.as_deref().cloned(),
        warnings: warnings(snapshot, facts, now),
    };
    standing_alarms::add_alarms(&mut status, snapshot, facts);
    status
}

fn service(snapshot: &StateSnapshot, facts: &ProcessFacts, view: &ServiceView) -> ServiceStatus {
    let recent = facts.errors.service(view.id);
    let failing = recent.raised.filter(|raised| raised.level == ErrorLevel::Red);
    let ServiceCondition { state, reason } =
        service_condition(snapshot, facts, view).with_errors(&recent);
    let flows = facts.packets.flows.get(&view.config.name).map_or(0, |one| u64::from(one.flows));
    let servers = snapshot.snapshot.pools.get(&view.pool).map_or(&[][..], |pool| &pool.servers);
    let changed = servers
        .iter()
        .filter_map(|server| snapshot.servers.get(&server.id))
        .map(|facts| facts.since)
        .max();
    ServiceStatus {
        name: view.config.name.clone(),
        forward: forwarding_name(view.config.forward),
        listen: listen_addresses(view),
        pool: view.config.pool.clone(),
        state,
        reason,
        since_unix_ms: failing
            .map_or_else(|| unix_ms(changed.unwrap_or(snapshot.started)), |it| it.since_unix_ms),
        open: u64::from(view.stats.open_connections.get()) + flows,
        in_flight: u64::from(view.stats.in_flight.get()) + flows,
        errors: recent.counts,
        certificates: certificates::service_certificates(snapshot, &view.config.name),
        objectives: facts.slo.objectives(view.id),
    }
}

/// Where a service listens, as it would be written.
fn listen_addresses(view: &ServiceView) -> Vec<String> {
    match &view.config.packets {
        Some(packets) => packets.listen.iter().map(ToString::to_string).collect(),
        None => view.config.listen.iter().map(ToString::to_string).collect(),
    }
}

/// The state of a service with its reason.
struct ServiceCondition {
    state: ServiceState,
    reason: String,
}

impl ServiceCondition {
    fn new(state: ServiceState, reason: impl Into<String>) -> ServiceCondition {
        ServiceCondition { state, reason: reason.into() }
    }

    /// Servers that take work and answer with errors do not make a service that is up.
    fn with_errors(self, recent: &WindowErrors) -> ServiceCondition {
        let Some(raised) = recent.raised else { return self };
        let percent = recent.counts.percent.unwrap_or(100.0);
        let reason = format!("{}; {percent:.1} % errors", self.reason);
        match (self.state, raised.level) {
            (ServiceState::Up, ErrorLevel::Red) => {
                ServiceCondition::new(ServiceState::Degraded, reason)
            }
            (state, _) => ServiceCondition::new(state, reason),
        }
    }
}

fn service_condition(
    snapshot: &StateSnapshot,
    facts: &ProcessFacts,
    view: &ServiceView,
) -> ServiceCondition {
    if snapshot.shutting_down {
        return ServiceCondition::new(ServiceState::Draining, "the process is on its way out");
    }
    if view.config.packets.is_some()
        && let Some(obstacle) =
            super::packets::forwarding_obstacle(&facts.packets, &view.config.name)
    {
        return ServiceCondition::new(ServiceState::Down, obstacle);
    }
    let missing =
        view.config.listen.iter().find(|address| !snapshot.listeners.contains_key(address));
    if let Some(address) = missing {
        return ServiceCondition::new(ServiceState::Down, format!("not listening on {address}"));
    }
    let Some(pool) = snapshot.snapshot.pools.get(&view.pool) else {
        return ServiceCondition::new(
            ServiceState::Down,
            format!("pool {} is not active", view.config.pool),
        );
    };
    pool_condition(snapshot, pool)
}

/// The state of a pool as a listening service sees it.
fn pool_condition(snapshot: &StateSnapshot, pool: &PoolView) -> ServiceCondition {
    let wanted: Vec<&ServerView> = pool
        .servers
        .iter()
        .filter(|server| {
            !matches!(server.state, ServerState::Drain | ServerState::Disabled)
                && server.weight.get() > 0
        })
        .collect();
    let takes = |state| {
        wanted.iter().filter(|server| server.state == state && server.address.is_some()).count()
    };
    let up = takes(ServerState::Up);
    let unknown = takes(ServerState::Unknown);
    let few = |n: usize| if n == 1 { "1 server".to_owned() } else { format!("{n} servers") };
    if wanted.is_empty() {
        return ServiceCondition::new(
            ServiceState::Down,
            format!(
                "every server of pool {} is drained, disabled or of weight 0",
                pool.config.name
            ),
        );
    }
    if up == wanted.len() {
        return ServiceCondition::new(
            ServiceState::Up,
            if up == 1 {
                "its server is available".to_owned()
            } else {
                format!("all {up} servers are available")
            },
        );
    }
    if up > 0 {
        return ServiceCondition::new(
            ServiceState::Degraded,
            format!("{up} of {} servers are available", wanted.len()),
        );
    }
    if unknown > 0 {
        return ServiceCondition::new(
            ServiceState::Degraded,
            format!("no server is up yet; {} without a health check result are used", few(unknown)),
        );
    }
    if pool.config.all_down == AllDownPolicy::Spread {
        return ServiceCondition::new(
            ServiceState::Degraded,
            "no server is up; all are used because all-down is spread",
        );
    }
    let why = wanted
        .first()
        .and_then(|server| snapshot.servers.get(&server.id))
        .map(|facts| facts.reason.clone());
    let why = why.map(|why| format!("; of {}: {why}", wanted[0].config.name)).unwrap_or_default();
    ServiceCondition::new(ServiceState::Down, format!("no server is available{why}"))
}

fn pool(
    snapshot: &StateSnapshot,
    clocks: ReportClocks,
    vitals: &ProcessFacts,
    view: &PoolView,
    note: &impl Fn(&ServerFacts) -> Option<EvidenceEntry>,
) -> PoolStatus {
    let servers = view.servers.iter().filter_map(|server| {
        let facts = snapshot.servers.get(&server.id)?;
        let left = vitals.draining_clients.get(&server.id).copied();
        let errors = vitals.errors.server(server.id).counts;
        Some(ServerStatus {
            errors,
            ..server_status(server, facts, note(facts), left, clocks.unix_ms)
        })
    });
    let servers: Vec<_> = servers.collect();
    let mut errors = ErrorCounts::default();
    servers.iter().for_each(|server| errors += server.errors);
    PoolStatus {
        name: view.config.name.clone(),
        balance: view.config.balance.name().into(),
        errors,
        servers,
        waiting: breakers::queued_count(view),
        shedding_since_unix_ms: breakers::shedding_since(view, clocks.workers)
            .map(|at| clocks.to_unix(at)),
        circuit_breakers: breakers::breaker_statuses(view, clocks, unix_ms(snapshot.started)),
    }
}

fn draining(
    snapshot: &StateSnapshot,
    services: &[ServiceStatus],
    facts: &ProcessFacts,
) -> Vec<Draining> {
    let before = facts.before.map(|before| Draining {
        subject: format!("process {}", before.pid),
        reason: "it handed over to this one".into(),
        since_unix_ms: unix_ms(before.since),
        until_unix_ms: None,
        connections: before.connections,
        in_flight: before.exchanges,
    });
    let ours = snapshot.shutting_down.then(|| Draining {
        subject: "the process".into(),
        reason: "it is stopping".into(),
        since_unix_ms: unix_ms(snapshot.since),
        until_unix_ms: None,
        connections: services.iter().map(|service| service.open).sum(),
        in_flight: services.iter().map(|service| service.in_flight).sum(),
    });
    before.into_iter().chain(ours).collect()
}

/// Warnings about a file that differs from the active configuration. An overlay that applies is no reason for one.
fn drift_warnings(drift: &Drift) -> Option<String> {
    let file = &drift.file;
    if let Some(trouble) = &drift.problem {
        return Some(format!("{file} cannot be compared with what is active: {trouble}"));
    }
    let more = u64::try_from(drift.keys.len().saturating_sub(1)).unwrap_or(0) + drift.unlisted;
    let first = drift.keys.first()?;
    let places = if more == 0 { first.clone() } else { format!("{first} and {more} more") };
    match (drift.edited, drift.saved) {
        (true, _) => Some(format!(
            "{file} was written since it was read and differs from what is active in {places}: reload takes it"
        )),
        (false, false) => Some(format!(
            "what is active differs from {file} in {places}, and is lost when that is read again: save it, or let \
             control.write-back keep it"
        )),
        (false, true) => None,
    }
}

fn warnings(snapshot: &StateSnapshot, facts: &ProcessFacts, now: SystemTime) -> Vec<String> {
    let mut out: Vec<String> = snapshot
        .checked
        .warnings
        .iter()
        .map(|finding| {
            format!("{}:{}: {}: {}", finding.file, finding.line, finding.key, finding.message)
        })
        .collect();
    out.extend(certificates::certificate_warnings(snapshot, &facts.certificate_orders, now));
    out.extend(bpf_pins::persistence_warnings(&snapshot.config));
    out.extend(facts.packets.sources.values().cloned());
    out.extend(snapshot.drift.as_deref().and_then(drift_warnings));
    out.extend(
        snapshot
            .needs_restart
            .iter()
            .map(|what| format!("takes effect only after a restart: {what}")),
    );
    let files = facts.descriptors;
    if files.in_use.saturating_mul(10) >= files.limit.saturating_mul(9) {
        out.push(format!(
            "{} of {} file descriptors are open: raise the limit or close connections",
            files.in_use, files.limit
        ));
    }
    for row in facts.port_usage.iter().filter(|row| row.left < PORTS_LOW) {
        let source =
            row.source.map_or_else(|| "any source".to_owned(), |source| source.to_string());
        out.push(format!(
            "{} source ports are left from {source} towards {}: add addresses to the pool's source",
            row.left, row.destination
        ));
    }
    out.extend(
        snapshot.sources.iter().map(|(pool, why)| {
            format!("pool {pool} keeps the servers that were found last: {why}")
        }),
    );
    out.extend(snapshot.unsaved.iter().cloned());
    if facts.access.failing {
        let lost = facts.access.dropped_target;
        out.push(format!("the access log cannot be written: {lost} lines are lost so far"));
    }
    out
}
