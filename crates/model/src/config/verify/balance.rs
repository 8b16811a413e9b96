//! Judges how a pool shares out work: its policy, what is hashed, the judge of weights, who stands back for whom.

use super::super::decode::quoted;
use super::super::finding::{Sink, Trouble};
use super::super::resolve::Uses;
use super::super::section::Section;
use super::super::tables::balance::OWNED;

/// Judge a pool in force at `path`.
pub fn verify(pool: &Section, uses: Uses, path: &str, sink: &mut Sink<'_, '_>) {
    if let Some(balance) = pool.table("balance") {
        policy(balance, pool.list("servers").len(), &format!("{path}.balance"), sink);
        loads(balance, pool, &format!("{path}.balance"), sink);
    }
    if let Some(hash_on) = pool.table("hash-on") {
        hashed(hash_on, pool, uses, &format!("{path}.hash-on"), sink);
    }
    if let Some(judge) = pool.table("judge") {
        self::judge(judge, pool, &format!("{path}.judge"), sink);
    }
    for (at, server) in pool.list("servers").iter().enumerate() {
        ranks(server, &format!("{path}.servers[{at}]"), sink);
    }
    reserves(pool, path, sink);
}

fn policy(balance: &Section, servers: usize, path: &str, sink: &mut Sink<'_, '_>) {
    let by = balance.text("by").unwrap_or_default();
    for (key, owners) in OWNED {
        if balance.wrote(key) && !owners.contains(&by) && !balance.broken("by") {
            let owners: Vec<String> =
                owners.iter().map(|owner| format!("`by = \"{owner}\"`")).collect();
            let message =
                format!("`{key}` belongs to {}, and this is `{by}`", owners.join(" and "));
            sink.error(balance.place_of(key), &format!("{path}.{key}"), Trouble::new(message));
        }
    }
    let table = matches!(by, "maglev" | "bounded-hash");
    let Some(size) = balance.count::<u32>("size").filter(|_| table) else { return };
    let key = format!("{path}.size");
    let place = balance.place_of("size");
    if !prime(size) {
        let trouble =
            Trouble::new(format!("{size} is not a prime number")).expected("a prime number");
        sink.error(
            place,
            &key,
            trouble.found(size.to_string()).suggest(next_prime(size).map(|next| next.to_string())),
        );
    } else if (size as usize) < servers {
        let trouble = Trouble::new(format!("a table of {size} has no room for {servers} servers"));
        sink.error(place, &key, trouble.expected(format!("a prime of at least {}", servers * 100)));
    } else if (size as usize) < servers * 100 {
        // Maglev (NSDI 2016, §5.3): below a hundred entries a server the shares differ by more than one percent.
        let trouble =
            Trouble::new(format!("a table of {size} gives {servers} servers uneven shares"));
        let better = u32::try_from(servers * 100).ok().and_then(next_prime);
        sink.warning(place, &key, trouble.suggest(better.map(|size| format!("size = {size}"))));
    }
}

/// `least-loaded` needs somebody who says how loaded servers are.
fn loads(balance: &Section, pool: &Section, path: &str, sink: &mut Sink<'_, '_>) {
    if balance.text("by") == Some("least-loaded") && !reports(pool) {
        let message =
            "no server says how loaded it is (`agent`): they are drawn by their weights alone";
        sink.warning(balance.place_of("by"), &format!("{path}.by"), Trouble::new(message));
    }
}

fn reports(pool: &Section) -> bool {
    let asks = |section: &Section| section.table("agent").is_some() || section.broken("agent");
    asks(pool) || pool.list("servers").iter().any(asks)
}

fn hashed(hash_on: &Section, pool: &Section, uses: Uses, path: &str, sink: &mut Sink<'_, '_>) {
    let by = pool.table("balance").and_then(|balance| balance.text("by")).unwrap_or_default();
    if !matches!(by, "maglev" | "bounded-hash") && !by.is_empty() {
        let message =
            format!("`hash-on` belongs to `maglev` and `bounded-hash`, and this is `{by}`");
        let trouble = Trouble::new(message).suggest(Some("balance = \"maglev\"".to_owned()));
        sink.error(pool.place_of("hash-on"), path, trouble);
    }
    let word = hash_on.text("by");
    if word.is_none()
        && !hash_on.broken("by")
        && ["header", "cookie", "query"].iter().all(|key| hash_on.setting(key).is_none())
    {
        let trouble = Trouble::new("it does not say what is hashed").expected(
            "`by` with `address`, `address-port`, `uri` or `path`, or the name of a `header`, `cookie` or `query`",
        );
        sink.error(pool.place_of("hash-on"), path, trouble);
    }
    let of_requests = !matches!(word, Some("address" | "address-port"));
    if uses.packets && !matches!(word, Some("address")) {
        let message = "a service that forwards packets uses this pool, and it hashes addresses";
        let trouble = Trouble::new(message).expected("`address`");
        sink.error(pool.place_of("hash-on"), path, trouble);
    }
    if of_requests && uses.tcp {
        let message =
            "a `tcp` service uses this pool, and its connections have no requests to hash";
        let trouble = Trouble::new(message).expected("`address` or `address-port`");
        sink.error(pool.place_of("hash-on"), path, trouble);
    }
}

fn judge(judge: &Section, pool: &Section, path: &str, sink: &mut Sink<'_, '_>) {
    let says = ["active", "new", "latency", "agent"];
    if !says.iter().any(|key| judge.broken(key)) {
        let parts: Vec<u64> = says.iter().map(|key| judge.number(key)).collect();
        let sum: u64 = parts.iter().sum();
        if sum != 100 {
            let [active, new, latency, agent] = [parts[0], parts[1], parts[2], parts[3]];
            let message = format!(
                "the judge's proportions make {sum}, not 100: active {active} + new {new} + latency {latency} + \
                 agent {agent}"
            );
            let trouble = Trouble::new(message).found(sum.to_string()).expected("100 together");
            let written = says.iter().rev().find(|key| judge.wrote(key));
            let place = written.map_or(judge.place, |key| judge.place_of(key));
            sink.error(place, path, trouble);
        }
    }
    if judge.number::<u64>("latency") > 0 {
        let blind = |server: &&Section| server.table("probe").is_none() && !server.broken("probe");
        if let Some(server) = pool.list("servers").iter().find(blind) {
            let name = server.text("name").unwrap_or_default();
            let message = format!(
                "the judge weighs the time of probes, and server `{name}` has none: it counts as average"
            );
            sink.warning(
                judge.place_of("latency"),
                &format!("{path}.latency"),
                Trouble::new(message),
            );
        }
    }
    if judge.number::<u64>("agent") > 0 && !reports(pool) {
        let message =
            "the judge weighs what servers say of their load, and none is asked (`agent`)";
        sink.warning(judge.place_of("agent"), &format!("{path}.agent"), Trouble::new(message));
    }
}

/// One rank a server.
fn ranks(server: &Section, path: &str, sink: &mut Sink<'_, '_>) {
    let (backup, last) = (server.flag("backup"), server.flag("last-resort"));
    let rivals =
        [("backup", backup), ("last-resort", last), ("priority", server.wrote("priority"))];
    let written: Vec<&str> = rivals.iter().filter(|(_, is)| *is).map(|(key, _)| *key).collect();
    if let [first, second, ..] = written[..] {
        let message =
            format!("`{first}` and `{second}` exclude each other: each says when it is its turn");
        sink.error(server.place_of(second), &format!("{path}.{second}"), Trouble::new(message));
    }
}

/// Somebody must come first.
fn reserves(pool: &Section, path: &str, sink: &mut Sink<'_, '_>) {
    let servers = pool.list("servers");
    let behind = |server: &Section| server.flag("backup") || server.flag("last-resort");
    if !servers.is_empty() && servers.iter().all(behind) {
        let message = "every server of this pool is a backup: none of them backs anything up";
        let place = pool.place_of("servers");
        sink.warning(place, &format!("{path}.servers"), Trouble::new(message));
    }
    let here = pool.text("locality");
    let near = |server: &Section| server.text("locality").is_none_or(|there| Some(there) == here);
    if let Some(here) = here
        && !servers.is_empty()
        && !servers.iter().any(near)
    {
        let message =
            format!("no server of this pool is in {}, where this balancer is", quoted(here));
        let place = pool.place_of("servers");
        sink.warning(place, &format!("{path}.locality"), Trouble::new(message));
    }
}

fn next_prime(from: u32) -> Option<u32> {
    (from..=5_000_011).find(|number| prime(*number))
}

fn prime(number: u32) -> bool {
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
    fn primes_are_told_and_found() {
        for number in [2, 3, 5, 251, 16_381, 65_537, 5_000_011] {
            assert!(prime(number), "{number}");
        }
        for number in [0, 1, 4, 16_383, 16_384, 65_535] {
            assert!(!prime(number), "{number}");
        }
        assert_eq!(next_prime(16_384), Some(16_411));
        assert_eq!(next_prime(5_000_012), None);
    }
}
