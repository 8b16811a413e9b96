//! Measured exchanges → whose time the slowest took. Pure: numbers get names, and sums are put into order.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use api::types::{SlowExample, SlowExplained, SlowQuery, SlowReason, SlowService};
use model::attribute::advice::advice;
use model::attribute::network::Prefix;
use model::attribute::{Bars, Facts, Filter, Group, Phases, judge};
use model::limit::Limit;
use model::moment::Moment;
use model::snapshot::ServiceView;

use super::insight::{self, Watching};
use super::parts::{groups, millis, named, owner_name, owners, percent, seconds};
use crate::control::{Picture, ServerFacts};
use crate::slow::Slow;

/// The share that is shown unless another is asked for, percent.
const SHARE: f64 = 1.0;
/// The time that is looked at unless another is asked for, milliseconds.
const SINCE_MS: u64 = 300_000;

/// A refusal: its status, kind and detail.
pub type Refused = (u16, &'static str, String);

/// What was asked; `now`: on the workers' clock, and in milliseconds since 1970.
///
/// # Errors
/// A query that cannot be, or a service or server that there is not.
pub fn explain(
    picture: &Picture,
    slow: &Slow,
    watching: &Watching<'_>,
    query: &SlowQuery,
    now: Moment,
    now_unix_ms: u64,
) -> Result<SlowExplained, Refused> {
    let percent = query.share_percent.unwrap_or(SHARE);
    if !(percent > 0.0 && percent <= 100.0) {
        let why = format!("share-percent is {percent}; it is above 0 and at most 100");
        return Err((400, "query", why));
    }
    let from: Option<Prefix> = match &query.from {
        Some(text) => Some(text.parse().map_err(|why| (400, "query", why))?),
        None => None,
    };
    let servers = query.server.as_ref().map(|server| servers(picture, server)).transpose()?;
    let since_ms = query.since_ms.unwrap_or(SINCE_MS);
    let since = now.0.saturating_sub(since_ms.saturating_mul(1_000_000));
    let mut views: Vec<_> = picture.snapshot.services.values().collect();
    views.sort_by(|a, b| a.config.name.cmp(&b.config.name));
    if let Some(name) = &query.service {
        let known: Vec<&str> = views.iter().map(|view| view.config.name.as_str()).collect();
        if !known.contains(&name.as_str()) {
            let why = format!("there is no service '{name}'; there are {}", known.join(", "));
            return Err((404, "no-service", why));
        }
        views.retain(|view| view.config.name == *name);
    }
    let watched = views.iter().filter_map(|view| {
        let ago = since_ms.saturating_mul(1_000_000);
        let (service, servers) = (view.id.0, servers.clone());
        let filter = model::insight::Filter { service, servers, from, since: ago };
        insight::service(picture, watching, view, &filter, now_unix_ms)
    });
    let packets = watched.collect();
    let unix = |at: u64| now_unix_ms.saturating_sub(now.0.saturating_sub(at) / 1_000_000);
    let each = views.iter().filter_map(|view| {
        let share = percent / 100.0;
        let filter = Filter { service: view.id.0, servers: servers.clone(), from, share, since };
        service(picture, slow, view, &filter, unix)
    });
    Ok(SlowExplained {
        now_unix_ms,
        since_unix_ms: now_unix_ms.saturating_sub(since_ms),
        share_percent: percent,
        sample: slow.sample(),
        services: each.collect(),
        packets,
        dropped: slow.totals().dropped,
    })
}

/// The servers that are meant by `POOL/NAME` or `POOL`.
fn servers(picture: &Picture, text: &str) -> Result<Vec<u32>, Refused> {
    let (pool, name) = text.split_once('/').unwrap_or((text, "*"));
    let fits = |facts: &&std::sync::Arc<ServerFacts>| {
        facts.pool_name == pool && (name == "*" || facts.config.name == name)
    };
    let found: Vec<u32> = picture.servers.values().filter(fits).map(|facts| facts.id.0).collect();
    match found.is_empty() {
        true => Err((
            404,
            "no-server",
            format!("there is no server '{text}'; expected POOL or POOL/NAME"),
        )),
        false => Ok(found),
    }
}

fn service(
    picture: &Picture,
    slow: &Slow,
    view: &ServiceView,
    filter: &Filter,
    unix: impl Fn(u64) -> u64,
) -> Option<SlowService> {
    let found = slow.slowest(filter);
    if found.measured == 0 {
        return None;
    }
    let name = |id: Option<u32>| named(picture, id);
    let mut pools: BTreeMap<String, (f64, Bars)> = BTreeMap::new();
    for group in &found.servers {
        let server = name(group.key);
        let pool = server.split_once('/').map_or("none", |(pool, _)| pool);
        let sum = pools.entry(pool.to_owned()).or_default();
        sum.0 += group.exchanges;
        sum.1.join(&group.bars, 1.0);
    }
    let pools = pools.into_iter().map(|(key, (exchanges, bars))| Group { key, exchanges, bars });
    let mut pools: Vec<Group<String>> = pools.collect();
    pools.sort_by_key(|group| std::cmp::Reverse(group.bars.total()));
    let largest = view.live.holders.largest(1).into_iter().next();
    Some(SlowService {
        connections: view.live.open.get(),
        largest_client: largest.map(|holder| holder.client.to_string()),
        largest_client_connections: largest.map_or(0, |holder| holder.connections),
        name: view.config.name.clone(),
        bound_ms: millis(view.live.slow_from.load(Ordering::Relaxed)),
        exchanges: found.all,
        slowest: found.chosen,
        measured: found.measured,
        quickest_ms: millis(found.bound),
        seconds: seconds(found.bars.total()),
        owners: owners(&found.bars),
        reasons: reasons(&found.bars),
        pools: groups(&pools, Clone::clone),
        servers: groups(&found.servers, |id| name(*id)),
        networks: groups(&found.networks, ToString::to_string),
        examples: found.examples.iter().map(|facts| example(facts, picture, &unix)).collect(),
    })
}

fn reasons(bars: &Bars) -> Vec<SlowReason> {
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

fn example(facts: &Facts, picture: &Picture, unix: impl Fn(u64) -> u64) -> SlowExample {
    let phases = Phases::NAMES.iter().zip(facts.phases.all()).filter(|(_, nanos)| *nanos > 0);
    let bars = judge(facts);
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
        ended_unix_ms: unix(facts.at),
        client: facts.client.to_string(),
        server: facts.server.map(|id| named(picture, Some(id))),
        status: facts.status,
        cause: facts.ended().map(|cause| cause.name().to_owned()),
        attempts: facts.attempts,
        total_ms: millis(facts.total),
        phases_ms: phases.map(|(name, nanos)| ((*name).to_owned(), millis(nanos))).collect(),
        parts_ms: parts.collect(),
        notes: notes.iter().filter(|(is, _)| *is).map(|(_, note)| (*note).to_owned()).collect(),
        client_tcp: facts.client_tcp,
        server_tcp: facts.server_tcp,
    }
}
