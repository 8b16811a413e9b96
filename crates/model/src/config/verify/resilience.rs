//! Judges how a pool stands by its requests: times that exceed their own limit, an ejection that never ejects, limits that
//! nothing can meet.

use super::super::finding::{Sink, Trouble};
use super::super::section::Section;
use super::super::value::Value;
use super::method::set_here;

/// Judge a pool in force at `path`.
pub fn verify(pool: &Section, path: &str, sink: &mut Sink<'_, '_>) {
    if let Some(retry) = pool.table("retry") {
        ordered(retry, ("back-off", "back-off-most"), &format!("{path}.retry"), sink);
        if pool.count::<u64>("retries") == Some(0) {
            for key in set_here(retry, "") {
                let message =
                    format!("`retry.{key}` has no effect: `retries = 0` allows no further attempt");
                let trouble =
                    Trouble::new(message).expected("`retries = 1` or more, or no such key");
                sink.warning(retry.place_of(key), &format!("{path}.retry.{key}"), trouble);
            }
        }
        if let Some(Value::Status(ranges)) = retry.value("on")
            && let Some((first, _)) = ranges.iter().find(|(first, _)| *first < 400)
        {
            let message =
                format!("answers of status {first} are good, and their requests are sent again");
            let trouble = Trouble::new(message).expected("statuses of 400 and above, such as 503");
            sink.warning(retry.place_of("on"), &format!("{path}.retry.on"), trouble);
        }
    }
    if let Some(breaker) = pool.table("breaker") {
        self::breaker(breaker, pool, &format!("{path}.breaker"), sink);
    }
    if let Some(shed) = pool.table("shed") {
        self::shed(shed, pool, &format!("{path}.shed"), sink);
    }
    if let Some(hedge) = pool.table("hedge") {
        self::hedge(hedge, pool, &format!("{path}.hedge"), sink);
    }
    if let Some(eject) = pool.table("eject") {
        ordered(eject, ("time", "most"), &format!("{path}.eject"), sink);
        allows(eject, pool, path, sink);
    }
}

/// Limits of which nothing can come, or not what was meant.
fn breaker(breaker: &Section, pool: &Section, path: &str, sink: &mut Sink<'_, '_>) {
    let mut warn = |key: &str, message: String| {
        sink.warning(breaker.place_of(key), &format!("{path}.{key}"), Trouble::new(message));
    };
    if breaker.count::<u64>("pending").is_some() && breaker.wrote("pending") && !waits(pool) {
        warn("pending", format!("`breaker.pending` has no effect: {NOBODY_WAITS}"));
    }
    let retries = breaker.count::<u64>("retries").is_some() && breaker.wrote("retries");
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
fn shed(shed: &Section, pool: &Section, path: &str, sink: &mut Sink<'_, '_>) {
    let time = |section: &Section, key: &str| section.time(key);
    let (target, interval) = (time(shed, "target"), time(shed, "interval"));
    if target > interval && (shed.wrote("target") || shed.wrote("interval")) {
        let key = if shed.wrote("interval") { "interval" } else { "target" };
        let trouble = Trouble::new("`interval` is shorter than `target`: no queue drains in it")
            .expected("`interval` of several times `target`");
        sink.error(shed.place_of(key), &format!("{path}.{key}"), trouble);
    }
    let longest = pool.table("timeout").and_then(|timeout| time(timeout, "queue"));
    let never = match longest {
        Some(longest) if target >= Some(longest) => {
            format!("it never acts: nobody waits longer than `timeout.queue`, {longest:?}")
        }
        _ if !waits(pool) => format!("it has no effect: {NOBODY_WAITS}"),
        _ => return,
    };
    sink.warning(shed.place_of("target"), path, Trouble::new(never));
}

/// A second server that nothing is ever sent to.
fn hedge(hedge: &Section, pool: &Section, path: &str, sink: &mut Sink<'_, '_>) {
    let longest = pool.table("timeout").and_then(|timeout| timeout.time("first-byte"));
    if let (Some(after), Some(longest)) = (hedge.time("after"), longest)
        && after >= longest
    {
        let message = format!(
            "it never acts: an attempt ends after `timeout.first-byte`, {}",
            super::super::unit::Time(longest)
        );
        let trouble = Trouble::new(message).expected("a shorter `after`");
        sink.warning(hedge.place_of("after"), &format!("{path}.after"), trouble);
    }
    let alone = pool.list("servers").len() == 1 && pool.setting("servers-from").is_none();
    let why = match pool.count::<u64>("retries") {
        Some(0) => "`retries = 0` allows no further attempt",
        _ if alone => "the pool has one server",
        _ => return,
    };
    let trouble = Trouble::new(format!("`hedge` has no effect: {why}"));
    sink.warning(hedge.place, path, trouble);
}

const NOBODY_WAITS: &str =
    "nobody waits for a server, as no server has a cap (`connections` of the pool or a server)";

/// Whether a server has a cap.
fn waits(pool: &Section) -> bool {
    let capped = |section: &Section| section.count::<u64>("connections").is_some();
    capped(pool) || pool.list("servers").iter().any(capped)
}

/// The first time is at most the second.
fn ordered(section: &Section, (first, most): (&str, &str), path: &str, sink: &mut Sink<'_, '_>) {
    let (Some(short), Some(long)) = (section.time(first), section.time(most)) else { return };
    if short > long && (section.wrote(first) || section.wrote(most)) {
        let key = if section.wrote(most) { most } else { first };
        let message = format!("`{first}` is longer than `{most}`, which is the longest");
        let trouble = Trouble::new(message).expected(format!("`{first}` of at most `{most}`"));
        sink.error(section.place_of(key), &format!("{path}.{key}"), trouble);
    }
}

/// A share that is less than one server was meant otherwise, if it was written.
fn allows(eject: &Section, pool: &Section, path: &str, sink: &mut Sink<'_, '_>) {
    let servers = pool.list("servers").len() as u64;
    let Some(share) = eject.count::<u64>("share").filter(|_| eject.wrote("share")) else { return };
    if share > 0 && servers > 1 && servers * share < 100 {
        let message =
            format!("{share} % of {servers} servers is less than one: none is ever put out");
        let least = format!("share = {}", 100_u64.div_ceil(servers));
        let trouble = Trouble::new(message).suggest(Some(least));
        sink.warning(eject.place_of("share"), &format!("{path}.eject.share"), trouble);
    }
}
