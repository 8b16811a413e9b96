//! Time by owner and limit, and its groups, as `explain slow` shows them. Pure.

use std::collections::BTreeMap;

use api::types::{SlowGroup, SlowOwner};
use model::id::ServerId;
use model::limit::{Limit, TimeOwner};
use model::time_attribution::{BreakdownGroup, TimeBreakdown};

use crate::state::StateSnapshot;

/// Rows of servers and of networks.
const ROWS: usize = 10;

pub(super) fn time_by_owner(bars: &TimeBreakdown) -> Vec<SlowOwner> {
    let all = TimeOwner::ALL.map(Some).into_iter().chain([None]);
    all.map(|owner| SlowOwner {
        owner: owner_name(owner),
        seconds: seconds(bars.owner_total(owner)),
        share_percent: percent(bars.owner_total(owner), bars.total()),
    })
    .collect()
}

/// Groups of servers summed up by pool, the one with the most time first.
pub(super) fn slow_pools(
    servers: &[BreakdownGroup<Option<u32>>],
    name: impl Fn(Option<u32>) -> String,
) -> Vec<SlowGroup> {
    let mut pools: BTreeMap<String, BreakdownGroup<String>> = BTreeMap::new();
    for group in servers {
        let server = name(group.key);
        let pool = server.split_once('/').map_or("none", |(pool, _)| pool).to_owned();
        let sum = pools.entry(pool.clone()).or_insert_with(|| BreakdownGroup {
            key: pool,
            exchanges: 0.0,
            breakdown: TimeBreakdown::default(),
        });
        sum.exchanges += group.exchanges;
        sum.breakdown.add_scaled(&group.breakdown, 1.0);
    }
    let mut pools: Vec<_> = pools.into_values().collect();
    pools.sort_by_key(|group| std::cmp::Reverse(group.breakdown.total()));
    slow_groups(&pools, Clone::clone)
}

/// The first rows, and the sum of the others.
pub(super) fn slow_groups<K>(
    groups: &[BreakdownGroup<K>],
    name: impl Fn(&K) -> String,
) -> Vec<SlowGroup> {
    let row = |name: String, exchanges: f64, bars: &TimeBreakdown| SlowGroup {
        name,
        exchanges,
        seconds: seconds(bars.total()),
        owner: owner_name(bars.largest().and_then(|bar| bar.owner)),
        limit: bars.largest().map_or(Limit::Unknown, |bar| bar.limit).code().to_owned(),
    };
    let first = groups.iter().take(ROWS);
    let mut rows: Vec<SlowGroup> =
        first.map(|group| row(name(&group.key), group.exchanges, &group.breakdown)).collect();
    let rest = groups.get(ROWS..).unwrap_or_default();
    if !rest.is_empty() {
        let mut bars = TimeBreakdown::default();
        rest.iter().for_each(|group| bars.add_scaled(&group.breakdown, 1.0));
        rows.push(row("others".into(), rest.iter().map(|group| group.exchanges).sum(), &bars));
    }
    rows
}

/// `POOL/NAME`; a server that is no longer configured has only its number.
pub(super) fn server_label(snapshot: &StateSnapshot, id: Option<u32>) -> String {
    let Some(id) = id else { return "none".to_owned() };
    match snapshot.servers.get(&ServerId(id)) {
        Some(facts) => format!("{}/{}", facts.pool_name, facts.config.name),
        None => format!("removed/{id}"),
    }
}

pub(super) fn owner_name(owner: Option<TimeOwner>) -> String {
    owner.map_or("unknown", TimeOwner::name).to_owned()
}

pub(super) fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 * 100.0 / whole as f64 }
}

pub(super) fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

pub(super) fn millis(nanos: u64) -> f64 {
    nanos as f64 / 1e6
}
