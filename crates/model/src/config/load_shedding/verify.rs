//! Verifies load shedding.

use crate::config::circuit_breaker::NOBODY_WAITS;
use crate::config::circuit_breaker::has_connection_cap;
use crate::config::finding::{FindingCollector, FindingDetails};
use crate::config::section::ConfigSection;

/// Rejects a target above the interval, and warns of load shedding that never acts.
pub fn verify_load_shedding(
    shed: &ConfigSection,
    pool: &ConfigSection,
    path: &str,
    sink: &mut FindingCollector<'_, '_>,
) {
    let time = |section: &ConfigSection, key: &str| section.time(key);
    let target = time(shed, "target");
    let interval = time(shed, "interval");
    if target > interval && (shed.is_written("target") || shed.is_written("interval")) {
        let key = if shed.is_written("interval") { "interval" } else { "target" };
        let trouble =
            FindingDetails::new("`interval` is shorter than `target`: no queue drains in it")
                .with_expected("`interval` of several times `target`");
        sink.error(shed.span_of(key), &format!("{path}.{key}"), trouble);
    }
    let longest = pool.table("timeout").and_then(|timeout| time(timeout, "queue"));
    let never = match longest {
        Some(longest) if target >= Some(longest) => {
            format!("it never acts: nobody waits longer than `timeout.queue`, {longest:?}")
        }
        _ if !has_connection_cap(pool) => format!("it has no effect: {NOBODY_WAITS}"),
        _ => return,
    };
    sink.warning(shed.span_of("target"), path, FindingDetails::new(never));
}
