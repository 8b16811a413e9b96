//! What is counted of servers. There may be thousands: few buckets, and no row for what never happened.

use std::fmt::Error;

use model::cause::Cause;
use model::snapshot::{PoolView, ServerState, ServerView};
use model::stats::{Count, ExchangePhaseHistograms, HistogramSum, ServerCounters};
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::registry::Unit;

use super::family::{CounterFamily, LabelledCounter, counters, gauges, histograms};
use super::{error_origins, handshake_groups};
use crate::observability::report::totals::merge_phase;

/// Microseconds, powers of two: 0.5 ms to 2.1 s; with the open one six buckets, so that a scrape of a thousand busy
/// servers stays below 6 MiB, renamed families under both names.
const EDGES: [u64; 5] = [1 << 9, 1 << 12, 1 << 15, 1 << 18, 1 << 21];
/// Phases shown by server, by their places: waiting in the queue and `total` are the service's.
const PHASES: std::ops::Range<usize> = 1..4;

const STATES: [ServerState; 5] = [
    ServerState::Up,
    ServerState::Down,
    ServerState::Unknown,
    ServerState::Drain,
    ServerState::Disabled,
];

type ServerCounterFn = fn(&ServerCounters) -> &Count;
type ServerCounterFamily = CounterFamily<ServerCounterFn>;
type ServerCounterRow = LabelledCounter<ServerCounterFn>;

/// A server with the name of its pool.
struct ServerViewRow<'a> {
    pool: &'a str,
    view: &'a ServerView,
}

/// Families without a label.
pub(super) const PLAIN: &[ServerCounterFamily] = &[
    ServerCounterFamily::new("connects", "Connection attempts.", |c| &c.connects),
    ServerCounterFamily::new("connect_failures", "Failed connection attempts.", |c| {
        &c.connect_failed
    }),
    ServerCounterFamily::new("requests", "Requests or tcp connections sent.", |c| &c.requests),
    ServerCounterFamily::new("answered", "Requests that were answered completely.", |c| {
        &c.answered
    }),
    ServerCounterFamily::new("reused", "Requests sent on an idle connection of the pool.", |c| {
        &c.reused
    }),
    ServerCounterFamily::new("stale", "Idle connections that the server closed first.", |c| {
        &c.stale
    }),
    ServerCounterFamily::new("retired", "Idle connections that the balancer closed.", |c| {
        &c.retired
    }),
    ServerCounterFamily::new(
        "load_reports_refused",
        "Load reports in responses that were not readable, or were clamped.",
        |c| &c.load_refused,
    ),
    ServerCounterFamily::new(
        "outlier_successes",
        "Responses that count as successes for outlier detection.",
        |c| &c.judged_good,
    ),
    ServerCounterFamily::new(
        "outlier_failures",
        "Responses and failures that count against the server for outlier detection.",
        |c| &c.judged_bad,
    ),
    ServerCounterFamily::new(
        "outlier_truncations",
        "Responses cut in the middle, a part of the failures for outlier detection.",
        |c| &c.judged_cut,
    ),
    ServerCounterFamily::new("tls_handshakes", "Finished TLS handshakes.", |c| &c.tls_handshakes),
    ServerCounterFamily::new("tls_resumed", "TLS handshakes that resumed a session.", |c| {
        &c.tls_resumed
    }),
];

/// Final answers by class.
pub(super) const CLASSES: &[ServerCounterRow] = &[
    ServerCounterRow::new("2xx", |c| &c.status_2xx),
    ServerCounterRow::new("3xx", |c| &c.status_3xx),
    ServerCounterRow::new("4xx", |c| &c.status_4xx),
    ServerCounterRow::new("5xx", |c| &c.status_5xx),
];

/// Repaired response heads, by defect.
pub(super) const MENDED: &[ServerCounterRow] = &[
    ServerCounterRow::new("repeated-length", |c| &c.mended_lengths),
    ServerCounterRow::new("bare-lf", |c| &c.mended_line_ends),
    ServerCounterRow::new("space-before-colon", |c| &c.mended_colons),
];

pub(super) const BYTES: &[ServerCounterRow] =
    &[ServerCounterRow::new("in", |c| &c.bytes_in), ServerCounterRow::new("out", |c| &c.bytes_out)];

pub(super) fn encode(pools: &[&PoolView], to: &mut DescriptorEncoder) -> Result<(), Error> {
    let rows: Vec<ServerViewRow> = pools
        .iter()
        .flat_map(|pool| {
            let servers = pool.servers.iter();
            servers.map(|view| ServerViewRow { pool: pool.config.name.as_str(), view })
        })
        .collect();
    states(&rows, to)?;
    for CounterFamily { name, help, counter } in PLAIN {
        let name = format!("steelyard_server_{name}");
        counters(
            to,
            &name,
            None,
            help,
            rows.iter().map(|row| (server_labels(row), sum(row.view, *counter))),
        )?;
    }
    let help = "Final responses by status class.";
    counters(to, "steelyard_server_responses", None, help, by_label(&rows, "class", CLASSES))?;
    let help = "Response heads that were repaired as `lenient-responses` allows, by fault.";
    counters(
        to,
        "steelyard_server_responses_repaired",
        None,
        help,
        by_label(&rows, "kind", MENDED),
    )?;
    let help = "Bytes to and from the server.";
    counters(
        to,
        "steelyard_server_traffic",
        Some(Unit::Bytes),
        help,
        by_label(&rows, "direction", BYTES),
    )?;
    handshake_groups::encode_servers(pools, to)?;
    error_origins::encode_servers(pools, to)?;
    causes(&rows, to)?;
    phases(&rows, to)
}

fn states(rows: &[ServerViewRow], to: &mut DescriptorEncoder) -> Result<(), Error> {
    let all = rows.iter().flat_map(|row| STATES.iter().map(move |state| (row, state)));
    let all = all.map(|(row, state)| {
        let [pool, server] = server_labels(row);
        ([pool, server, ("state", state.name())], if row.view.state == *state { 1.0 } else { 0.0 })
    });
    gauges(to, "steelyard_server_state", None, "1 for the state that the server has.", all)?;
    let gauge = |value: fn(&ServerView) -> f64| {
        rows.iter().map(move |row| (server_labels(row), value(row.view)))
    };
    let weight = gauge(|view| f64::from(view.weight.get()));
    gauges(to, "steelyard_server_weight", None, "The server's current weight.", weight)?;
    let in_flight = gauge(|view| f64::from(view.stats.in_flight.get()));
    gauges(
        to,
        "steelyard_server_in_flight",
        None,
        "Exchanges or tcp connections in flight.",
        in_flight,
    )?;
    let open = gauge(|view| f64::from(view.stats.connections.get()));
    gauges(
        to,
        "steelyard_server_connections_open",
        None,
        "Open connections, idle ones included.",
        open,
    )
}

fn by_label<'a>(
    rows: &'a [ServerViewRow<'a>],
    label: &'static str,
    fields: &'static [ServerCounterRow],
) -> impl Iterator<Item = ([(&'a str, &'a str); 3], u64)> {
    rows.iter().flat_map(move |row| {
        fields.iter().map(move |LabelledCounter { value, counter }| {
            let [pool, server] = server_labels(row);
            ([pool, server, (label, *value)], sum(row.view, *counter))
        })
    })
}

fn causes(rows: &[ServerViewRow], to: &mut DescriptorEncoder) -> Result<(), Error> {
    let all = rows.iter().flat_map(|row| {
        Cause::ALL.iter().enumerate().filter_map(move |(at, cause)| {
            let count: u64 = row.view.stats.slots.iter().map(|slot| slot.causes[at].get()).sum();
            let [pool, server] = server_labels(row);
            (count > 0).then_some(([pool, server, ("cause", cause.name())], count))
        })
    });
    let help = "Attempts that did not end well, by cause; causes without any are left out.";
    counters(to, "steelyard_server_causes", None, help, all)
}

fn phases(rows: &[ServerViewRow], to: &mut DescriptorEncoder) -> Result<(), Error> {
    let all = rows.iter().flat_map(|row| {
        ExchangePhaseHistograms::NAMES
            .iter()
            .enumerate()
            .filter(|(at, _)| PHASES.contains(at))
            .filter_map(move |(at, phase)| {
                let sum: HistogramSum =
                    merge_phase(row.view.stats.slots.iter().map(|slot| slot.phases.all()[at]));
                let [pool, server] = server_labels(row);
                (sum.count() > 0).then_some(([pool, server, ("phase", *phase)], sum))
            })
    });
    let help = "Duration of exchanges with the server by phase; phases without any are left out.";
    histograms(to, "steelyard_server_phase", help, &EDGES, all)
}

fn server_labels<'a>(row: &ServerViewRow<'a>) -> [(&'a str, &'a str); 2] {
    [("pool", row.pool), ("server", row.view.config.name.as_str())]
}

fn sum(view: &ServerView, field: ServerCounterFn) -> u64 {
    view.stats.slots.iter().map(|slot| field(&slot.counters).get()).sum()
}
