//! What is counted of pools: what their requests cost beyond one attempt each.

use std::fmt::Error;

use model::live::Count;
use model::live::pool::PoolCounters;
use model::snapshot::PoolView;
use prometheus_client::encoding::DescriptorEncoder;

use super::family::counters;

type Field = fn(&PoolCounters) -> &Count;

/// Names, helps and counters.
pub(super) const FAMILIES: &[(&str, &str, Field)] = &[
    ("requests", "Requests or tcp connections that came to the pool.", |c| &c.requests),
    ("retries", "Further attempts that the pool's budget allowed.", |c| &c.retries),
    ("retries_refused", "Further attempts not made: the budget was spent.", |c| &c.retries_refused),
    ("backed_off", "Pauses before a further attempt.", |c| &c.backed_off),
    ("statuses_retried", "Answers not passed on because of their status.", |c| &c.statuses_retried),
    ("moved", "Requests taken from a server that was judged to be down meanwhile.", |c| &c.moved),
];

pub(super) fn encode(pools: &[&PoolView], to: &mut DescriptorEncoder) -> Result<(), Error> {
    for (name, help, field) in FAMILIES {
        let rows = pools.iter().map(|pool| {
            let sum: u64 = pool.live.slots.iter().map(|slot| field(&slot.counters).get()).sum();
            ([("pool", pool.config.name.as_str())], sum)
        });
        counters(to, (&format!("steelyard_pool_{name}"), None, help), rows)?;
    }
    Ok(())
}
