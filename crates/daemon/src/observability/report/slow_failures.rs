//! Failed exchanges, as `explain slow` shows them first: what failed, how often, since when, by whom, to whom. Pure.

use api::types::{FailureTarget, SlowFailure};
use model::time_attribution::SlowExchangeReport;
use model::time_attribution::failure_groups::{FailedExchangeGroup, FailureShare};
use model::time_attribution::failure_history::{CountedFailure, FailurePeriod};

use super::slow_parts::owner_name;

/// Servers and networks of each failure.
const TARGETS: usize = 5;

/// The failures; `counted` has what the workers counted, and is empty where only some exchanges are asked about.
pub(super) fn slow_failures(
    found: &SlowExchangeReport,
    counted: &[CountedFailure],
    server_name: impl Fn(Option<u32>) -> String,
    unix: impl Fn(u64) -> u64,
) -> Vec<SlowFailure> {
    let measured = |group: &FailedExchangeGroup| CountedFailure {
        failure: group.failure,
        period: FailurePeriod {
            count: group.exchanges.round() as u64,
            first_at: group.first_at,
            last_at: group.last_at,
        },
    };
    let rows: Vec<CountedFailure> = match counted.is_empty() {
        true => found.failures.iter().map(measured).collect(),
        false => counted.to_vec(),
    };
    let failure = |row: &CountedFailure| {
        let group = found.failures.iter().find(|group| group.failure == row.failure);
        let count = row.period.count as f64;
        // The measured ones show the shares; the sum is what was counted.
        let scale = group.map_or(1.0, |group| count / group.exchanges.max(f64::MIN_POSITIVE));
        SlowFailure {
            cause: row.failure.name().to_owned(),
            code: row.failure.code().map(|code| code.name().to_owned()),
            owner: owner_name(Some(row.failure.owner())),
            title: row.failure.title().to_owned(),
            count,
            share_percent: (count * 100.0 / found.all.max(count).max(1.0)).min(100.0),
            first_unix_ms: unix(row.period.first_at),
            last_unix_ms: unix(row.period.last_at),
            servers: group.map_or_else(Vec::new, |group| {
                targets(&group.servers, scale, |server| server_name(*server))
            }),
            networks: group.map_or_else(Vec::new, |group| {
                targets(&group.networks, scale, ToString::to_string)
            }),
            example: group.map(|group| format!("{:016x}", group.last_id)),
            check: row.failure.check().to_owned(),
        }
    };
    rows.iter().map(failure).collect()
}

fn targets<K>(
    shares: &[FailureShare<K>],
    scale: f64,
    name: impl Fn(&K) -> String,
) -> Vec<FailureTarget> {
    let one = |share: &FailureShare<K>| FailureTarget {
        name: name(&share.key),
        count: share.exchanges * scale,
    };
    shares.iter().take(TARGETS).map(one).collect()
}
