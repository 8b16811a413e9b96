//! What is wrong now: one list for `status`, `top` and the overview of the page. Pure.
//!
//! It is made anew from states each time, so an alarm that is over is not in it. It sends no event and keeps nothing.

use std::time::Duration;

use api::types::{
    AlarmSeverity, ErrorCounts, PoolStatus, ServerStatus, ServiceState, ServiceStatus,
    StandingAlarm, Status,
};
use model::exchange_error::ErrorLevel;
use model::snapshot::{PoolView, ServerState};

use super::error_window::{RaisedLevel, WindowErrors};
use super::report_sources::ProcessFacts;
use super::state_changes::FLAPPING_TIME;
use super::totals::RequestCost;
use crate::state::StateSnapshot;

/// The most alarms that one status shows: the gravest.
const SHOWN: usize = 250;
/// Changes of a server's state within `FLAPPING_TIME` from which on it flaps.
/// A restart makes two.
const FLAPPING_CHANGES: u32 = 4;
/// Requests within the window below which a mean says little.
const SLOW_REQUESTS: u64 = 10;
/// A server is slow if its mean is this many times that of the pool's middle server.
const SLOW_FACTOR: u32 = 5;
/// A server is not slow if it takes less than this beyond the others: nobody notices.
const SLOW_BEYOND: Duration = Duration::from_millis(50);

/// Puts the alarms that stand into a status whose other parts are complete.
pub fn add_alarms(status: &mut Status, snapshot: &StateSnapshot, facts: &ProcessFacts) {
    let mut alarms = Vec::new();
    for view in snapshot.snapshot.services.values() {
        let WindowErrors { counts, raised, .. } = facts.errors.service(view.id);
        let subject = format!("service {}", view.config.name);
        alarms.extend(error_alarm(&subject, &counts, raised, facts.errors.interval));
    }
    for service in &status.services {
        // Errors alone degrade a service too, and their alarm says more; a server that is missing has its own.
        let subject = format!("service {}", service.name);
        let explained = service.state == ServiceState::Degraded
            && alarms.iter().any(|alarm| alarm.name == "errors" && alarm.subject == subject);
        let first = alarms.len();
        service_alarms(service, &mut alarms);
        if explained {
            alarms.remove(first);
        }
    }
    status.pools.iter().for_each(|pool| pool_alarms(pool, facts, &mut alarms));
    for view in snapshot.snapshot.pools.values() {
        server_error_alarms(view, facts, &mut alarms);
        alarms.extend(slow_servers(view, facts));
    }
    alarms.extend(limits(facts));
    alarms.extend(lasting_faults(facts));
    path_alarms(status, &mut alarms);
    alarms.sort_by(|a, b| {
        let key = |alarm: &StandingAlarm| (alarm.severity, alarm.since_unix_ms.unwrap_or(0));
        key(a).cmp(&key(b)).then_with(|| (&a.subject, &a.name).cmp(&(&b.subject, &b.name)))
    });
    status.more_alarms = u64::try_from(alarms.len().saturating_sub(SHOWN)).unwrap_or(0);
    alarms.truncate(SHOWN);
    status.alarms = alarms;
}

fn alarm(
    name: &str,
    severity: AlarmSeverity,
    subject: String,
    reason: String,
    since_unix_ms: Option<u64>,
) -> StandingAlarm {
    StandingAlarm { name: name.to_owned(), severity, subject, reason, since_unix_ms }
}

fn service_alarms(service: &ServiceStatus, alarms: &mut Vec<StandingAlarm>) {
    let subject = format!("service {}", service.name);
    let severity = match service.state {
        ServiceState::Up => None,
        ServiceState::Degraded => Some(AlarmSeverity::Warning),
        ServiceState::Down => Some(AlarmSeverity::Error),
        ServiceState::Draining => Some(AlarmSeverity::Notice),
    };
    alarms.extend(severity.map(|severity| {
        let reason = format!("{}: {}", service.state.name(), service.reason);
        alarm("state", severity, subject.clone(), reason, Some(service.since_unix_ms))
    }));
    for promise in &service.objectives {
        for burn in promise.alarms.iter().filter(|alarm| alarm.since_unix_ms.is_some()) {
            let why = burn.reason.as_deref().unwrap_or("its error budget burns too quickly");
            let reason = format!("`{}` over {}: {why}", promise.kind, burn.name);
            let subject = subject.clone();
            let since = burn.since_unix_ms;
            alarms.push(alarm("slo-burn", AlarmSeverity::Error, subject, reason, since));
        }
    }
}

fn pool_alarms(pool: &PoolStatus, facts: &ProcessFacts, alarms: &mut Vec<StandingAlarm>) {
    let subject = format!("pool {}", pool.name);
    for breaker in pool.circuit_breakers.iter().filter(|breaker| breaker.open) {
        let reason = format!(
            "the circuit breaker of {} is open: {} of {} in use",
            breaker.resource.name(),
            breaker.in_use,
            breaker.limit
        );
        let since = Some(breaker.since_unix_ms);
        let subject = subject.clone();
        alarms.push(alarm("circuit-breaker", AlarmSeverity::Error, subject, reason, since));
    }
    if let Some(since) = pool.shedding_since_unix_ms {
        let reason = "requests are shed: its servers cannot process them in time".to_owned();
        alarms.push(alarm("shedding", AlarmSeverity::Error, subject, reason, Some(since)));
    }
    for server in &pool.servers {
        let name = format!("{}/{}", pool.name, server.name);
        let changes = facts.state_changes.get(&name).copied().unwrap_or(0);
        let subject = format!("server {name}");
        alarms.extend(state_alarm(server, &subject));
        if changes >= FLAPPING_CHANGES {
            let seconds = FLAPPING_TIME.as_secs();
            let reason = format!("its state changed {changes} times within {seconds} s");
            alarms.push(alarm("flapping", AlarmSeverity::Warning, subject, reason, None));
        }
    }
}

fn state_alarm(server: &ServerStatus, subject: &str) -> Option<StandingAlarm> {
    let severity = match server.state {
        ServerState::Up => return None,
        ServerState::Down => AlarmSeverity::Error,
        ServerState::Unknown => AlarmSeverity::Warning,
        ServerState::Drain | ServerState::Disabled => AlarmSeverity::Notice,
    };
    let reason = format!("{}: {}", server.state.name(), server.reason.text);
    Some(alarm("state", severity, subject.to_owned(), reason, Some(server.since_unix_ms)))
}

fn error_alarm(
    subject: &str,
    counts: &ErrorCounts,
    raised: Option<RaisedLevel>,
    interval: Duration,
) -> Option<StandingAlarm> {
    let RaisedLevel { level, since_unix_ms } = raised?;
    let severity = match level {
        ErrorLevel::Red => AlarmSeverity::Error,
        ErrorLevel::Amber => AlarmSeverity::Warning,
    };
    let origins = [
        ("5xx of servers", counts.server_5xx.rate),
        ("failed servers", counts.server.rate),
        ("unreachable servers", counts.network.rate),
        ("the balancer", counts.balancer.rate),
    ];
    let origins: Vec<String> = origins
        .iter()
        .filter(|(_, rate)| *rate > 0.0)
        .map(|(origin, rate)| format!("{origin} {rate:.1}/s"))
        .collect();
    let reason = format!(
        "{:.1} % errors, {:.1}/s over {} s: {}",
        counts.percent.unwrap_or(100.0),
        counts.errors.rate,
        interval.as_secs(),
        origins.join(", ")
    );
    Some(alarm("errors", severity, subject.to_owned(), reason, Some(since_unix_ms)))
}

fn server_error_alarms(pool: &PoolView, facts: &ProcessFacts, alarms: &mut Vec<StandingAlarm>) {
    for server in &pool.servers {
        let WindowErrors { counts, raised, .. } = facts.errors.server(server.id);
        let subject = format!("server {}/{}", pool.config.name, server.config.name);
        alarms.extend(error_alarm(&subject, &counts, raised, facts.errors.interval));
    }
}

/// Servers that take much longer than the middle one of their pool.
fn slow_servers(pool: &PoolView, facts: &ProcessFacts) -> Vec<StandingAlarm> {
    let cost_of = |at: usize| facts.errors.server(pool.servers[at].id).cost;
    let costs: Vec<RequestCost> = (0..pool.servers.len()).map(cost_of).collect();
    slow_positions(&costs)
        .into_iter()
        .map(|SlowServer { position, mean, middle }| {
            let name = &pool.servers[position].config.name;
            let reason = format!(
                "{:.0} ms until its first byte, {:.0} ms at the middle server of the pool",
                mean.as_secs_f64() * 1e3,
                middle.as_secs_f64() * 1e3
            );
            let subject = format!("server {}/{name}", pool.config.name);
            alarm("slow", AlarmSeverity::Warning, subject, reason, None)
        })
        .collect()
}

/// A server that is slow beside the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SlowServer {
    position: usize,
    mean: Duration,
    /// The mean of the middle server.
    middle: Duration,
}

fn slow_positions(costs: &[RequestCost]) -> Vec<SlowServer> {
    let mean = |cost: &RequestCost| cost.mean().filter(|_| cost.requests >= SLOW_REQUESTS);
    let mut means: Vec<Duration> = costs.iter().filter_map(mean).collect();
    means.sort_unstable();
    // Of two servers the quicker one is the middle.
    let Some(middle) = means.get(means.len().saturating_sub(1) / 2).copied() else {
        return Vec::new();
    };
    let slow = |mean: Duration| mean >= middle * SLOW_FACTOR && mean >= middle + SLOW_BEYOND;
    costs
        .iter()
        .enumerate()
        .filter_map(|(position, cost)| {
            mean(cost).filter(|mean| slow(*mean)).map(|mean| SlowServer { position, mean, middle })
        })
        .collect()
}

/// Limits that are nearly reached.
fn limits(facts: &ProcessFacts) -> impl Iterator<Item = StandingAlarm> {
    let raised = facts.headroom.iter().filter(|row| row.alarm_since_unix_ms.is_some());
    raised.map(|row| {
        let usage = &row.usage;
        let reason = format!("{} of {} {} are in use", usage.used, usage.limit, usage.resource);
        let since = row.alarm_since_unix_ms;
        alarm("limit", AlarmSeverity::Warning, usage.subject.clone(), reason, since)
    })
}

/// What goes on without something that it was told to use: a hook, a collector, a changed file.
fn lasting_faults(facts: &ProcessFacts) -> impl Iterator<Item = StandingAlarm> {
    facts.faults.iter().map(|fault| {
        let since = Some(fault.since_unix_ms);
        let subject = fault.subject.clone();
        alarm(fault.name, AlarmSeverity::Warning, subject, fault.reason.clone(), since)
    })
}

/// Links, uplinks, heartbeats and the packet plane.
fn path_alarms(status: &Status, alarms: &mut Vec<StandingAlarm>) {
    if let Some(why) = status.packets.as_ref().and_then(|packets| packets.problem.as_ref()) {
        alarms.push(alarm("packets", AlarmSeverity::Error, "packets".into(), why.clone(), None));
    }
    for link in status.links.iter().flat_map(|bundle| &bundle.links) {
        if link.state != "alive" {
            let reason = format!("{}: {}", link.state, link.reason);
            let subject = format!("link {}", link.interface);
            alarms.push(alarm("link", AlarmSeverity::Error, subject, reason, None));
        }
    }
    for uplink in status.uplinks.iter().flat_map(|all| &all.uplinks) {
        if uplink.state != "up" {
            let reason = format!("{}: {}", uplink.state, uplink.reason);
            let subject = format!("uplink {}", uplink.name);
            alarms.push(alarm("uplink", AlarmSeverity::Error, subject, reason, None));
        }
    }
    for beat in status.heartbeats.iter().filter(|beat| beat.state != "up") {
        let reason = format!("{}: {}", beat.state, beat.reason);
        let subject = format!("heartbeat with {}", beat.peer);
        let since = Some(beat.since_unix_ms);
        // Beats still come by another path.
        let severity = match beat.state == "degraded" {
            true => AlarmSeverity::Warning,
            false => AlarmSeverity::Error,
        };
        alarms.push(alarm("heartbeat", severity, subject, reason, since));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(requests: u64, millis: u64) -> RequestCost {
        RequestCost { requests, nanos: requests * millis * 1_000_000 }
    }

    #[test]
    fn a_server_is_slow_beside_others_and_only_by_enough_requests() {
        let rows: [(&[RequestCost], &[usize]); 7] = [
            (&[], &[]),
            (&[cost(100, 900)], &[]),
            (&[cost(100, 10), cost(100, 300)], &[1]),
            (&[cost(100, 10), cost(9, 300)], &[]),
            (&[cost(100, 1), cost(100, 20), cost(100, 1)], &[]),
            (&[cost(100, 300), cost(100, 10), cost(100, 12)], &[0]),
            (&[cost(100, 100), cost(100, 400), cost(100, 120)], &[]),
        ];
        for (costs, want) in rows {
            let found: Vec<usize> = slow_positions(costs).iter().map(|it| it.position).collect();
            assert_eq!(found, want, "{costs:?}");
        }
    }
}
