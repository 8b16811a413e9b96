//! Verifies retries and related limits.

use crate::config::finding::{FindingCollector, FindingDetails};
use crate::config::outlier_detection::verify_ejection_share;
use crate::config::section::ConfigSection;
use crate::config::status_range::StatusRange;
use crate::config::unsupported_keys::written_keys;
use crate::config::value::ConfigValue;

/// Verifies the effective settings of a pool at `path`.
pub fn verify_resilience(pool: &ConfigSection, path: &str, sink: &mut FindingCollector<'_, '_>) {
    if let Some(retry) = pool.table("retry") {
        verify_order(retry, "back-off", "max-back-off", &format!("{path}.retry"), sink);
        if pool.count::<u64>("retries") == Some(0) {
            for key in written_keys(retry, "") {
                let message =
                    format!("`retry.{key}` has no effect: `retries = 0` allows no further attempt");
                let trouble = FindingDetails::new(message)
                    .with_expected("`retries = 1` or more, or no such key");
                sink.warning(retry.span_of(key), &format!("{path}.retry.{key}"), trouble);
            }
        }
        verify_retried_statuses(retry, &format!("{path}.retry"), sink);
        if retry.flag("unsent-only") && pool.table("hedge").is_some() {
            let message = "`hedge` sends requests to two servers, and this forbids it";
            let trouble = FindingDetails::new(message).with_expected("one of the two");
            sink.error(retry.span_of("unsent-only"), &format!("{path}.retry.unsent-only"), trouble);
        }
    }
    if let Some(breaker) = pool.table("circuit-breaker") {
        crate::config::circuit_breaker::verify_circuit_breaker(
            breaker,
            pool,
            &format!("{path}.circuit-breaker"),
            sink,
        );
    }
    if let Some(shed) = pool.table("load-shedding") {
        crate::config::load_shedding::verify_load_shedding(
            shed,
            pool,
            &format!("{path}.load-shedding"),
            sink,
        );
    }
    if let Some(hedge) = pool.table("hedge") {
        crate::config::hedging::verify_hedging(hedge, pool, &format!("{path}.hedge"), sink);
    }
    if let Some(eject) = pool.table("eject") {
        verify_order(eject, "base-time", "max-time", &format!("{path}.eject"), sink);
        verify_ejection_share(eject, pool, path, sink);
    }
}

/// Warns of good answers whose requests are sent again.
pub fn verify_retried_statuses(
    retry: &ConfigSection,
    path: &str,
    sink: &mut FindingCollector<'_, '_>,
) {
    if let Some(ConfigValue::Status(ranges)) = retry.value("on")
        && let Some(StatusRange { first, .. }) = ranges.iter().find(|range| range.first < 400)
    {
        let message =
            format!("answers of status {first} are good, and their requests are sent again");
        let trouble =
            FindingDetails::new(message).with_expected("statuses of 400 and above, such as 503");
        sink.warning(retry.span_of("on"), &format!("{path}.on"), trouble);
    }
}

/// Requires the first time to be at most the second.
fn verify_order(
    section: &ConfigSection,
    first: &str,
    most: &str,
    path: &str,
    sink: &mut FindingCollector<'_, '_>,
) {
    let (Some(short), Some(long)) = (section.time(first), section.time(most)) else { return };
    if short > long && (section.is_written(first) || section.is_written(most)) {
        let key = if section.is_written(most) { most } else { first };
        let message = format!("`{first}` is longer than `{most}`, which is the longest");
        let trouble =
            FindingDetails::new(message).with_expected(format!("`{first}` of at most `{most}`"));
        sink.error(section.span_of(key), &format!("{path}.{key}"), trouble);
    }
}
