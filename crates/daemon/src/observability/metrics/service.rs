//! What is counted of services. Rows by service; causes are always all there, so that their first increase is seen.

use std::fmt::Error;

use model::cause::{Cause, Side};
use model::snapshot::ServiceView;
use model::stats::{
    Count, ExchangePhaseHistograms, HistogramSum, RequestPhaseHistograms, ServiceCounters,
};
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::registry::Unit;

use super::family::{counters, gauges, histograms};
use super::handshake_groups;
use crate::observability::report::totals::merge_phase;

/// Microseconds, powers of two: 64 µs to 16.8 s; with the open one sixteen buckets.
const EDGES: [u64; 15] = [
    1 << 6,
    1 << 7,
    1 << 8,
    1 << 9,
    1 << 10,
    1 << 11,
    1 << 12,
    1 << 13,
    1 << 14,
    1 << 15,
    1 << 16,
    1 << 17,
    1 << 19,
    1 << 21,
    1 << 24,
];

type ServiceCounterFn = fn(&ServiceCounters) -> &Count;

/// A counter of services, with the value of its family's label.
pub(super) struct LabelledCounter {
    pub(super) value: &'static str,
    pub(super) counter: ServiceCounterFn,
}

/// A family: its name, its help, and its rows.
pub(super) struct LabelledFamily {
    pub(super) name: &'static str,
    /// Its unit is bytes; otherwise it counts things.
    bytes: bool,
    help: &'static str,
    label: &'static str,
    pub(super) rows: &'static [LabelledCounter],
}

/// A family without a label has one row with an empty label value.
pub(super) const FAMILIES: &[LabelledFamily] = &[
    plain("connections_accepted", "Client connections accepted.", &[row("", |c| &c.accepted)]),
    plain(
        "connections_refused",
        "Client connections refused at once because of a limit, accepted ones all.",
        &[row("", |c| &c.refused)],
    ),
    plain(
        "connections_closed",
        "Client connections ended, for whatever reason.",
        &[row("", |c| &c.closed)],
    ),
    plain(
        "requests",
        "Requests whose head was read, or tcp connections given to a server.",
        &[row("", |c| &c.requests)],
    ),
    labelled(
        "ended",
        "How requests ended.",
        "end",
        &[
            row("answered", |c| &c.answered),
            row("answered-by-us", |c| &c.answered_by_us),
            row("aborted", |c| &c.aborted),
            row("upgraded", |c| &c.upgraded),
        ],
    ),
    labelled(
        "answers",
        "Answers of servers by class of status.",
        "class",
        &[
            row("1xx", |c| &c.informational),
            row("2xx", |c| &c.status_2xx),
            row("3xx", |c| &c.status_3xx),
            row("4xx", |c| &c.status_4xx),
            row("5xx", |c| &c.status_5xx),
        ],
    ),
    LabelledFamily {
        bytes: true,
        ..labelled(
            "client",
            "Bytes on the clients' side.",
            "direction",
            &[row("in", |c| &c.client_in), row("out", |c| &c.client_out)],
        )
    },
    LabelledFamily {
        bytes: true,
        ..plain(
            "spliced",
            "Of the clients' bytes, those moved within the kernel.",
            &[row("", |c| &c.spliced)],
        )
    },
    plain("retries", "Attempts after the first.", &[row("", |c| &c.retried)]),
    plain("replays", "Replays because a kept connection was stale.", &[row("", |c| &c.replayed)]),
    plain(
        "trailers_dropped",
        "Trailers that were dropped: not allowed there, or reserved to Steelyard.",
        &[row("", |c| &c.trailers_dropped)],
    ),
    plain(
        "fields_dropped",
        "Fields of requests that were dropped for unusual characters in their names.",
        &[row("", |c| &c.fields_dropped)],
    ),
    plain(
        "log_lines_dropped",
        "Access log lines that the queue did not take.",
        &[row("", |c| &c.log_dropped)],
    ),
    plain(
        "idle_closed",
        "Idle client connections closed at their limit.",
        &[row("", |c| &c.idle_closed)],
    ),
    labelled(
        "connections_evicted",
        "Client connections closed so that newcomers had a place, by what they did.",
        "phase",
        &[
            row("silent", |c| &c.evicted_silent),
            row("stalled", |c| &c.evicted_stalled),
            row("idle", |c| &c.evicted_idle),
        ],
    ),
    labelled(
        "accept_failures",
        "Accept calls that failed.",
        "reason",
        &[row("no-descriptor", |c| &c.accept_no_descriptor), row("other", |c| &c.accept_failed)],
    ),
    labelled(
        "tls_handshakes",
        "Handshakes with clients; resumed ones are part of the finished.",
        "end",
        &[
            row("finished", |c| &c.tls_handshakes),
            row("resumed", |c| &c.tls_resumed),
            row("failed", |c| &c.tls_failed),
        ],
    ),
    plain(
        "proxy_headers",
        "Headers of the PROXY protocol that client connections began with.",
        &[row("", |c| &c.proxy_headers)],
    ),
    plain(
        "compressed",
        "Answers of which a compressed form was begun.",
        &[row("", |c| &c.compressed)],
    ),
    LabelledFamily {
        bytes: true,
        ..labelled(
            "compress",
            "Bytes of compressed answers, as they came and as they went.",
            "direction",
            &[row("in", |c| &c.compress_in), row("out", |c| &c.compress_out)],
        )
    },
    labelled(
        "compress_skipped",
        "Answers left as they are where compressing is on.",
        "reason",
        &[
            row("coded", |c| &c.compress_coded),
            row("kept", |c| &c.compress_kept),
            row("type", |c| &c.compress_type),
            row("small", |c| &c.compress_small),
            row("old", |c| &c.compress_old),
            row("client", |c| &c.compress_client),
            row("busy", |c| &c.compress_busy),
            row("full", |c| &c.compress_full),
        ],
    ),
    labelled(
        "buffered",
        "Bodies that were kept: of requests, and of answers whose server was free first.",
        "direction",
        &[row("request", |c| &c.buffered_requests), row("answer", |c| &c.buffered_answers)],
    ),
    labelled(
        "buffer_limits",
        "Bodies that were not kept, or not further, by limit.",
        "limit",
        &[row("length", |c| &c.buffer_beyond), row("memory", |c| &c.buffer_full)],
    ),
    plain(
        "http2_connections",
        "Client connections in HTTP/2.",
        &[row("", |c| &c.http2_connections)],
    ),
    labelled(
        "http2_limits",
        "Connections in HTTP/2 ended by a limit, and streams refused by one.",
        "limit",
        &[
            row("age", |c| &c.http2_aged),
            row("streams", |c| &c.http2_refused),
            row("resets", |c| &c.http2_resets),
            row("control-frames", |c| &c.http2_control_frames),
            row("tiny-frames", |c| &c.http2_tiny_frames),
            row("malformed", |c| &c.http2_malformed),
        ],
    ),
    plain(
        "http3_connections",
        "Client connections in HTTP/3.",
        &[row("", |c| &c.http3_connections)],
    ),
    labelled(
        "http3_limits",
        "Connections in HTTP/3 ended by a limit, and clients that had to prove their address first.",
        "limit",
        &[
            row("age", |c| &c.http3_aged),
            row("resets", |c| &c.http3_resets),
            row("prove", |c| &c.http3_proven),
        ],
    ),
    plain(
        "sticky_unkeyed",
        "Requests with a cookie of ours that was made without a secret, by an older version.",
        &[row("", |c| &c.sticky_unkeyed)],
    ),
    plain(
        "http3_moved",
        "Connections in HTTP/3 whose client has moved to another address or port.",
        &[row("", |c| &c.http3_moved)],
    ),
    labelled(
        "quic_packets",
        "Reads of packets of QUIC that were another endpoint's, packets that were lost here, packets withheld from an \
         address that is not validated, and packets refused since another user's process handed them to us.",
        "result",
        &[
            row("forwarded", |c| &c.quic_forwarded),
            row("lost", |c| &c.quic_lost),
            row("withheld", |c| &c.quic_withheld),
            row("refused", |c| &c.quic_refused),
        ],
    ),
];

pub(super) fn encode(services: &[&ServiceView], to: &mut DescriptorEncoder) -> Result<(), Error> {
    for family in FAMILIES {
        let name = format!("steelyard_service_{}", family.name);
        let unit = family.bytes.then_some(Unit::Bytes);
        let rows = services.iter().flat_map(|view| family.rows.iter().map(move |row| (view, row)));
        let value = |view: &ServiceView, field: ServiceCounterFn| {
            view.stats.slots.iter().map(|slot| field(&slot.counters).get()).sum()
        };
        let rows = rows.map(|(view, row)| {
            let own = (!row.value.is_empty()).then_some((family.label, row.value));
            let labels: Vec<_> =
                [("service", view.config.name.as_str())].into_iter().chain(own).collect();
            (labels, value(view, row.counter))
        });
        counters(to, &name, unit, family.help, rows)?;
    }
    gauge(services, to, "connections_open", "Client connections open.", |view| {
        f64::from(view.stats.open_connections.get())
    })?;
    let help = "Exchanges or tcp connections under way.";
    gauge(services, to, "in_flight", help, |view| f64::from(view.stats.in_flight.get()))?;
    let help = "Requests of the busiest worker over the mean of all workers; 1 is even.";
    gauge(services, to, "worker_skew_ratio", help, skew)?;
    handshake_groups::encode_services(services, to)?;
    causes(services, to)?;
    phases(services, to)
}

fn gauge(
    services: &[&ServiceView],
    to: &mut DescriptorEncoder,
    name: &str,
    help: &str,
    value: fn(&ServiceView) -> f64,
) -> Result<(), Error> {
    let rows = services.iter().map(|view| ([("service", view.config.name.as_str())], value(view)));
    gauges(to, &format!("steelyard_service_{name}"), None, help, rows)
}

fn skew(view: &ServiceView) -> f64 {
    let requests: Vec<u64> =
        view.stats.slots.iter().map(|slot| slot.counters.requests.get()).collect();
    let all = requests.iter().sum::<u64>();
    let most = requests.iter().max().copied().unwrap_or(0);
    if all == 0 { 1.0 } else { most as f64 * requests.len() as f64 / all as f64 }
}

fn causes(services: &[&ServiceView], to: &mut DescriptorEncoder) -> Result<(), Error> {
    let rows = services.iter().flat_map(|view| {
        Cause::ALL.iter().enumerate().map(move |(at, cause)| {
            let labels = [
                ("service", view.config.name.as_str()),
                ("cause", cause.name()),
                ("side", encode_side(*cause)),
            ];
            (labels, view.stats.slots.iter().map(|slot| slot.causes[at].get()).sum())
        })
    });
    let help = "Ends other than well, by cause and who moved first.";
    counters(to, "steelyard_service_causes", None, help, rows)?;

    let rows = services.iter().flat_map(|view| {
        wire::http1::Defect::ALL.iter().enumerate().filter_map(move |(at, defect)| {
            let count: u64 = view.stats.slots.iter().map(|slot| slot.defects[at].get()).sum();
            let labels = [("service", view.config.name.as_str()), ("defect", defect.name())];
            (count > 0).then_some((labels, count))
        })
    });
    let help = "Refused requests by the rule of grammar or framing that they broke; rules never broken are left out.";
    counters(to, "steelyard_service_defects", None, help, rows)
}

fn phases(services: &[&ServiceView], to: &mut DescriptorEncoder) -> Result<(), Error> {
    let rows = services.iter().flat_map(|view| {
        ExchangePhaseHistograms::NAMES.iter().enumerate().map(move |(at, phase)| {
            let sum: HistogramSum =
                merge_phase(view.stats.slots.iter().map(|slot| slot.phases.all()[at]));
            ([("service", view.config.name.as_str()), ("phase", *phase)], sum)
        })
    });
    let before = services.iter().flat_map(|view| {
        RequestPhaseHistograms::NAMES.iter().enumerate().map(move |(at, phase)| {
            let slots = view.stats.slots.iter();
            let sum = merge_phase(slots.map(|slot| slot.request_phases.all()[at]));
            ([("service", view.config.name.as_str()), ("phase", *phase)], sum)
        })
    });
    let rows = before.chain(rows);
    histograms(to, "steelyard_exchange_phase", "Time of exchanges by phase.", &EDGES, rows)
}

pub(super) fn encode_side(cause: Cause) -> &'static str {
    match cause.side() {
        Side::Client => "client",
        Side::Us => "us",
        Side::Server => "server",
        Side::Network => "network",
    }
}

const fn plain(
    name: &'static str,
    help: &'static str,
    rows: &'static [LabelledCounter],
) -> LabelledFamily {
    LabelledFamily { name, bytes: false, help, label: "", rows }
}

const fn labelled(
    name: &'static str,
    help: &'static str,
    label: &'static str,
    rows: &'static [LabelledCounter],
) -> LabelledFamily {
    LabelledFamily { name, bytes: false, help, label, rows }
}

const fn row(value: &'static str, counter: ServiceCounterFn) -> LabelledCounter {
    LabelledCounter { value, counter }
}
