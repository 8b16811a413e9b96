//! State snapshot and live counters → what `report` and `status` show.
//!
//! Rates and times cover the time between two samples; totals count since the start. Every balance carries its own
//! remainder. It stores nothing but the samples, and changes nothing.

pub mod breakers;
pub mod capacity;
mod certificates;
pub mod counts;
pub mod error_window;
pub mod explain;
#[cfg(test)]
pub(crate) mod fixture;
pub mod flow_samples;
pub mod heartbeat;
pub mod links;
pub mod log;
pub mod mptcp;
pub mod names;
pub mod packets;
pub mod refused;
pub mod report_sources;
pub mod request;
mod rules;
pub mod sample;
pub mod sampling;
mod server_status;
pub mod slow;
mod slow_failures;
mod slow_parts;
mod standing_alarms;
pub mod state_changes;
pub mod status;
#[cfg(test)]
mod tests;
pub mod totals;
pub mod uplinks;
pub mod vrrp;

use std::time::{Duration, SystemTime};

use api::types::{
    ErrorCounts, HeadroomReport, NamedCount, PoolReport, PortReport, Process, Report, ServerReport,
    ServiceCounts, ServiceReport,
};
use l7::PortUse;
use model::config::ForwardingMode;
use model::snapshot::{PoolView, ServerView, WorkerSnapshot};
use model::stats::pool::PoolCounters;
use model::stats::{ExchangePhaseHistograms, HistogramSum};

use crate::observability::headroom::HeadroomRow;
use crate::util::wall_clock::unix_ms;
use counts::{
    add_counts, error_counts, octave_counts, phase_times, server_count, server_counts,
    service_counts, total_and_rate,
};
use report_sources::ProcessFacts;
use sample::CounterSample;
use totals::{ServerTotals, ServiceTotals};

/// Limits that one report shows: the fullest.
const HEADROOM: usize = 250;

/// The report of the time between two samples of `snapshot`.
pub fn build_report(
    snapshot: &WorkerSnapshot,
    before: &CounterSample,
    now: &CounterSample,
    facts: &ProcessFacts,
    at: SystemTime,
) -> Report {
    let interval = now.at.saturating_duration_since(before.at);
    let seconds = interval.as_secs_f64();
    let none = ServiceTotals::default();
    let mut views: Vec<_> = snapshot.services.values().collect();
    views.sort_by(|a, b| a.config.name.cmp(&b.config.name));
    let mut total = ServiceCounts::default();
    let mut times: [HistogramSum; 5] = Default::default();
    let mut services = Vec::with_capacity(views.len());
    for view in views {
        let Some(sums) = now.services.get(&view.id) else { continue };
        let old = before.services.get(&view.id).map_or(&none, AsRef::as_ref);
        let counts = service_counts(old, sums, seconds, defect);
        add_counts(&mut total, &counts);
        for (all, (new, old)) in times.iter_mut().zip(sums.phases.iter().zip(&old.phases)) {
            merge(all, &new.since(old));
        }
        services.push(ServiceReport {
            name: view.config.name.clone(),
            forward: forwarding_name(view.config.forward),
            counts,
            rules: rules::rule_reports(view),
            affinity: rules::affinity_report(view),
            slo: counts::users_report(old.users.as_ref(), sums.users.as_ref(), seconds),
        });
    }
    total.phases = ExchangePhaseHistograms::NAMES
        .iter()
        .zip(&times)
        .map(|(name, sum)| phase_times(name, sum))
        .collect();
    if let (Some(whole), [.., sum]) = (total.phases.last_mut(), &times) {
        whole.histogram = octave_counts(sum);
    }
    let now_unix_ms = unix_ms(at);
    Report {
        generation: snapshot.generation,
        now_unix_ms,
        uptime_ms: now_unix_ms.saturating_sub(facts.started_unix_ms),
        interval_ms: millis(interval),
        process: process(&total, before, now, facts, seconds),
        total,
        services,
        pools: pool_reports(snapshot, before, now, seconds),
        ports: facts.port_usage.iter().map(port).collect(),
        headroom: facts.headroom.iter().take(HEADROOM).map(headroom).collect(),
        packets: packets::packets_report(&facts.packets, snapshot),
        names: names::report(&facts.names),
        members: vrrp::report(&facts.vrrp),
        peers: heartbeat::heartbeat_reports(&facts.vrrp),
    }
}

fn pool_reports(
    snapshot: &WorkerSnapshot,
    before: &CounterSample,
    now: &CounterSample,
    seconds: f64,
) -> Vec<PoolReport> {
    let no_server = ServerTotals::default();
    let mut views: Vec<_> = snapshot.pools.values().collect();
    views.sort_by(|a, b| a.config.name.cmp(&b.config.name));
    let one = |view: &ServerView| {
        let sums = now.servers.get(&view.id).map_or(&no_server, AsRef::as_ref);
        let old = before.servers.get(&view.id).map_or(&no_server, AsRef::as_ref);
        server_report(view, old, sums, seconds)
    };
    let pool = |view: &PoolView| {
        let servers: Vec<ServerReport> = view.servers.iter().map(one).collect();
        let mut errors = ErrorCounts::default();
        servers.iter().for_each(|server| errors += server.errors);
        PoolReport {
            name: view.config.name.clone(),
            counts: pool_counts(
                before.pools.get(&view.id).map(AsRef::as_ref),
                now.pools.get(&view.id).map(AsRef::as_ref),
                seconds,
            ),
            errors,
            servers,
        }
    };
    views.into_iter().map(|view| pool(view)).collect()
}

/// The totals of a pool.
fn pool_counts(
    before: Option<&PoolCounters>,
    now: Option<&PoolCounters>,
    seconds: f64,
) -> Vec<NamedCount> {
    let Some(now) = now else { return Vec::new() };
    let old = before.map(PoolCounters::values).unwrap_or_default();
    let old = old.into_iter().chain(std::iter::repeat(0));
    let rows = PoolCounters::NAMES.iter().zip(now.values().into_iter().zip(old));
    rows.filter(|(_, (new, _))| *new > 0)
        .map(|(name, (new, old))| NamedCount {
            name: (*name).to_owned(),
            count: total_and_rate(old, new, seconds),
        })
        .collect()
}

fn port(row: &PortUse) -> PortReport {
    PortReport {
        source: row.source,
        destination: row.destination,
        in_use: row.in_use,
        time_wait: row.resting,
        free: row.left,
    }
}

fn headroom(row: &HeadroomRow) -> HeadroomReport {
    HeadroomReport {
        resource: row.usage.resource.to_owned(),
        subject: row.usage.subject.clone(),
        used: row.usage.used,
        limit: row.usage.limit,
        exhausted_in_ms: row.exhausted_in.map(millis),
    }
}

/// The method, as written.
pub fn forwarding_name(method: ForwardingMode) -> String {
    method.name().into()
}

fn server_report(
    view: &ServerView,
    old: &ServerTotals,
    sums: &ServerTotals,
    seconds: f64,
) -> ServerReport {
    let parts = server_counts(old, sums, seconds);
    let count = |field| server_count(old, sums, seconds, field);
    ServerReport {
        name: view.config.name.clone(),
        state: view.state,
        in_flight: view.stats.in_flight.get(),
        connections: view.stats.connections.get(),
        connects: count(|c| &c.connects),
        connect_failed: count(|c| &c.connect_failed),
        requests: count(|c| &c.requests),
        answered: count(|c| &c.answered),
        reused: count(|c| &c.reused),
        stale: count(|c| &c.stale),
        retired: count(|c| &c.retired),
        errors: error_counts(&old.errors, &sums.errors, seconds),
        statuses: parts.statuses,
        bytes: parts.bytes,
        causes: parts.causes,
        phases: parts.phases,
    }
}

/// Dropped log lines: by the full queue (counted by services) and by the target.
fn process(
    total: &ServiceCounts,
    before: &CounterSample,
    now: &CounterSample,
    facts: &ProcessFacts,
    seconds: f64,
) -> Process {
    let queue = total
        .limits
        .iter()
        .find(|limit| limit.name == "log-lines-dropped")
        .map(|limit| limit.count);
    let mut log_lines_dropped = total_and_rate(before.log_dropped, now.log_dropped, seconds);
    log_lines_dropped += queue.unwrap_or_default();
    Process {
        descriptors: facts.descriptors,
        resident_bytes: facts.resident_bytes,
        buffered_bytes: facts.open_counts.held_bytes,
        piped_bytes: facts.open_counts.piped_bytes,
        kernel_tcp_bytes: facts.kernel_tcp_bytes,
        log_lines_dropped,
    }
}

fn defect(index: usize) -> String {
    wire::http1::Defect::ALL
        .get(index)
        .map_or_else(|| format!("defect-{index}"), |defect| defect.name().into())
}

fn merge(all: &mut HistogramSum, one: &HistogramSum) {
    all.buckets.iter_mut().zip(&one.buckets).for_each(|(sum, n)| *sum += n);
    all.sum_nanos += one.sum_nanos;
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
