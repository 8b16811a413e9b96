//! Judges how a pool stands by its requests: times that exceed their own limit, an ejection that never ejects, limits that
//! nothing can meet.

use super::super::finding::{FindingCollector, FindingDetails};
use super::super::section::ConfigSection;
use super::super::value::ConfigValue;
use super::method::written_keys;

/// Judge a pool in force at `path`.
pub fn verify(pool: &ConfigSection, path: &str, sink: &mut FindingCollector<'_, '_>) {
    if let Some(retry) = pool.table("retry") {
        verify_order(retry, ("back-off", "back-off-most"), &format!("{path}.retry"), sink);
        if pool.count::<u64>("retries") == Some(0) {
            for key in written_keys(retry, "") {
                let message =
                    format!("`retry.{key}` has no effect: `retries = 0` allows no further attempt");
                let trouble = FindingDetails::new(message)
                    .with_expected("`retries = 1` or more, or no such key");
                sink.warning(retry.span_of(key), &format!("{path}.retry.{key}"), trouble);
            }
        }
        if let Some(ConfigValue::Status(ranges)) = retry.value("on")
            && let Some((first, _)) = ranges.iter().find(|(first, _)| *first < 400)
        {
            let message =
                format!("answers of status {first} are good, and their requests are sent again");
            let trouble = FindingDetails::new(message)
                .with_expected("statuses of 400 and above, such as 503");
            sink.warning(retry.span_of("on"), &format!("{path}.retry.on"), trouble);
        }
    }
    if let Some(breaker) = pool.table("breaker") {
        self::verify_circuit_breaker(breaker, pool, &format!("{path}.breaker"), sink);
    }
    if let Some(shed) = pool.table("shed") {
        self::verify_load_shedding(shed, pool, &format!("{path}.shed"), sink);
    }
    if let Some(hedge) = pool.table("hedge") {
        self::verify_hedging(hedge, pool, &format!("{path}.hedge"), sink);
    }
    if let Some(eject) = pool.table("eject") {
        verify_order(eject, ("time", "most"), &format!("{path}.eject"), sink);
        verify_ejection_share(eject, pool, path, sink);
    }
}

/// Limits of which nothing can come, or not what was meant.
fn verify_circuit_breaker(
    breaker: &ConfigSection,
    pool: &ConfigSection,
    path: &str,
    sink: &mut FindingCollector<'_, '_>,
) {
    let mut warn = |key: &str, message: String| {
        sink.warning(breaker.span_of(key), &format!("{path}.{key}"), FindingDetails::new(message));
    };
    if breaker.count::<u64>("pending").is_some()
        && breaker.is_written("pending")
        && !has_connection_cap(pool)
    {
        warn("pending", format!("`breaker.pending` has no effect: {NOBODY_WAITS}"));
    }
    let retries = breaker.count::<u64>("retries").is_some() && breaker.is_written("retries");
    if retries && pool.count::<u64>("retries") == Some(0) {
        let message = "`breaker.retries` has no effect: `retries = 0` allows no further attempt";
        warn("retries", message.to_owned());
    }
    let servers = pool.list("servers").len() as u64;
    if let Some(most) = breaker.count::<u64>("connections").filter(|most| *most < servers) {
        let message = format!("{most} connections are fewer than {servers} servers");
        warn("connections", message);
    }
}

/// A queue that is never shed was meant otherwise.
fn verify_load_shedding(
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

/// A second server that nothing is ever sent to.
fn verify_hedging(
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

const NOBODY_WAITS: &str =
    "nobody waits for a server, as no server has a cap (`connections` of the pool or a server)";

/// Whether a server has a cap.
fn has_connection_cap(pool: &ConfigSection) -> bool {
    let capped = |section: &ConfigSection| section.count::<u64>("connections").is_some();
    capped(pool) || pool.list("servers").iter().any(capped)
}

/// The first time is at most the second.
fn verify_order(
    section: &ConfigSection,
    (first, most): (&str, &str),
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

/// A share that is less than one server was meant otherwise, if it was written.
fn verify_ejection_share(
    eject: &ConfigSection,
    pool: &ConfigSection,
    path: &str,
    sink: &mut FindingCollector<'_, '_>,
) {
    let servers = pool.list("servers").len() as u64;
    let Some(share) = eject.count::<u64>("share").filter(|_| eject.is_written("share")) else {
        return;
    };
    if share > 0 && servers > 1 && servers * share < 100 {
        let message =
            format!("{share} % of {servers} servers is less than one: none is ever put out");
        let least = format!("share = {}", 100_u64.div_ceil(servers));
        let trouble = FindingDetails::new(message).with_suggestion(Some(least));
        sink.warning(eject.span_of("share"), &format!("{path}.eject.share"), trouble);
    }
}
