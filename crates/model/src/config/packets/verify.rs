//! Verifies services that forward packets: keys that the method does not support, and contradicting settings.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use crate::config::address::ServerHost;
use crate::config::decode::key_path::quote_key;
use crate::config::effective_settings::EffectiveSettings;
use crate::config::finding::{FindingCollector, FindingDetails};
use crate::config::listen_range::ListenRange;
use crate::config::pool_usage;
use crate::config::schema::KeySchema;
use crate::config::section::ConfigSection;
use crate::config::unit::Time;
use crate::config::unsupported_keys::{forwards_packets, visit_unsupported_keys};

/// Policies that need only a packet's addresses and flow counts.
const SUPPORTED_POLICIES: [&str; 4] = ["round-robin", "maglev", "source", "least-connections"];

/// Verifies every service that forwards packets, and the pools they use.
pub fn verify_packet_services(effective: &EffectiveSettings, sink: &mut FindingCollector<'_, '_>) {
    let pools: HashMap<&str, &ConfigSection> =
        effective.pools.iter().map(|pool| (pool.name.as_str(), pool)).collect();
    let uses = effective.pool_usage();
    let mut judged = HashSet::new();
    for service in effective.services.iter().filter(|one| forwards_packets(one)) {
        let path = format!("service.{}", quote_key(&service.name));
        let method = service.text("forward").unwrap_or_default();
        let misfit = |key: &KeySchema| key.http_only || key.proxy_only;
        visit_unsupported_keys(service, &path, &misfit, &mut |section, key, path| {
            let message = format!(
                "`{key}` belongs to proxied services; `forward = \"{method}\"` carries packets"
            );
            sink.error(section.span_of(key), path, FindingDetails::new(message));
        });
        verify_method_keys(service, method, &path, sink);
        verify_guard(service, method, &path, sink);
        verify_timers(service, &path, sink);
        let mut names: Vec<&str> = service.text("pool").into_iter().collect();
        names.extend(service.list("rule").iter().filter_map(|rule| rule.text("pool")));
        for pool in names.iter().filter_map(|name| pools.get(name)) {
            if judged.insert(pool.name.as_str()) {
                let uses = uses.get(pool.name.as_str()).copied().unwrap_or_default();
                verify_packet_pool(pool, uses, sink);
            }
            verify_service_and_pool(service, method, pool, sink);
            if method == "nat" && Some(pool.name.as_str()) == service.text("pool") {
                verify_families(service, pool, sink);
            }
            if method == "nat" {
                verify_floating_return_addresses(service, pool, effective, sink);
            }
        }
    }
}

/// Reports keys that the forwarding method does not support.
fn verify_method_keys(
    service: &ConfigSection,
    method: &str,
    path: &str,
    sink: &mut FindingCollector<'_, '_>,
) {
    let mut only = |key: &str, owner: &str, why: &str| {
        if method != owner && service.is_written(key) {
            let message = format!("`{key}` belongs to `forward = \"{owner}\"`: {why}");
            sink.error(
                service.span_of(key),
                &format!("{path}.{key}"),
                FindingDetails::new(message),
            );
        }
    };
    only("tunnel", "tunnel", "packets of this service are not put into a tunnel");
    only(
        "mss-clamp",
        "nat",
        "answers go from the server to the client directly and are never seen here",
    );
    let normalize = service.table("normalize").filter(|_| method != "nat");
    if let Some(table) = normalize.filter(|table| table.text("exceed-mss") == Some("drop")) {
        let message = "`exceed-mss` belongs to `forward = \"nat\"`: what servers announce to clients is never seen here";
        let place = table.span_of("exceed-mss");
        sink.error(place, &format!("{path}.normalize.exceed-mss"), FindingDetails::new(message));
    }
    if service.is_written("normalize") && !service.keywords("protocol").contains(&"tcp") {
        let message = "`normalize` acts on TCP headers, and `protocol` has no `tcp`";
        let place = service.span_of("normalize");
        sink.error(place, &format!("{path}.normalize"), FindingDetails::new(message));
    }
    if service
        .table("tunnel")
        .is_some_and(|t| t.is_written("port") && t.text("kind") != Some("gue"))
    {
        let message = "`port` belongs to `kind = \"gue\"`";
        let place = service.table("tunnel").map_or(service.span, |tunnel| tunnel.span_of("port"));
        sink.error(place, &format!("{path}.tunnel.port"), FindingDetails::new(message));
    }
    let sources = service.table("tunnel").map_or(&[][..], |tunnel| tunnel.addresses("source"));
    for v4 in [true, false] {
        if sources.iter().filter(|address| address.is_ipv4() == v4).count() > 1 {
            let message = "one outer source address for each family";
            sink.error(
                service.span_of("tunnel"),
                &format!("{path}.tunnel.source"),
                FindingDetails::new(message),
            );
        }
    }
}

fn verify_guard(
    service: &ConfigSection,
    method: &str,
    path: &str,
    sink: &mut FindingCollector<'_, '_>,
) {
    let Some(guard) = service.table("guard") else { return };
    let path = format!("{path}.guard");
    let capped = guard.table("source").is_some_and(|source| {
        ["connections", "syn-rate", "rst-rate", "bandwidth"]
            .iter()
            .any(|key| source.count::<u64>(key).is_some())
    });
    if guard.time("ban").is_some() && !capped {
        let trouble = FindingDetails::new("`ban` follows a limit of `source`, and none is set");
        sink.error(guard.span_of("ban"), &format!("{path}.ban"), trouble);
    }
    if !guard.flag("syn-cookies") {
        return;
    }
    let trouble = if method != "nat" {
        "`syn-cookies` belongs to `forward = \"nat\"`: servers answer their clients directly, so nobody here could answer \
         for them; `syn-rate` and `source.syn-rate` limit a flood, and beyond `half-open` new connections are slowed down"
    } else if guard.count::<u64>("half-open").is_none() {
        "`syn-cookies` are given from `half-open` connections on, and none is set"
    } else {
        return;
    };
    sink.error(
        guard.span_of("syn-cookies"),
        &format!("{path}.syn-cookies"),
        FindingDetails::new(trouble),
    );
}

fn verify_timers(service: &ConfigSection, path: &str, sink: &mut FindingCollector<'_, '_>) {
    let stale = service.time("idle-timeout");
    let Some(((stale, fin), timeout)) =
        stale.zip(service.time("fin-timeout")).zip(service.table("timeout"))
    else {
        return;
    };
    if stale < fin {
        let message = format!(
            "`idle-timeout` ({}) is shorter than `fin-timeout` ({}): an open connection would be forgotten before a closed one",
            Time(stale),
            Time(fin)
        );
        sink.warning(
            service.span_of("idle-timeout"),
            &format!("{path}.idle-timeout"),
            FindingDetails::new(message),
        );
    }
    if let Some(embryonic) = timeout.time("half-open").filter(|time| *time > stale) {
        let message = format!(
            "`half-open` ({}) is longer than `idle-timeout` ({})",
            Time(embryonic),
            Time(stale)
        );
        sink.warning(
            timeout.span_of("half-open"),
            &format!("{path}.timeout.half-open"),
            FindingDetails::new(message),
        );
    }
}

/// Reports settings of a pool that packet forwarding does not support.
pub fn verify_packet_pool(
    pool: &ConfigSection,
    uses: pool_usage::PoolUsage,
    sink: &mut FindingCollector<'_, '_>,
) {
    let path = format!("pool.{}", quote_key(&pool.name));
    if let Some(balance) = pool.table("balance")
        && balance.is_written("by")
        && !balance.is_invalid("by")
        && let Some(by) = balance.text("by").filter(|by| !SUPPORTED_POLICIES.contains(by))
    {
        let meant = if by == "least-request" { "\"least-connections\"" } else { "\"round-robin\"" };
        let trouble = FindingDetails::new(format!("`{by}` needs more than packets show"))
            .with_expected(format!("one of {}", SUPPORTED_POLICIES.join(", ")))
            .with_suggestion(Some(meant.to_owned()));
        sink.error(balance.span_of("by"), &format!("{path}.balance"), trouble);
    }
    let misfit = |key: &KeySchema| key.http_only || key.proxy_only;
    visit_unsupported_keys(pool, &path, &misfit, &mut |section, key, path| {
        let message = format!("`{key}` has no effect on packets that are forwarded to this pool");
        let trouble = FindingDetails::new(message);
        match uses.http || uses.tcp {
            true => sink.warning(section.span_of(key), path, trouble),
            false => sink.error(section.span_of(key), path, trouble),
        }
    });
}

/// Reports contradictions between a service and its pool.
fn verify_service_and_pool(
    service: &ConfigSection,
    method: &str,
    pool: &ConfigSection,
    sink: &mut FindingCollector<'_, '_>,
) {
    let hash_on = pool.table("hash-on").and_then(|table| table.text("by"));
    if hash_on == Some("symmetric") && service.table("sticky").is_some() {
        let message = format!(
            "the two directions of a connection have other clients, so `sticky` sends them to other servers than \
             `hash-on = \"symmetric\"` of pool `{}`",
            pool.name
        );
        let place = format!("service.{}.sticky", quote_key(&service.name));
        sink.error(service.span_of("sticky"), &place, FindingDetails::new(message));
    }
    let spans = service.listen_ranges("listen");
    for (at, server) in pool.list("servers").iter().enumerate() {
        let Some(address) = server.server_address("address") else { continue };
        let path = format!("pool.{}.servers[{at}].address", quote_key(&pool.name));
        if method != "nat" {
            verify_direct_return(service, method, &spans, server, address.port, &path, sink);
        } else if let ServerHost::Ip(ip) = &address.host {
            let other = |span: &&ListenRange| span.address.is_ipv4() != ip.is_ipv4();
            if let Some(span) = spans.iter().find(other).filter(|_| spans.iter().all(|s| other(&s)))
            {
                let message = format!(
                    "`nat` does not change the family: {span} of service `{}` cannot go to {ip}",
                    service.name
                );
                sink.error(server.span_of("address"), &path, FindingDetails::new(message));
            }
        }
    }
    if method == "nat" {
        verify_return_addresses(service, pool, sink);
    }
}

/// A `nat` service that listens in both families needs servers in both.
fn verify_families(
    service: &ConfigSection,
    pool: &ConfigSection,
    sink: &mut FindingCollector<'_, '_>,
) {
    let spans = service.listen_ranges("listen");
    let listens = |v4| spans.iter().find(|span| span.address.is_ipv4() == v4);
    let servers = pool.list("servers");
    if servers.is_empty() || pool.setting("servers-from").is_some() {
        return;
    }
    let (Some(first4), Some(first6)) = (listens(true), listens(false)) else { return };
    for (span, v4, family, other) in [(first4, true, 4, 6), (first6, false, 6, 4)] {
        // The addresses of a name are unknown here, and a server on this machine gets packets unchanged.
        let can = |server: &ConfigSection| match server
            .server_address("address")
            .map(|address| &address.host)
        {
            Some(ServerHost::Ip(ip)) => ip.is_ipv4() == v4 || ip.is_loopback(),
            Some(_) | None => true,
        };
        if servers.iter().any(can) {
            continue;
        }
        let trouble = FindingDetails::new(format!(
            "`nat` does not change the family: {span} has no server, since pool `{}` has servers of IPv{other} alone",
            pool.name
        ))
        .with_expected(format!(
            "a server of IPv{family} in the pool, or no address of IPv{family} here: `tunnel`, `tcp` and `http` carry \
             one family to servers of the other"
        ));
        let path = format!("service.{}.listen", quote_key(&service.name));
        // `:80` includes all addresses of both families, perhaps unintentionally, so it only gets a warning.
        if spans.iter().any(|span| span.address.is_ipv4() == v4 && !span.address.is_unspecified()) {
            sink.error(service.span_of("listen"), &path, trouble);
        } else {
            sink.warning(service.span_of("listen"), &path, trouble);
        }
    }
}

/// With direct server return, a server responds from the address and port of the service.
fn verify_direct_return(
    service: &ConfigSection,
    method: &str,
    spans: &[ListenRange],
    server: &ConfigSection,
    port: u16,
    path: &str,
    sink: &mut FindingCollector<'_, '_>,
) {
    let ports: HashSet<u16> = spans.iter().filter_map(|span| span.exact_port()).collect();
    let [only] = ports.iter().collect::<Vec<_>>()[..] else { return };
    if spans.iter().any(|span| span.exact_port().is_none()) || *only == port {
        return;
    }
    let trouble = FindingDetails::new(format!(
        "direct return cannot change the port: service `{}` takes {only}, this server is at {port}",
        service.name
    ))
    .with_expected(format!("port {only} here, or `forward = \"nat\"` in place of `\"{method}\"`"));
    sink.error(server.span_of("address"), path, trouble);
}

/// Return addresses must move with a service that moves between machines.
fn verify_floating_return_addresses(
    service: &ConfigSection,
    pool: &ConfigSection,
    effective: &EffectiveSettings,
    sink: &mut FindingCollector<'_, '_>,
) {
    if pool.is_unset("source") {
        return;
    }
    let own = pool.addresses("source");
    let backs = if own.is_empty() { effective.packets.addresses("nat-source") } else { own };
    crate::config::vrrp::verify_return_addresses(effective, service, pool, backs, sink);
}

fn verify_return_addresses(
    service: &ConfigSection,
    pool: &ConfigSection,
    sink: &mut FindingCollector<'_, '_>,
) {
    let path = format!("pool.{}.source", quote_key(&pool.name));
    let listens: Vec<IpAddr> =
        service.listen_ranges("listen").iter().map(|span| span.address).collect();
    for address in pool.addresses("source") {
        if listens.contains(address) {
            let message = format!(
                "{address} is where service `{}` listens: servers' answers could not be told from requests",
                service.name
            );
            let trouble = FindingDetails::new(message)
                .with_expected("an address of this machine that nothing else uses");
            sink.error(pool.span_of("source"), &path, trouble);
        }
    }
}
