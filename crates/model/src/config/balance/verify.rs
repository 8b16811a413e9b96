//! Verifies the load balancing of a pool: its policy, hash key, weight controller and server priorities.

use super::keys::KEYS_BY_POLICY;
use crate::config::decode::key_path::quote_key;
use crate::config::finding::{FindingCollector, FindingDetails};
use crate::config::pool_usage;
use crate::config::section::ConfigSection;

/// Verifies the effective settings of a pool at `path`.
pub fn verify_balance(
    pool: &ConfigSection,
    uses: pool_usage::PoolUsage,
    path: &str,
    sink: &mut FindingCollector<'_, '_>,
) {
    if let Some(balance) = pool.table("balance") {
        verify_policy(balance, pool.list("servers").len(), &format!("{path}.balance"), sink);
        verify_load_source(balance, pool, &format!("{path}.balance"), sink);
    }
    if let Some(hash_on) = pool.table("hash-on") {
        verify_hash_key(hash_on, pool, uses, &format!("{path}.hash-on"), sink);
    }
    if let Some(judge) = pool.table("dynamic-weights") {
        verify_weight_controller(judge, pool, &format!("{path}.dynamic-weights"), sink);
    }
    for (at, server) in pool.list("servers").iter().enumerate() {
        verify_single_rank(server, &format!("{path}.servers[{at}]"), sink);
    }
    verify_backup_servers(pool, path, sink);
}

fn verify_policy(
    balance: &ConfigSection,
    servers: usize,
    path: &str,
    sink: &mut FindingCollector<'_, '_>,
) {
    let by = balance.text("by").unwrap_or_default();
    for (key, owners) in KEYS_BY_POLICY {
        if balance.is_written(key) && !owners.contains(&by) && !balance.is_invalid("by") {
            let owners: Vec<String> =
                owners.iter().map(|owner| format!("`by = \"{owner}\"`")).collect();
            let message =
                format!("`{key}` belongs to {}, and this is `{by}`", owners.join(" and "));
            sink.error(
                balance.span_of(key),
                &format!("{path}.{key}"),
                FindingDetails::new(message),
            );
        }
    }
    let table = matches!(by, "maglev" | "bounded-hash");
    let Some(size) = balance.count::<u32>("size").filter(|_| table) else { return };
    let key = format!("{path}.size");
    let place = balance.span_of("size");
    if !is_prime(size) {
        let trouble = FindingDetails::new(format!("{size} is not a prime number"))
            .with_expected("a prime number");
        sink.error(
            place,
            &key,
            trouble
                .with_found(size.to_string())
                .with_suggestion(next_prime(size).map(|next| next.to_string())),
        );
    } else if (size as usize) < servers {
        let trouble =
            FindingDetails::new(format!("a table of {size} has no room for {servers} servers"));
        sink.error(
            place,
            &key,
            trouble.with_expected(format!("a prime of at least {}", servers * 100)),
        );
    } else if (size as usize) < servers * 100 {
        // Maglev (NSDI 2016, §3.4): from a hundred entries per server on, the shares differ by one percent at most.
        let trouble =
            FindingDetails::new(format!("a table of {size} gives {servers} servers uneven shares"));
        let better = u32::try_from(servers * 100).ok().and_then(next_prime);
        sink.warning(
            place,
            &key,
            trouble.with_suggestion(better.map(|size| format!("size = {size}"))),
        );
    }
}

/// `least-loaded` needs a source of load reports.
fn verify_load_source(
    balance: &ConfigSection,
    pool: &ConfigSection,
    path: &str,
    sink: &mut FindingCollector<'_, '_>,
) {
    if balance.text("by") == Some("least-loaded") && !has_load_reports(pool) {
        let message =
            "no server says how loaded it is (`agent`): they are drawn by their weights alone";
        sink.warning(balance.span_of("by"), &format!("{path}.by"), FindingDetails::new(message));
    }
}

fn has_load_reports(pool: &ConfigSection) -> bool {
    let asks =
        |section: &ConfigSection| section.table("agent").is_some() || section.is_invalid("agent");
    asks(pool) || pool.list("servers").iter().any(asks)
}

fn verify_hash_key(
    hash_on: &ConfigSection,
    pool: &ConfigSection,
    uses: pool_usage::PoolUsage,
    path: &str,
    sink: &mut FindingCollector<'_, '_>,
) {
    let by = pool.table("balance").and_then(|balance| balance.text("by")).unwrap_or_default();
    if !matches!(by, "maglev" | "bounded-hash") && !by.is_empty() {
        let message =
            format!("`hash-on` belongs to `maglev` and `bounded-hash`, and this is `{by}`");
        let trouble =
            FindingDetails::new(message).with_suggestion(Some("balance = \"maglev\"".to_owned()));
        sink.error(pool.span_of("hash-on"), path, trouble);
    }
    let word = hash_on.text("by");
    if word.is_none()
        && !hash_on.is_invalid("by")
        && ["header", "cookie", "query"].iter().all(|key| hash_on.setting(key).is_none())
    {
        let trouble = FindingDetails::new("it does not say what is hashed").with_expected(
            "`by` with `address`, `address-port`, `uri`, `path`, `symmetric` or `source-mac`, or the name of a `header`, `cookie` or `query`",
        );
        sink.error(pool.span_of("hash-on"), path, trouble);
    }
    let of_packets = matches!(word, Some("symmetric" | "source-mac"));
    let of_requests = !of_packets && !matches!(word, Some("address" | "address-port"));
    if uses.packets && !of_packets && !matches!(word, Some("address")) {
        let message = "a service that forwards packets uses this pool, and it hashes addresses";
        let trouble =
            FindingDetails::new(message).with_expected("`address`, `symmetric` or `source-mac`");
        sink.error(pool.span_of("hash-on"), path, trouble);
    }
    if of_packets && (uses.http || uses.tcp || uses.names) {
        let message =
            "it is a hash of packets, and a service that proxies, or a name, uses this pool";
        let trouble = FindingDetails::new(message).with_expected("`address` or `address-port`");
        sink.error(pool.span_of("hash-on"), path, trouble);
    }
    if of_requests && uses.tcp {
        let message =
            "a `tcp` service uses this pool, and its connections have no requests to hash";
        let trouble = FindingDetails::new(message).with_expected("`address` or `address-port`");
        sink.error(pool.span_of("hash-on"), path, trouble);
    }
}

pub fn verify_weight_controller(
    judge: &ConfigSection,
    pool: &ConfigSection,
    path: &str,
    sink: &mut FindingCollector<'_, '_>,
) {
    let says = ["active", "new", "latency", "agent"];
    if !says.iter().any(|key| judge.is_invalid(key)) {
        let parts: Vec<u64> = says.iter().map(|key| judge.count_or_zero(key)).collect();
        let sum: u64 = parts.iter().sum();
        if sum != 100 {
            let [active, new, latency, agent] = [parts[0], parts[1], parts[2], parts[3]];
            let message = format!(
                "the judge's proportions make {sum}, not 100: active {active} + new {new} + latency {latency} + \
                 agent {agent}"
            );
            let trouble = FindingDetails::new(message)
                .with_found(sum.to_string())
                .with_expected("100 together");
            let written = says.iter().rev().find(|key| judge.is_written(key));
            let place = written.map_or(judge.span, |key| judge.span_of(key));
            sink.error(place, path, trouble);
        }
    }
    if judge.count_or_zero::<u64>("latency") > 0 {
        let blind = |server: &&ConfigSection| {
            server.table("probe").is_none() && !server.is_invalid("probe")
        };
        if let Some(server) = pool.list("servers").iter().find(blind) {
            let name = server.text("name").unwrap_or_default();
            let message = format!(
                "dynamic weights use the time of probes, and server `{name}` has no probe: it counts as average"
            );
            sink.warning(
                judge.span_of("latency"),
                &format!("{path}.latency"),
                FindingDetails::new(message),
            );
        }
    }
    if judge.count_or_zero::<u64>("agent") > 0 && !has_load_reports(pool) {
        let message =
            "dynamic weights use the load that servers report, and no server is asked (`agent`)";
        sink.warning(
            judge.span_of("agent"),
            &format!("{path}.agent"),
            FindingDetails::new(message),
        );
    }
}

/// A server may have only one priority setting.
fn verify_single_rank(server: &ConfigSection, path: &str, sink: &mut FindingCollector<'_, '_>) {
    let backup = server.flag("backup");
    let last = server.flag("last-resort");
    let rivals =
        [("backup", backup), ("last-resort", last), ("priority", server.is_written("priority"))];
    let written: Vec<&str> = rivals.iter().filter(|(_, is)| *is).map(|(key, _)| *key).collect();
    if let [first, second, ..] = written[..] {
        let message =
            format!("`{first}` and `{second}` exclude each other: each says when it is its turn");
        sink.error(
            server.span_of(second),
            &format!("{path}.{second}"),
            FindingDetails::new(message),
        );
    }
}

/// A pool needs a server that is neither backup nor last resort.
fn verify_backup_servers(pool: &ConfigSection, path: &str, sink: &mut FindingCollector<'_, '_>) {
    let servers = pool.list("servers");
    let behind = |server: &ConfigSection| server.flag("backup") || server.flag("last-resort");
    if !servers.is_empty() && servers.iter().all(behind) {
        let message = "every server of this pool is a backup: none of them backs anything up";
        let place = pool.span_of("servers");
        sink.warning(place, &format!("{path}.servers"), FindingDetails::new(message));
    }
    let here = pool.text("locality");
    let near =
        |server: &ConfigSection| server.text("locality").is_none_or(|there| Some(there) == here);
    if let Some(here) = here
        && !servers.is_empty()
        && !servers.iter().any(near)
    {
        let message =
            format!("no server of this pool is in {}, where this balancer is", quote_key(here));
        let place = pool.span_of("servers");
        sink.warning(place, &format!("{path}.locality"), FindingDetails::new(message));
    }
}

fn next_prime(from: u32) -> Option<u32> {
    (from..=5_000_011).find(|number| is_prime(*number))
}

fn is_prime(number: u32) -> bool {
    let number = u64::from(number);
    number >= 2
        && (2..)
            .take_while(|divisor| divisor * divisor <= number)
            .all(|divisor| number % divisor != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn primes_are_recognised_and_found() {
        for number in [2, 3, 5, 251, 16_381, 65_537, 5_000_011] {
            assert!(is_prime(number), "{number}");
        }
        for number in [0, 1, 4, 16_383, 16_384, 65_535] {
            assert!(!is_prime(number), "{number}");
        }
        assert_eq!(next_prime(16_384), Some(16_411));
        assert_eq!(next_prime(5_000_012), None);
    }
}
