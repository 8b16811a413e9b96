//! What is counted of pools: what their requests cost beyond one attempt each, and what is limited.

use std::fmt::Error;

use model::circuit_breaker::BreakerResource;
use model::snapshot::PoolView;
use model::stats::Count;
use model::stats::pool::PoolCounters;
use prometheus_client::encoding::DescriptorEncoder;

use super::family::{CounterFamily, counters, gauges};
use crate::observability::report::breakers::{queued_count, refused_count, shedding_since};

type PoolCounterFn = fn(&PoolCounters) -> &Count;

type PoolCounterFamily = CounterFamily<PoolCounterFn>;

pub(super) const FAMILIES: &[PoolCounterFamily] = &[
    PoolCounterFamily::new("requests", "Requests or tcp connections for the pool.", |c| {
        &c.requests
    }),
    PoolCounterFamily::new("retries", "Retries that the retry budget allowed.", |c| &c.retries),
    PoolCounterFamily::new("retries_refused", "Retries that the retry budget refused.", |c| {
        &c.retries_refused
    }),
    PoolCounterFamily::new("retry_backoffs", "Back-off pauses before a retry.", |c| &c.backed_off),
    PoolCounterFamily::new(
        "statuses_retried",
        "Responses that were retried because of their status.",
        |c| &c.statuses_retried,
    ),
    PoolCounterFamily::new(
        "moved",
        "Requests moved to another server because theirs went down while they waited.",
        |c| &c.moved,
    ),
    PoolCounterFamily::new(
        "hedges",
        "Hedged requests: sent to a second server while the first one was silent.",
        |c| &c.hedges,
    ),
    PoolCounterFamily::new(
        "hedges_won",
        "Hedged requests that the second server answered first.",
        |c| &c.hedges_won,
    ),
    PoolCounterFamily::new(
        "hedges_lost",
        "Hedged requests whose second attempt was cancelled because the first server answered.",
        |c| &c.hedges_lost,
    ),
    PoolCounterFamily::new("shed", "Requests refused by load shedding.", |c| &c.shed),
];

pub(super) fn encode(
    pools: &[&PoolView],
    now: u64,
    to: &mut DescriptorEncoder,
) -> Result<(), Error> {
    for CounterFamily { name, help, counter } in FAMILIES {
        let rows = pools.iter().map(|pool| {
            let sum: u64 = pool.stats.slots.iter().map(|slot| counter(&slot.counters).get()).sum();
            ([("pool", pool.config.name.as_str())], sum)
        });
        counters(to, &format!("steelyard_pool_{name}"), None, help, rows)?;
    }
    breakers(pools, now, to)
}

fn breakers(pools: &[&PoolView], now: u64, to: &mut DescriptorEncoder) -> Result<(), Error> {
    let each = || {
        pools.iter().flat_map(|pool| BreakerResource::ALL.iter().map(move |bound| (pool, *bound)))
    };
    let labels = |pool: &PoolView, bound: BreakerResource| {
        [("pool", pool.config.name.clone()), ("bound", bound.name().to_owned())]
    };
    let rows = each().map(|(pool, bound)| (labels(pool, bound), refused_count(pool, bound)));
    let help = "Requests and retries that a circuit breaker refused.";
    counters(to, "steelyard_pool_breaker_refused", None, help, rows)?;

    let limited = || {
        each().filter_map(|(pool, bound)| {
            let limit = pool.config.breaker.limit_of(bound)?;
            Some((labels(pool, bound), pool.stats.breakers.get(bound), limit))
        })
    };
    let rows =
        limited().map(|(labels, it, _)| (labels, f64::from(u8::from(it.state(now).is_open()))));
    let help = "1 while a circuit breaker is open: until a second has passed without a refusal.";
    gauges(to, "steelyard_pool_breaker_open", None, help, rows)?;
    let rows = limited().map(|(labels, it, _)| (labels, f64::from(it.in_use())));
    gauges(
        to,
        "steelyard_pool_breaker_in_use",
        None,
        "Current use of a circuit breaker's limit.",
        rows,
    )?;
    let rows = limited().map(|(labels, _, limit)| (labels, f64::from(limit)));
    gauges(to, "steelyard_pool_breaker_limit", None, "A circuit breaker's limit.", rows)?;

    let name = |pool: &PoolView| [("pool", pool.config.name.clone())];
    let rows = pools.iter().map(|pool| (name(pool), f64::from(queued_count(pool))));
    gauges(to, "steelyard_pool_waiting", None, "Requests in the wait queue.", rows)?;
    let rows = pools
        .iter()
        .map(|pool| (name(pool), f64::from(u8::from(shedding_since(pool, now).is_some()))));
    let help = "1 while load shedding is active: until a second has passed without a refusal.";
    gauges(to, "steelyard_pool_shedding", None, help, rows)
}
