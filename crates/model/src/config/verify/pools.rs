//! Judges one pool: its servers, its choosing, its judging, its sources.

use std::collections::HashMap;
use std::net::IpAddr;

use super::super::address::{Host, ServerAddress};
use super::super::decode::quoted;
use super::super::finding::{Sink, Trouble};
use super::super::resolve::Uses;
use super::super::section::Section;
use super::super::tables::pool::POOL;
use super::method::misfits;
use super::{http2, operate, probes, proxy, sockets, tls};

/// Judge a pool in force.
pub fn verify(pool: &Section, uses: Uses, sink: &mut Sink<'_, '_>) {
    let path = format!("pool.{}", quoted(&pool.name));
    servers(pool, &path, sink);
    super::balance::verify(pool, uses, &path, sink);
    super::resilience::verify(pool, &path, sink);
    if let Some(probe) = pool.table("probe") {
        probes::verify(probe, &format!("{path}.probe"), sink);
    }
    if let Some(agent) = pool.table("agent") {
        probes::agent(agent, &format!("{path}.agent"), uses.http, sink);
    }
    for (at, server) in pool.list("servers").iter().enumerate() {
        // A probe that is the pool's was judged there.
        if let Some(probe) = server.table("probe").filter(|_| server.wrote("probe")) {
            probes::verify(probe, &format!("{path}.servers[{at}].probe"), sink);
        }
    }
    operate::discovery(pool, &path, sink);
    operate::schedule(pool, &path, sink);
    for (at, server) in pool.list("servers").iter().enumerate() {
        if server.wrote("schedule") {
            operate::schedule(server, &format!("{path}.servers[{at}]"), sink);
        }
    }
    initial(pool, &path, sink);
    source(pool, &path, sink);
    tls::pool(pool, &path, sink);
    http2::pool(pool, &path, sink);
    proxy::pool(pool, &path, sink);
    if let Some(socket) = pool.table("socket") {
        sockets::verify(socket, &format!("{path}.socket"), sink);
        if socket.flag("transparent") && !pool.addresses("source").is_empty() {
            let message =
                "`source` and `socket.transparent` exclude each other: both set the source address";
            sink.error(pool.place_of("source"), &format!("{path}.source"), Trouble::new(message));
        }
    }
    if pool.unset("source") && (uses.http || uses.tcp) {
        let message = "`source = \"client\"` belongs to `forward = \"nat\"`; proxied services have `socket.transparent`";
        sink.error(pool.place_of("source"), &format!("{path}.source"), Trouble::new(message));
    }
    if uses.tcp && !uses.http {
        misfits(&POOL, pool, &path, &|key| key.http_only, &mut |section, key, path| {
            let trouble =
                Trouble::new(format!("`{key}` has no effect: only `tcp` services use this pool"));
            sink.error(section.place_of(key), path, trouble);
        });
    }
}

fn servers(pool: &Section, path: &str, sink: &mut Sink<'_, '_>) {
    let servers = pool.list("servers");
    let key = format!("{path}.servers");
    let found = pool.setting("servers-from").is_some();
    if servers.is_empty() && !found && pool.setting("servers").is_some() && !pool.broken("servers")
    {
        let trouble = Trouble::new("the pool has no server").expected("at least one server");
        sink.error(pool.place_of("servers"), &key, trouble);
    }
    let mut names: HashMap<&str, usize> = HashMap::new();
    let mut addresses: HashMap<&ServerAddress, usize> = HashMap::new();
    for (at, server) in servers.iter().enumerate() {
        if let Some(name) = server.text("name")
            && let Some(first) = names.insert(name, at)
        {
            let place = server.place_of(if server.wrote("name") { "name" } else { "address" });
            let message = format!("servers {first} and {at} are both named `{name}`");
            let trouble =
                Trouble::new(message).expected("a name of its own for each server of a pool");
            sink.error(place, &format!("{key}[{at}].name"), trouble);
            continue;
        }
        if let Some(address) = server.server("address")
            && let Some(first) = addresses.insert(address, at)
        {
            let message = format!("servers {first} and {at} are both at {address}");
            sink.warning(
                server.place_of("address"),
                &format!("{key}[{at}].address"),
                Trouble::new(message),
            );
        }
    }
    let idle = |server: &Section| {
        server.count::<u64>("weight") == Some(0)
            || matches!(server.text("state"), Some("drain" | "disabled"))
    };
    if !servers.is_empty() && servers.iter().all(idle) {
        let message =
            "no server of this pool takes new work: each has weight 0 or is drained or disabled";
        sink.warning(pool.place_of("servers"), &key, Trouble::new(message));
    }
}

fn initial(pool: &Section, path: &str, sink: &mut Sink<'_, '_>) {
    let word = pool.text("initial").unwrap_or_default();
    if !pool.wrote("initial") || word == "up" {
        return;
    }
    let blind = |server: &&Section| server.table("probe").is_none() && !server.broken("probe");
    let Some(server) = pool.list("servers").iter().find(blind) else { return };
    let name = server.text("name").unwrap_or_default();
    let message = format!("`initial = \"{word}\"` needs a probe, and server `{name}` has none");
    let trouble = Trouble::new(message).expected("a probe for every server, or `initial = \"up\"`");
    sink.error(pool.place_of("initial"), &format!("{path}.initial"), trouble);
}

fn source(pool: &Section, path: &str, sink: &mut Sink<'_, '_>) {
    let servers: Vec<&ServerAddress> =
        pool.list("servers").iter().filter_map(|server| server.server("address")).collect();
    if servers.len() < pool.list("servers").len() {
        return;
    }
    for v4 in [true, false] {
        let Some(source) = pool.addresses("source").iter().find(|source| source.is_ipv4() == v4)
        else {
            continue;
        };
        let serves = |server: &&ServerAddress| match &server.host {
            Host::Ip(IpAddr::V4(_)) => v4,
            Host::Ip(IpAddr::V6(_)) => !v4,
            Host::Name(_) => true,
        };
        if !servers.iter().any(serves) {
            let family = if v4 { "IPv4" } else { "IPv6" };
            let message =
                format!("{source} reaches no server of this pool: none has an {family} address");
            sink.error(pool.place_of("source"), &format!("{path}.source"), Trouble::new(message));
        }
    }
}
