//! Verifies one pool: its servers, load balancing, weight controller and source addresses.

use std::collections::HashMap;
use std::net::IpAddr;

use super::unix_servers;
use crate::config::address::{ServerAddress, ServerHost};
use crate::config::decode::key_path::quote_key;
use crate::config::finding::{FindingCollector, FindingDetails};
use crate::config::section::ConfigSection;
use crate::config::unsupported_keys::visit_unsupported_keys;
use crate::config::{
    agent, discovery, http2, pool_usage, probe, proxy_protocol, schedule, socket, tls,
};

/// Verifies the effective settings of a pool.
pub fn verify_pool(
    pool: &ConfigSection,
    uses: pool_usage::PoolUsage,
    sink: &mut FindingCollector<'_, '_>,
) {
    let path = format!("pool.{}", quote_key(&pool.name));
    verify_servers(pool, &path, sink);
    unix_servers::verify_unix_servers(pool, uses, &path, sink);
    crate::config::balance::verify_balance(pool, uses, &path, sink);
    crate::config::retry::verify_resilience(pool, &path, sink);
    if let Some(probe) = pool.table("probe") {
        probe::verify_probe(probe, &format!("{path}.probe"), sink);
    }
    if let Some(agent) = pool.table("agent") {
        agent::verify_agent(agent, &format!("{path}.agent"), uses.http, sink);
    }
    for (at, server) in pool.list("servers").iter().enumerate() {
        // An inherited health check is verified at the pool.
        if let Some(probe) = server.table("probe").filter(|_| server.is_written("probe")) {
            probe::verify_probe(probe, &format!("{path}.servers[{at}].probe"), sink);
        }
    }
    discovery::verify_discovery(pool, &path, sink);
    schedule::verify_schedule(pool, &path, sink);
    for (at, server) in pool.list("servers").iter().enumerate() {
        if server.is_written("schedule") {
            schedule::verify_schedule(server, &format!("{path}.servers[{at}]"), sink);
        }
    }
    verify_initial_state(pool, &path, sink);
    verify_source(pool, &path, sink);
    tls::verify_pool_tls(pool, &path, sink);
    http2::verify_server_http2(pool, &path, sink);
    proxy_protocol::verify_send_proxy(pool, &path, sink);
    if let Some(socket) = pool.table("socket") {
        socket::verify_socket(socket, &format!("{path}.socket"), sink);
        if socket.flag("transparent") && !pool.addresses("source").is_empty() {
            let message =
                "`source` and `socket.transparent` exclude each other: both set the source address";
            sink.error(
                pool.span_of("source"),
                &format!("{path}.source"),
                FindingDetails::new(message),
            );
        }
    }
    if pool.is_unset("source") && (uses.http || uses.tcp) {
        let message = "`source = \"client\"` belongs to `forward = \"nat\"`; proxied services have `socket.transparent`";
        sink.error(pool.span_of("source"), &format!("{path}.source"), FindingDetails::new(message));
    }
    if uses.tcp && !uses.http {
        visit_unsupported_keys(pool, &path, &|key| key.http_only, &mut |section, key, path| {
            let trouble = FindingDetails::new(format!(
                "`{key}` has no effect: only `tcp` services use this pool"
            ));
            sink.error(section.span_of(key), path, trouble);
        });
    }
}

fn verify_servers(pool: &ConfigSection, path: &str, sink: &mut FindingCollector<'_, '_>) {
    let servers = pool.list("servers");
    let key = format!("{path}.servers");
    let found = pool.setting("servers-from").is_some();
    if servers.is_empty()
        && !found
        && pool.setting("servers").is_some()
        && !pool.is_invalid("servers")
    {
        let trouble =
            FindingDetails::new("the pool has no server").with_expected("at least one server");
        sink.error(pool.span_of("servers"), &key, trouble);
    }
    let mut names: HashMap<&str, usize> = HashMap::new();
    let mut addresses: HashMap<&ServerAddress, usize> = HashMap::new();
    for (at, server) in servers.iter().enumerate() {
        if let Some(name) = server.text("name")
            && let Some(first) = names.insert(name, at)
        {
            let place = server.span_of(if server.is_written("name") { "name" } else { "address" });
            let message = format!("servers {first} and {at} are both named `{name}`");
            let trouble = FindingDetails::new(message)
                .with_expected("a name of its own for each server of a pool");
            sink.error(place, &format!("{key}[{at}].name"), trouble);
            continue;
        }
        if let Some(address) = server.server_address("address")
            && let Some(first) = addresses.insert(address, at)
        {
            let message = format!("servers {first} and {at} are both at {address}");
            sink.warning(
                server.span_of("address"),
                &format!("{key}[{at}].address"),
                FindingDetails::new(message),
            );
        }
    }
    verify_cookie_values(servers, &key, sink);
    let idle = |server: &ConfigSection| {
        server.count::<u64>("weight") == Some(0)
            || matches!(server.text("state"), Some("drain" | "disabled"))
    };
    if !servers.is_empty() && servers.iter().all(idle) {
        let message =
            "no server of this pool takes new work: each has weight 0 or is drained or disabled";
        sink.warning(pool.span_of("servers"), &key, FindingDetails::new(message));
    }
}

/// Reports cookie values that two servers of a pool share: such a value would name one of them by chance.
fn verify_cookie_values(servers: &[ConfigSection], key: &str, sink: &mut FindingCollector<'_, '_>) {
    if !servers.iter().any(|server| server.is_written("cookie-value")) {
        return;
    }
    let mut values: HashMap<&str, usize> = HashMap::new();
    for (at, server) in servers.iter().enumerate() {
        let value = server.text("cookie-value").or(server.text("name"));
        if let Some(value) = value
            && let Some(first) = values.insert(value, at)
        {
            let message = format!("cookies name servers {first} and {at} both `{value}`");
            let trouble = FindingDetails::new(message)
                .with_expected("a value of its own for each server of a pool");
            let place = if server.is_written("cookie-value") { at } else { first };
            let span = servers.get(place).map_or(server.span, |one| one.span_of("cookie-value"));
            sink.error(span, &format!("{key}[{place}].cookie-value"), trouble);
        }
    }
}

fn verify_initial_state(pool: &ConfigSection, path: &str, sink: &mut FindingCollector<'_, '_>) {
    let word = pool.text("initial").unwrap_or_default();
    if !pool.is_written("initial") || word == "up" {
        return;
    }
    let blind =
        |server: &&ConfigSection| server.table("probe").is_none() && !server.is_invalid("probe");
    let Some(server) = pool.list("servers").iter().find(blind) else { return };
    let name = server.text("name").unwrap_or_default();
    let message = format!("`initial = \"{word}\"` needs a probe, and server `{name}` has none");
    let trouble = FindingDetails::new(message)
        .with_expected("a probe for every server, or `initial = \"up\"`");
    sink.error(pool.span_of("initial"), &format!("{path}.initial"), trouble);
}

fn verify_source(pool: &ConfigSection, path: &str, sink: &mut FindingCollector<'_, '_>) {
    let servers: Vec<&ServerAddress> =
        pool.list("servers").iter().filter_map(|server| server.server_address("address")).collect();
    if servers.len() < pool.list("servers").len() {
        return;
    }
    for v4 in [true, false] {
        let Some(source) = pool.addresses("source").iter().find(|source| source.is_ipv4() == v4)
        else {
            continue;
        };
        let serves = |server: &&ServerAddress| match &server.host {
            ServerHost::Ip(IpAddr::V4(_)) => v4,
            ServerHost::Ip(IpAddr::V6(_)) => !v4,
            ServerHost::Name(_) => true,
            ServerHost::Unix(_) => false,
        };
        if !servers.iter().any(serves) {
            let family = if v4 { "IPv4" } else { "IPv6" };
            let message =
                format!("{source} reaches no server of this pool: none has an {family} address");
            sink.error(
                pool.span_of("source"),
                &format!("{path}.source"),
                FindingDetails::new(message),
            );
        }
    }
}
