//! What is counted of services. Rows by service; causes are always all there, so that their first increase is seen.

use std::fmt::Error;

use model::snapshot::ServiceView;
use model::stats::{Count, ServiceCounters};
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::registry::Unit;

use super::family::{LabelledCounter, counters, gauges};
use super::{error_origins, handshake_groups, service_causes, service_phases};

type ServiceCounterFn = fn(&ServiceCounters) -> &Count;

type ServiceCounterRow = LabelledCounter<ServiceCounterFn>;

/// A family: its name, its help, and its rows.
pub(super) struct LabelledFamily {
    pub(super) name: &'static str,
    /// Its unit is bytes; otherwise it counts things.
    bytes: bool,
    help: &'static str,
    label: &'static str,
    pub(super) rows: &'static [ServiceCounterRow],
}

/// A family without a label has one row with an empty label value.
pub(super) const FAMILIES: &[LabelledFamily] = &[
    plain(
        "connections_accepted",
        "Client connections accepted.",
        &[ServiceCounterRow::new("", |c| &c.accepted)],
    ),
    plain(
        "connections_refused",
        "Accepted client connections that were closed at once because of a limit.",
        &[ServiceCounterRow::new("", |c| &c.refused)],
    ),
    plain(
        "connections_closed",
        "Client connections closed, for any reason.",
        &[ServiceCounterRow::new("", |c| &c.closed)],
    ),
    plain(
        "requests",
        "Requests whose head was read, or tcp connections passed to a server.",
        &[ServiceCounterRow::new("", |c| &c.requests)],
    ),
    labelled(
        "ended",
        "Requests that ended, by outcome.",
        "outcome",
        &[
            ServiceCounterRow::new("answered", |c| &c.answered),
            ServiceCounterRow::new("local-reply", |c| &c.answered_by_us),
            ServiceCounterRow::new("aborted", |c| &c.aborted),
            ServiceCounterRow::new("upgraded", |c| &c.upgraded),
        ],
    ),
    labelled(
        "responses",
        "Responses of servers by status class.",
        "class",
        &[
            ServiceCounterRow::new("1xx", |c| &c.informational),
            ServiceCounterRow::new("2xx", |c| &c.status_2xx),
            ServiceCounterRow::new("3xx", |c| &c.status_3xx),
            ServiceCounterRow::new("4xx", |c| &c.status_4xx),
            ServiceCounterRow::new("5xx", |c| &c.status_5xx),
        ],
    ),
    LabelledFamily {
        bytes: true,
        ..labelled(
            "client",
            "Bytes from and to clients.",
            "direction",
            &[
                ServiceCounterRow::new("in", |c| &c.client_in),
                ServiceCounterRow::new("out", |c| &c.client_out),
            ],
        )
    },
    LabelledFamily {
        bytes: true,
        ..plain(
            "spliced",
            "Bytes from and to clients that were moved within the kernel (splice).",
            &[ServiceCounterRow::new("", |c| &c.spliced)],
        )
    },
    plain(
        "retries",
        "Retries: attempts after the first.",
        &[ServiceCounterRow::new("", |c| &c.retried)],
    ),
    plain(
        "replays",
        "Requests sent again because an idle connection was stale.",
        &[ServiceCounterRow::new("", |c| &c.replayed)],
    ),
    plain(
        "trailers_dropped",
        "Trailers that were dropped: not allowed in trailers, or reserved for Steelyard.",
        &[ServiceCounterRow::new("", |c| &c.trailers_dropped)],
    ),
    plain(
        "fields_dropped",
        "Header fields of requests that were dropped because of unusual characters in their names.",
        &[ServiceCounterRow::new("", |c| &c.fields_dropped)],
    ),
    labelled(
        "clients_from_proxies",
        "Requests of proxies in `trust`, by whether `client-from` named their client.",
        "named",
        &[
            ServiceCounterRow::new("yes", |c| &c.clients_named),
            ServiceCounterRow::new("no", |c| &c.clients_unnamed),
        ],
    ),
    plain(
        "edits_ambiguous",
        "Edits that were applied although only some readings of the request match.",
        &[ServiceCounterRow::new("", |c| &c.edits_ambiguous)],
    ),
    plain(
        "auth_admitted",
        "Authenticated requests.",
        &[ServiceCounterRow::new("", |c| &c.auth_admitted)],
    ),
    plain(
        "auth_cached",
        "Requests authenticated from the cache.",
        &[ServiceCounterRow::new("", |c| &c.auth_cached)],
    ),
    labelled(
        "auth_requests",
        "Requests to authentication servers of `[auth]`, by outcome.",
        "outcome",
        &[
            ServiceCounterRow::new("passed", |c| &c.question_passed),
            ServiceCounterRow::new("refused", |c| &c.question_refused),
            ServiceCounterRow::new("failed", |c| &c.question_failed),
            ServiceCounterRow::new("allowed", |c| &c.question_allowed),
        ],
    ),
    plain(
        "auth_cache_evictions",
        "Cached responses of authentication servers that were evicted early because the cache was full.",
        &[ServiceCounterRow::new("", |c| &c.answers_evicted)],
    ),
    plain(
        "auth_bodies_dropped",
        "Bodies of authentication servers' refusals that were dropped because they were too long.",
        &[ServiceCounterRow::new("", |c| &c.question_bodies_dropped)],
    ),
    labelled(
        "tokens_refused",
        "Requests refused for their token (JWT), by reason.",
        "reason",
        &[
            ServiceCounterRow::new("absent", |c| &c.token_absent),
            ServiceCounterRow::new("malformed", |c| &c.token_malformed),
            ServiceCounterRow::new("algorithm", |c| &c.token_algorithm),
            ServiceCounterRow::new("unknown-key", |c| &c.token_unknown_key),
            ServiceCounterRow::new("signature", |c| &c.token_signature),
            ServiceCounterRow::new("expired", |c| &c.token_expired),
            ServiceCounterRow::new("not-yet-valid", |c| &c.token_not_yet_valid),
            ServiceCounterRow::new("issuer", |c| &c.token_issuer),
            ServiceCounterRow::new("audience", |c| &c.token_audience),
            ServiceCounterRow::new("claim", |c| &c.token_claim),
        ],
    ),
    plain(
        "log_lines_dropped",
        "Access log lines that were dropped because the queue was full.",
        &[ServiceCounterRow::new("", |c| &c.log_dropped)],
    ),
    plain(
        "idle_closed",
        "Idle client connections closed at their timeout.",
        &[ServiceCounterRow::new("", |c| &c.idle_closed)],
    ),
    labelled(
        "connections_evicted",
        "Client connections closed to make room for new ones, by what they were doing.",
        "phase",
        &[
            ServiceCounterRow::new("silent", |c| &c.evicted_silent),
            ServiceCounterRow::new("stalled", |c| &c.evicted_stalled),
            ServiceCounterRow::new("idle", |c| &c.evicted_idle),
        ],
    ),
    labelled(
        "accept_failures",
        "Accept calls that failed.",
        "reason",
        &[
            ServiceCounterRow::new("no-descriptor", |c| &c.accept_no_descriptor),
            ServiceCounterRow::new("other", |c| &c.accept_failed),
        ],
    ),
    labelled(
        "tls_handshakes",
        "TLS handshakes with clients; `finished` includes resumed ones.",
        "result",
        &[
            ServiceCounterRow::new("finished", |c| &c.tls_handshakes),
            ServiceCounterRow::new("resumed", |c| &c.tls_resumed),
            ServiceCounterRow::new("failed", |c| &c.tls_failed),
        ],
    ),
    plain(
        "proxy_headers",
        "PROXY protocol headers received from clients.",
        &[ServiceCounterRow::new("", |c| &c.proxy_headers)],
    ),
    plain(
        "compressed",
        "Responses that were compressed.",
        &[ServiceCounterRow::new("", |c| &c.compressed)],
    ),
    LabelledFamily {
        bytes: true,
        ..labelled(
            "compress",
            "Bytes of compressed responses, before (`in`) and after (`out`) compression.",
            "direction",
            &[
                ServiceCounterRow::new("in", |c| &c.compress_in),
                ServiceCounterRow::new("out", |c| &c.compress_out),
            ],
        )
    },
    labelled(
        "compress_skipped",
        "Responses that were not compressed although compression is on, by reason.",
        "reason",
        &[
            ServiceCounterRow::new("coded", |c| &c.compress_coded),
            ServiceCounterRow::new("kept", |c| &c.compress_kept),
            ServiceCounterRow::new("type", |c| &c.compress_type),
            ServiceCounterRow::new("small", |c| &c.compress_small),
            ServiceCounterRow::new("old", |c| &c.compress_old),
            ServiceCounterRow::new("client", |c| &c.compress_client),
            ServiceCounterRow::new("busy", |c| &c.compress_busy),
            ServiceCounterRow::new("full", |c| &c.compress_full),
        ],
    ),
    labelled(
        "buffered",
        "Bodies that were buffered: of requests, and of responses, whose server was then free.",
        "direction",
        &[
            ServiceCounterRow::new("request", |c| &c.buffered_requests),
            ServiceCounterRow::new("answer", |c| &c.buffered_answers),
        ],
    ),
    labelled(
        "buffer_limits",
        "Bodies that were not buffered, or only in part, by limit.",
        "limit",
        &[
            ServiceCounterRow::new("length", |c| &c.buffer_beyond),
            ServiceCounterRow::new("memory", |c| &c.buffer_full),
        ],
    ),
    plain(
        "http2_connections",
        "HTTP/2 client connections.",
        &[ServiceCounterRow::new("", |c| &c.http2_connections)],
    ),
    labelled(
        "http2_limits",
        "HTTP/2 connections closed and streams refused by a limit.",
        "limit",
        &[
            ServiceCounterRow::new("age", |c| &c.http2_aged),
            ServiceCounterRow::new("streams", |c| &c.http2_refused),
            ServiceCounterRow::new("resets", |c| &c.http2_resets),
            ServiceCounterRow::new("control-frames", |c| &c.http2_control_frames),
            ServiceCounterRow::new("tiny-frames", |c| &c.http2_tiny_frames),
            ServiceCounterRow::new("malformed", |c| &c.http2_malformed),
        ],
    ),
    plain(
        "http3_connections",
        "HTTP/3 client connections.",
        &[ServiceCounterRow::new("", |c| &c.http3_connections)],
    ),
    labelled(
        "http3_limits",
        "HTTP/3 connections closed by a limit, and clients that had to validate their address first (Retry).",
        "limit",
        &[
            ServiceCounterRow::new("age", |c| &c.http3_aged),
            ServiceCounterRow::new("resets", |c| &c.http3_resets),
            ServiceCounterRow::new("prove", |c| &c.http3_proven),
        ],
    ),
    plain(
        "sticky_unkeyed",
        "Requests with a sticky session cookie that an older version made without a secret.",
        &[ServiceCounterRow::new("", |c| &c.sticky_unkeyed)],
    ),
    plain(
        "http3_moved",
        "HTTP/3 connections whose client migrated to another address or port.",
        &[ServiceCounterRow::new("", |c| &c.http3_moved)],
    ),
    labelled(
        "quic_packets",
        "QUIC packets by result: read for another endpoint, lost here, withheld from an address that is not \
         validated, refused because another user's process passed them.",
        "result",
        &[
            ServiceCounterRow::new("forwarded", |c| &c.quic_forwarded),
            ServiceCounterRow::new("lost", |c| &c.quic_lost),
            ServiceCounterRow::new("withheld", |c| &c.quic_withheld),
            ServiceCounterRow::new("refused", |c| &c.quic_refused),
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
    gauge(services, to, "connections_open", "Open client connections.", |view| {
        f64::from(view.stats.open_connections.get())
    })?;
    let help = "Exchanges or tcp connections in flight.";
    gauge(services, to, "in_flight", help, |view| f64::from(view.stats.in_flight.get()))?;
    let help = "Requests of the busiest worker divided by the mean of all workers; 1 is even.";
    gauge(services, to, "worker_skew_ratio", help, skew)?;
    handshake_groups::encode_services(services, to)?;
    error_origins::encode_services(services, to)?;
    service_causes::encode_services(services, to)?;
    service_phases::encode_services(services, to)
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
    if all == 0 { 1.0 } else { most as f64 * view.stats.slots.workers() as f64 / all as f64 }
}

const fn plain(
    name: &'static str,
    help: &'static str,
    rows: &'static [ServiceCounterRow],
) -> LabelledFamily {
    LabelledFamily { name, bytes: false, help, label: "", rows }
}

const fn labelled(
    name: &'static str,
    help: &'static str,
    label: &'static str,
    rows: &'static [ServiceCounterRow],
) -> LabelledFamily {
    LabelledFamily { name, bytes: false, help, label, rows }
}
