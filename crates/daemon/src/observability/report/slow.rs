//! Measured exchanges → whose time the slowest took. Pure: numbers get names, and sums are put into order.

use std::sync::atomic::Ordering;

use api::types::{SlowExample, SlowExplained, SlowQuery, SlowReason, SlowService};
use model::limit::Limit;
use model::monotonic_time::MonotonicTime;
use model::snapshot::ServiceView;
use model::time_attribution::advice::advice;
use model::time_attribution::client_prefix::AddressPrefix;
use model::time_attribution::{
    ExchangeMeasurement, ExchangePhases, SlowExchangeFilter, TimeBreakdown, attribute_time,
};

use super::flow_samples::{self, FlowSampleQuery};
use super::slow_failures::slow_failures;
use super::slow_parts::{
    millis, owner_name, percent, seconds, server_label, slow_groups, slow_pools, time_by_owner,
};
use crate::observability::slow_exchanges::SlowExchangeStore;
use crate::state::{ServerFacts, StateSnapshot};

/// The default share of slow exchanges that is shown, percent.
const SHARE: f64 = 1.0;
/// The default period, milliseconds.
const SINCE_MS: u64 = 300_000;

/// Why a query is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryProblem {
    /// The status of HTTP.
    pub status: u16,
    pub kind: &'static str,
    pub detail: String,
}

impl QueryProblem {
    fn new(status: u16, kind: &'static str, detail: String) -> QueryProblem {
        QueryProblem { status, kind, detail }
    }
}

/// The query; `now`: on the workers' clock, and in milliseconds since 1970.
///
/// # Errors
/// A query that cannot be, or a service or server that there is not.
pub fn explain_slow(
    snapshot: &StateSnapshot,
    slow: &SlowExchangeStore,
    watching: &FlowSampleQuery<'_>,
    query: &SlowQuery,
    now: MonotonicTime,
    now_unix_ms: u64,
) -> Result<SlowExplained, QueryProblem> {
    let percent = query.share_percent.unwrap_or(SHARE);
    if !(percent > 0.0 && percent <= 100.0) {
        let why = format!("share-percent is {percent}; it is above 0 and at most 100");
        return Err(QueryProblem::new(400, "query", why));
    }
    let from: Option<AddressPrefix> = match &query.from {
        Some(text) => Some(text.parse().map_err(|why| QueryProblem::new(400, "query", why))?),
        None => None,
    };
    let servers = query.server.as_ref().map(|server| servers(snapshot, server)).transpose()?;
    let since_ms = query.since_ms.unwrap_or(SINCE_MS);
    let since = now.0.saturating_sub(since_ms.saturating_mul(1_000_000));
    let mut views: Vec<_> = snapshot.snapshot.services.values().collect();
    views.sort_by(|a, b| a.config.name.cmp(&b.config.name));
    if let Some(name) = &query.service {
        let known: Vec<&str> = views.iter().map(|view| view.config.name.as_str()).collect();
        if !known.contains(&name.as_str()) {
            let why = format!("there is no service '{name}'; there are {}", known.join(", "));
            return Err(QueryProblem::new(404, "no-service", why));
        }
        views.retain(|view| view.config.name == *name);
    }
    let watched = views.iter().filter_map(|view| {
        let ago = since_ms.saturating_mul(1_000_000);
        let service = view.id.0;
        let servers = servers.clone();
        let filter = model::flow_samples::FlowFilter { service, servers, from, since: ago };
        flow_samples::service_samples(snapshot, watching, view, &filter, now_unix_ms)
    });
    let packets = watched.collect();
    let unix = |at: u64| now_unix_ms.saturating_sub(now.0.saturating_sub(at) / 1_000_000);
    let each = views.iter().filter_map(|view| {
        let share = percent / 100.0;
        let filter =
            SlowExchangeFilter { service: view.id.0, servers: servers.clone(), from, share, since };
        service(snapshot, slow, view, &filter, unix)
    });
    Ok(SlowExplained {
        now_unix_ms,
        since_unix_ms: now_unix_ms.saturating_sub(since_ms),
        share_percent: percent,
        sample: slow.sample_interval(),
        services: each.collect(),
        packets,
        dropped: slow.totals().dropped,
    })
}

/// The servers that are meant by `POOL/NAME` or `POOL`.
fn servers(snapshot: &StateSnapshot, text: &str) -> Result<Vec<u32>, QueryProblem> {
    let (pool, name) = text.split_once('/').unwrap_or((text, "*"));
    let fits = |facts: &&std::sync::Arc<ServerFacts>| {
        facts.pool_name == pool && (name == "*" || facts.config.name == name)
    };
    let found: Vec<u32> = snapshot.servers.values().filter(fits).map(|facts| facts.id.0).collect();
    match found.is_empty() {
        true => Err(QueryProblem::new(
            404,
            "no-server",
            format!("there is no server '{text}'; expected POOL or POOL/NAME"),
        )),
        false => Ok(found),
    }
}

fn service(
    snapshot: &StateSnapshot,
    slow: &SlowExchangeStore,
    view: &ServiceView,
    filter: &SlowExchangeFilter,
    unix: impl Fn(u64) -> u64,
) -> Option<SlowService> {
    let found = slow.find_slowest(filter);
    let counted = match filter.servers.is_some() || filter.from.is_some() {
        // Which servers and clients a failure met is known only of those that were measured.
        true => Vec::new(),
        false => slow.counted_failures(filter.service, filter.since),
    };
    if found.measured == 0 && counted.is_empty() {
        return None;
    }
    let name = |id: Option<u32>| server_label(snapshot, id);
    let largest = view.stats.client_connections.largest_clients(1).into_iter().next();
    Some(SlowService {
        connections: view.stats.open_connections.get(),
        largest_client: largest.map(|holder| holder.client.to_string()),
        largest_client_connections: largest.map_or(0, |holder| holder.connections),
        name: view.config.name.clone(),
        threshold_ms: millis(view.stats.slow_threshold_ns.load(Ordering::Relaxed)),
        exchanges: found.all,
        sampled: found.sampled,
        failures: slow_failures(&found, &counted, name, &unix),
        slowest: found.chosen,
        measured: found.measured,
        min_ms: millis(found.threshold),
        seconds: seconds(found.breakdown.total()),
        owners: time_by_owner(&found.breakdown),
        reasons: reasons(&found.breakdown),
        pools: slow_pools(&found.servers, name),
        servers: slow_groups(&found.servers, |id| name(*id)),
        networks: slow_groups(&found.networks, ToString::to_string),
        examples: found.examples.iter().map(|facts| example(facts, snapshot, &unix)).collect(),
    })
}

fn reasons(bars: &TimeBreakdown) -> Vec<SlowReason> {
    let one = |owner, limit: Limit, nanos| SlowReason {
        owner: owner_name(owner),
        limit: limit.code().to_owned(),
        title: limit.title().to_owned(),
        seconds: seconds(nanos),
        share_percent: percent(nanos, bars.total()),
        advice: advice(owner, limit).to_owned(),
    };
    bars.all().iter().map(|bar| one(bar.owner, bar.limit, bar.nanos)).collect()
}

fn example(
    facts: &ExchangeMeasurement,
    snapshot: &StateSnapshot,
    unix: impl Fn(u64) -> u64,
) -> SlowExample {
    let phases =
        ExchangePhases::NAMES.iter().zip(facts.phases.values()).filter(|(_, nanos)| *nanos > 0);
    let bars = attribute_time(facts);
    let parts = bars
        .all()
        .iter()
        .map(|bar| (format!("{}/{}", owner_name(bar.owner), bar.limit.code()), millis(bar.nanos)));
    let flags = &facts.flags;
    let notes = [
        (flags.client_shared, "http2-client"),
        (flags.server_shared, "http2-server"),
        (flags.reused, "reused"),
        (flags.tunnel, "tunnel"),
    ];
    SlowExample {
        id: format!("{:016x}", facts.id),
        ended_unix_ms: unix(facts.ended_at),
        client: facts.client.to_string(),
        server: facts.server.map(|id| server_label(snapshot, Some(id))),
        status: facts.status,
        cause: facts.end_cause().map(|cause| cause.name().to_owned()),
        attempts: facts.attempts,
        total_ms: millis(facts.total),
        phases_ms: phases.map(|(name, nanos)| ((*name).to_owned(), millis(nanos))).collect(),
        parts_ms: parts.collect(),
        notes: notes.iter().filter(|(is, _)| *is).map(|(_, note)| (*note).to_owned()).collect(),
        client_tcp: facts.client_tcp,
        server_tcp: facts.server_tcp,
    }
}
