//! What belongs to the process: generation, descriptors, memory, the log, probes, source ports.

use std::fmt::Error;

use l7::PortUse;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Unit;

use super::family::{counter, counters, gauge, gauges};
use crate::observability::headroom::HeadroomRow;
use crate::observability::report::report_sources::ProcessFacts;

/// The limit of source-port rows in a scrape; the rows with the fewest free ports are shown.
const PORTS: usize = 250;
/// Limits that one scrape shows: the fullest.
const HEADROOM: usize = 250;

pub(super) fn encode(
    facts: &ProcessFacts,
    generation: u64,
    to: &mut DescriptorEncoder,
) -> Result<(), Error> {
    to.encode_descriptor("steelyard", "Version of the program.", None, MetricType::Info)?
        .encode_info(&[("version", env!("CARGO_PKG_VERSION"))])?;
    gauge(
        to,
        "steelyard_generation",
        None,
        "Number of the active configuration.",
        generation as f64,
    )?;
    let started = facts.started_unix_ms as f64 / 1000.0;
    gauge(
        to,
        "steelyard_start_time",
        Some(Unit::Seconds),
        "Start time of the process, since 1970.",
        started,
    )?;
    gauge(to, "steelyard_workers", None, "Worker threads.", facts.workers as f64)?;
    predecessor(facts, to)?;
    let files = facts.descriptors;
    gauge(
        to,
        "steelyard_file_descriptors_open",
        None,
        "Open file descriptors.",
        files.in_use as f64,
    )?;
    gauge(
        to,
        "steelyard_file_descriptors_limit",
        None,
        "Limit of open file descriptors.",
        files.limit as f64,
    )?;
    let memory = facts.resident_bytes as f64;
    gauge(to, "steelyard_resident", Some(Unit::Bytes), "Resident memory of the process.", memory)?;
    let held = facts.open_counts.held_bytes as f64;
    gauge(to, "steelyard_buffered", Some(Unit::Bytes), "Bytes buffered for slow receivers.", held)?;
    let piped = facts.open_counts.piped_bytes as f64;
    gauge(to, "steelyard_piped", Some(Unit::Bytes), "Bytes in kernel pipes (splice).", piped)?;
    let kernel = facts.kernel_tcp_bytes as f64;
    gauge(
        to,
        "steelyard_kernel_tcp",
        Some(Unit::Bytes),
        "Memory of all TCP sockets of this machine or container.",
        kernel,
    )?;
    let help = "Failed writes of generations or server commands to disk.";
    counter(to, "steelyard_state_failures", None, help, facts.state_failures)?;
    let rows = facts.events.iter().map(|(kind, count)| ([("kind", *kind)], *count));
    counters(to, "steelyard_events", None, "Events by name.", rows)?;
    api(facts, to)?;
    log(facts, to)?;
    probes(facts, to)?;
    headroom(facts, to)?;
    ports(facts, to)
}

fn predecessor(facts: &ProcessFacts, to: &mut DescriptorEncoder) -> Result<(), Error> {
    let before = facts.before;
    let help = "Client connections still open in the previous process, after a hot restart.";
    gauge(
        to,
        "steelyard_predecessor_connections",
        None,
        help,
        before.map_or(0, |it| it.connections) as f64,
    )?;
    let help =
        "Exchanges and tcp connections in flight in the previous process, after a hot restart.";
    gauge(
        to,
        "steelyard_predecessor_exchanges",
        None,
        help,
        before.map_or(0, |it| it.exchanges) as f64,
    )
}

fn headroom(facts: &ProcessFacts, to: &mut DescriptorEncoder) -> Result<(), Error> {
    let rows = || facts.headroom.iter().take(HEADROOM);
    let name = |row: &HeadroomRow| {
        [("resource", row.usage.resource.to_owned()), ("subject", row.usage.subject.clone())]
    };
    let used = rows().map(|row| (name(row), row.usage.used as f64 / row.usage.limit as f64));
    let help = "Share of a limit that is in use, 0 to 1.";
    gauges(to, "steelyard_headroom_used", Some(Unit::Ratios), help, used)?;
    let ends = rows().filter_map(|row| Some((name(row), row.exhausted_in?.as_secs_f64())));
    let help = "Time until a limit is reached at the current growth; only limits whose use grows.";
    gauges(to, "steelyard_headroom_exhaustion", Some(Unit::Seconds), help, ends)
}

fn api(facts: &ProcessFacts, to: &mut DescriptorEncoder) -> Result<(), Error> {
    let served = &facts.served;
    let rows = served.refused.iter().map(|row| ([("reason", row.reason.name())], row.count));
    let help = "Requests to the API that were refused before they reached a route, by reason; malformed ones also of the Unix socket.";
    counters(to, "steelyard_api_refused", None, help, rows)?;
    let closed = [("evicted", &served.evicted), ("refused", &served.rejected)];
    let rows = closed.iter().flat_map(|(reason, counts)| {
        counts.iter().map(move |row| {
            ([("listener", row.listener.name()), ("reason", *reason)], row.connections)
        })
    });
    let help = "Connections to the API and the metrics endpoint that were closed for new ones, or refused at the limit.";
    counters(to, "steelyard_control_connections_closed", None, help, rows)?;
    gauge(
        to,
        "steelyard_api_streams",
        None,
        "Open state streams of the API.",
        served.streams as f64,
    )?;
    let help = "State updates that slow readers of streams missed.";
    counter(to, "steelyard_api_updates_lost", None, help, served.lost_updates)
}

fn log(facts: &ProcessFacts, to: &mut DescriptorEncoder) -> Result<(), Error> {
    let access = facts.access;
    let rows = [
        ([("result", "written")], access.written),
        ([("result", "dropped-queue")], access.dropped_queue),
        ([("result", "dropped-target")], access.dropped_target),
    ];
    counters(to, "steelyard_access_log_entries", None, "Access log lines by result.", rows)?;
    let help = "Failed attempts to open or write the access log.";
    counter(to, "steelyard_access_log_errors", None, help, access.errors)?;
    let help = "Lines of the daemon's own log that were dropped because the queue was full.";
    counter(to, "steelyard_event_lines_dropped", None, help, facts.events_dropped)?;
    let lost = facts.refused_lost;
    let rows =
        [([("reason", "room")], lost.evicted), ([("reason", "client-share")], lost.over_share)];
    let help = "Refused requests that were removed from `report refused`, by what replaced them.";
    counters(to, "steelyard_refused_requests_lost", None, help, rows)
}

fn probes(facts: &ProcessFacts, to: &mut DescriptorEncoder) -> Result<(), Error> {
    let probes = facts.probes;
    let rows = [
        ([("result", "passed")], probes.passed),
        ([("result", "failed")], probes.failed),
        ([("result", "not-made")], probes.not_made),
    ];
    let help = "Health checks by result; `not-made`: the check could not run because of a local resource limit.";
    counters(to, "steelyard_probes", None, help, rows)?;
    let help = "Health checks that waited because too many were in flight.";
    counter(to, "steelyard_probes_late", None, help, probes.late)?;
    let help = "Results of connections to servers that were dropped because the queue was full.";
    counter(to, "steelyard_observations_dropped", None, help, probes.observations_dropped)?;
    let rows = [
        ([("problem", "silent")], probes.agents_silent),
        ([("problem", "lost")], probes.agents_lost),
        ([("problem", "clamped")], probes.agents_clamped),
        ([("problem", "not-understood")], probes.agents_unknown),
    ];
    let help =
        "Problems with agents: no response, last report too old, value out of range, not readable.";
    counters(to, "steelyard_agent_problems", None, help, rows)
}

fn ports(facts: &ProcessFacts, to: &mut DescriptorEncoder) -> Result<(), Error> {
    let mut rows: Vec<_> = facts.port_usage.iter().collect();
    rows.sort_by_key(|row| row.left);
    rows.truncate(PORTS);
    let name = |row: &PortUse| {
        let source = row.source.map_or_else(|| "any".to_owned(), |source| source.to_string());
        [("source", source), ("destination", row.destination.to_string())]
    };
    let used = rows.iter().map(|row| (name(row), f64::from(row.in_use)));
    let help =
        "Source ports in use, by source address and destination: open connections and TIME_WAIT.";
    gauges(to, "steelyard_source_ports_in_use", None, help, used)?;
    let resting = rows.iter().map(|row| (name(row), f64::from(row.resting)));
    let help = "Source ports in TIME_WAIT, by source address and destination.";
    gauges(to, "steelyard_source_ports_time_wait", None, help, resting)?;
    let left = rows.iter().map(|row| (name(row), f64::from(row.left)));
    let help = "Free source ports, by source address and destination.";
    gauges(to, "steelyard_source_ports_free", None, help, left)?;
    let help = "Connections that failed because no source port was free, by source address and destination.";
    counters(
        to,
        "steelyard_source_ports_exhausted",
        None,
        help,
        rows.iter().map(|row| (name(row), row.exhausted)),
    )
}
