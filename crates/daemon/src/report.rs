//! Picture and live counters → what `report` and `status` show.
//!
//! Rates and times cover the time between two samples; totals count since the start. Every balance carries its own
//! remainder. It keeps no state but the samples, and changes nothing.

pub mod breakers;
pub mod capacity;
mod certificates;
pub mod counts;
pub mod explain;
#[cfg(test)]
pub(crate) mod fixture;
pub mod heartbeat;
pub mod insight;
pub mod links;
pub mod mptcp;
pub mod names;
pub mod packets;
mod parts;
pub mod refused;
pub mod request;
mod rules;
pub mod sample;
pub mod slow;
pub mod status;
pub mod sums;
#[cfg(test)]
mod tests;
pub mod uplinks;
pub mod users;
pub mod vitals;
pub mod vrrp;

use std::time::{Duration, SystemTime};

use api::types::{
    HeadroomReport, NamedCount, PoolReport, PortReport, Process, Report, ServerReport,
    ServiceCounts, ServiceReport,
};
use l7::PortUse;
use model::config::Forward;
use model::live::pool::PoolCounters;
use model::live::{HistogramSum, Phases};
use model::snapshot::{PoolView, ServerView, Snapshot};

use crate::headroom::Row;
use counts::{add, octaves, phase, rate, server, server_count, service};
use sample::Sample;
use sums::{ServerSums, ServiceSums};
use vitals::{Facts, unix_ms};

/// Limits that one report shows: the fullest.
const HEADROOM: usize = 250;

/// What passed between two samples of `snapshot`.
pub fn report(
    snapshot: &Snapshot,
    before: &Sample,
    now: &Sample,
    facts: &Facts,
    at: SystemTime,
) -> Report {
    let interval = now.at.saturating_duration_since(before.at);
    let seconds = interval.as_secs_f64();
    let (none, no_server) = (ServiceSums::default(), ServerSums::default());
    let mut views: Vec<_> = snapshot.services.values().collect();
    views.sort_by(|a, b| a.config.name.cmp(&b.config.name));
    let mut total = ServiceCounts::default();
    let mut times: [HistogramSum; 5] = Default::default();
    let mut services = Vec::with_capacity(views.len());
    for view in views {
        let Some(sums) = now.services.get(&view.id) else { continue };
        let old = before.services.get(&view.id).unwrap_or(&none);
        let counts = service(old, sums, seconds, defect);
        add(&mut total, &counts);
        for (all, (new, old)) in times.iter_mut().zip(sums.phases.iter().zip(&old.phases)) {
            merge(all, &new.since(old));
        }
        services.push(ServiceReport {
            name: view.config.name.clone(),
            forward: forward(view.config.forward),
            counts,
            rules: rules::of(view),
            affinity: rules::affinity(view),
            users: users::report(old.users.as_ref(), sums.users.as_ref(), seconds),
        });
    }
    total.phases = Phases::NAMES.iter().zip(&times).map(|(name, sum)| phase(name, sum)).collect();
    if let (Some(whole), [.., sum]) = (total.phases.last_mut(), &times) {
        whole.octaves = octaves(sum);
    }

    let mut views: Vec<_> = snapshot.pools.values().collect();
    views.sort_by(|a, b| a.config.name.cmp(&b.config.name));
    let one = |view: &ServerView| {
        let sums = now.servers.get(&view.id).map_or(&no_server, AsRef::as_ref);
        let old = before.servers.get(&view.id).map_or(&no_server, AsRef::as_ref);
        server_report(view, old, sums, seconds)
    };
    let pool = |view: &PoolView| PoolReport {
        name: view.config.name.clone(),
        counts: pool_counts(before.pools.get(&view.id), now.pools.get(&view.id), seconds),
        servers: view.servers.iter().map(one).collect(),
    };
    let now_unix_ms = unix_ms(at);
    Report {
        generation: snapshot.generation,
        now_unix_ms,
        uptime_ms: now_unix_ms.saturating_sub(facts.started_unix_ms),
        interval_ms: millis(interval),
        process: process(&total, before, now, facts, seconds),
        total,
        services,
        pools: views.into_iter().map(|view| pool(view)).collect(),
        ports: facts.ports.iter().map(port).collect(),
        headroom: facts.headroom.iter().take(HEADROOM).map(headroom).collect(),
        packets: packets::report(&facts.packets, snapshot),
        names: names::report(&facts.names),
        members: vrrp::report(&facts.vrrp),
        peers: heartbeat::report(&facts.vrrp),
    }
}

/// What was counted of a pool at all.
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
            count: rate(old, new, seconds),
        })
        .collect()
}

fn port(row: &PortUse) -> PortReport {
    PortReport {
        source: row.source,
        destination: row.destination,
        in_use: row.in_use,
        resting: row.resting,
        left: row.left,
    }
}

fn headroom(row: &Row) -> HeadroomReport {
    HeadroomReport {
        resource: row.now.what.to_owned(),
        of: row.now.of.clone(),
        used: row.now.used,
        limit: row.now.limit,
        exhausted_in_ms: row.exhausted_in.map(millis),
    }
}

/// The method, as written.
pub fn forward(method: Forward) -> String {
    method.name().into()
}

fn server_report(
    view: &ServerView,
    old: &ServerSums,
    sums: &ServerSums,
    seconds: f64,
) -> ServerReport {
    let parts = server(old, sums, seconds);
    let count = |field| server_count(old, sums, seconds, field);
    ServerReport {
        name: view.config.name.clone(),
        state: view.state,
        in_flight: view.live.in_flight.get(),
        connections: view.live.connections.get(),
        connects: count(|c| &c.connects),
        connect_failed: count(|c| &c.connect_failed),
        requests: count(|c| &c.requests),
        answered: count(|c| &c.answered),
        reused: count(|c| &c.reused),
        stale: count(|c| &c.stale),
        retired: count(|c| &c.retired),
        statuses: parts.statuses,
        bytes: parts.bytes,
        causes: parts.causes,
        phases: parts.phases,
    }
}

/// Lines dropped: by the full queue (services count those) and by the target.
fn process(
    total: &ServiceCounts,
    before: &Sample,
    now: &Sample,
    facts: &Facts,
    seconds: f64,
) -> Process {
    let queue = total
        .limits
        .iter()
        .find(|limit| limit.name == "log-lines-dropped")
        .map(|limit| limit.count);
    let mut log_lines_dropped = rate(before.log_dropped, now.log_dropped, seconds);
    log_lines_dropped += queue.unwrap_or_default();
    Process {
        descriptors: facts.descriptors,
        resident_bytes: facts.resident_bytes,
        held_bytes: facts.open.held_bytes,
        piped_bytes: facts.open.piped_bytes,
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
