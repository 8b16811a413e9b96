//! Verifies hedging.

use crate::config::finding::{FindingCollector, FindingDetails};
use crate::config::section::ConfigSection;

/// Warns of a delay that no attempt reaches, and of a pool that allows no second attempt.
pub fn verify_hedging(
    hedge: &ConfigSection,
    pool: &ConfigSection,
    path: &str,
    sink: &mut FindingCollector<'_, '_>,
) {
    let longest = pool.table("timeout").and_then(|timeout| timeout.time("first-byte"));
    if let (Some(after), Some(longest)) = (hedge.time("after"), longest)
        && after >= longest
    {
        let message = format!(
            "it never acts: an attempt ends after `timeout.first-byte`, {}",
            super::super::unit::Time(longest)
        );
        let trouble = FindingDetails::new(message).with_expected("a shorter `after`");
        sink.warning(hedge.span_of("after"), &format!("{path}.after"), trouble);
    }
    let alone = pool.list("servers").len() == 1 && pool.setting("servers-from").is_none();
    let why = match pool.count::<u64>("retries") {
        Some(0) => "`retries = 0` allows no further attempt",
        _ if alone => "the pool has one server",
        _ => return,
    };
    let trouble = FindingDetails::new(format!("`hedge` has no effect: {why}"));
    sink.warning(hedge.span, path, trouble);
}
