//! Judges services that forward packets: what the method can carry, and what does not fit together.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use super::super::address::Host;
use super::super::decode::quoted;
use super::super::finding::{Sink, Trouble};
use super::super::packets::Span;
use super::super::resolve::{Effective, Uses};
use super::super::schema::Key;
use super::super::section::Section;
use super::super::tables::pool::POOL;
use super::super::tables::service::SERVICE;
use super::super::unit::Time;
use super::method::{forwards_packets, misfits};

/// Ways to choose that need no more than a packet's addresses and counted flows.
const CHOICES: [&str; 4] = ["round-robin", "maglev", "source", "least-connections"];

/// Judge every service that forwards packets, and the pools they use.
pub fn verify(effective: &Effective, sink: &mut Sink<'_, '_>) {
    let pools: HashMap<&str, &Section> =
        effective.pools.iter().map(|pool| (pool.name.as_str(), pool)).collect();
    let uses = effective.uses();
    let mut judged = HashSet::new();
    for service in effective.services.iter().filter(|one| forwards_packets(one)) {
        let path = format!("service.{}", quoted(&service.name));
        let method = service.text("forward").unwrap_or_default();
        let misfit = |key: &Key| key.http_only || key.proxy_only;
        misfits(&SERVICE, service, &path, &misfit, &mut |section, key, path| {
            let message = format!(
                "`{key}` belongs to proxied services; `forward = \"{method}\"` carries packets"
            );
            sink.error(section.place_of(key), path, Trouble::new(message));
        });
        methods(service, method, &path, sink);
        guard(service, method, &path, sink);
        timers(service, &path, sink);
        let mut names: Vec<&str> = service.text("pool").into_iter().collect();
        names.extend(service.list("rule").iter().filter_map(|rule| rule.text("pool")));
        for pool in names.iter().filter_map(|name| pools.get(name)) {
            if judged.insert(pool.name.as_str()) {
                let uses = uses.get(pool.name.as_str()).copied().unwrap_or_default();
                self::pool(pool, uses, sink);
            }
            together(service, method, pool, sink);
            if method == "nat" && Some(pool.name.as_str()) == service.text("pool") {
                families(service, pool, sink);
            }
            if method == "nat" {
                moving(service, pool, effective, sink);
            }
        }
    }
}

/// Keys of one method that another cannot carry.
fn methods(service: &Section, method: &str, path: &str, sink: &mut Sink<'_, '_>) {
    let mut only = |key: &str, owner: &str, why: &str| {
        if method != owner && service.wrote(key) {
            let message = format!("`{key}` belongs to `forward = \"{owner}\"`: {why}");
            sink.error(service.place_of(key), &format!("{path}.{key}"), Trouble::new(message));
        }
    };
    only("tunnel", "tunnel", "packets of this service are not put into a tunnel");
    only(
        "mss-clamp",
        "nat",
        "answers go from the server to the client directly and are never seen here",
    );
    if service.table("tunnel").is_some_and(|t| t.wrote("port") && t.text("kind") != Some("gue")) {
        let message = "`port` belongs to `kind = \"gue\"`";
        let place = service.table("tunnel").map_or(service.place, |tunnel| tunnel.place_of("port"));
        sink.error(place, &format!("{path}.tunnel.port"), Trouble::new(message));
    }
    let sources = service.table("tunnel").map_or(&[][..], |tunnel| tunnel.addresses("source"));
    for v4 in [true, false] {
        if sources.iter().filter(|address| address.is_ipv4() == v4).count() > 1 {
            let message = "one outer source address for each family";
            sink.error(
                service.place_of("tunnel"),
                &format!("{path}.tunnel.source"),
                Trouble::new(message),
            );
        }
    }
}

fn guard(service: &Section, method: &str, path: &str, sink: &mut Sink<'_, '_>) {
    let Some(guard) = service.table("guard") else { return };
    let path = format!("{path}.guard");
    let capped = guard.table("source").is_some_and(|source| {
        ["connections", "syn-rate", "rst-rate", "bandwidth"]
            .iter()
            .any(|key| source.count::<u64>(key).is_some())
    });
    if guard.time("ban").is_some() && !capped {
        let trouble = Trouble::new("`ban` follows a limit of `source`, and none is set");
        sink.error(guard.place_of("ban"), &format!("{path}.ban"), trouble);
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
        guard.place_of("syn-cookies"),
        &format!("{path}.syn-cookies"),
        Trouble::new(trouble),
    );
}

fn timers(service: &Section, path: &str, sink: &mut Sink<'_, '_>) {
    let stale = service.time("stale-timeout");
    let Some(((stale, fin), timeout)) =
        stale.zip(service.time("fin-timeout")).zip(service.table("timeout"))
    else {
        return;
    };
    if stale < fin {
        let message = format!(
            "`stale-timeout` ({}) is shorter than `fin-timeout` ({}): an open connection would be forgotten before a closed one",
            Time(stale),
            Time(fin)
        );
        sink.warning(
            service.place_of("stale-timeout"),
            &format!("{path}.stale-timeout"),
            Trouble::new(message),
        );
    }
    if let Some(embryonic) = timeout.time("embryonic").filter(|time| *time > stale) {
        let message = format!(
            "`embryonic` ({}) is longer than `stale-timeout` ({})",
            Time(embryonic),
            Time(stale)
        );
        sink.warning(
            timeout.place_of("embryonic"),
            &format!("{path}.timeout.embryonic"),
            Trouble::new(message),
        );
    }
}

/// What a pool cannot do for packets.
fn pool(pool: &Section, uses: Uses, sink: &mut Sink<'_, '_>) {
    let path = format!("pool.{}", quoted(&pool.name));
    if let Some(balance) = pool.table("balance")
        && balance.wrote("by")
        && !balance.broken("by")
        && let Some(by) = balance.text("by").filter(|by| !CHOICES.contains(by))
    {
        let meant = if by == "least-request" { "\"least-connections\"" } else { "\"round-robin\"" };
        let trouble = Trouble::new(format!("`{by}` needs more than packets show"))
            .expected(format!("one of {}", CHOICES.join(", ")))
            .suggest(Some(meant.to_owned()));
        sink.error(balance.place_of("by"), &format!("{path}.balance"), trouble);
    }
    let misfit = |key: &Key| key.http_only || key.proxy_only;
    misfits(&POOL, pool, &path, &misfit, &mut |section, key, path| {
        let message = format!("`{key}` has no effect on packets that are forwarded to this pool");
        let trouble = Trouble::new(message);
        match uses.http || uses.tcp {
            true => sink.warning(section.place_of(key), path, trouble),
            false => sink.error(section.place_of(key), path, trouble),
        }
    });
}

/// What a service and its pool cannot do together.
fn together(service: &Section, method: &str, pool: &Section, sink: &mut Sink<'_, '_>) {
    let spans = service.spans("listen");
    for (at, server) in pool.list("servers").iter().enumerate() {
        let Some(address) = server.server("address") else { continue };
        let path = format!("pool.{}.servers[{at}].address", quoted(&pool.name));
        if method != "nat" {
            direct(service, method, &spans, (server, address.port, &path), sink);
        } else if let Host::Ip(ip) = &address.host {
            let other = |span: &&Span| span.address.is_ipv4() != ip.is_ipv4();
            if let Some(span) = spans.iter().find(other).filter(|_| spans.iter().all(|s| other(&s)))
            {
                let message = format!(
                    "`nat` does not change the family: {span} of service `{}` cannot go to {ip}",
                    service.name
                );
                sink.error(server.place_of("address"), &path, Trouble::new(message));
            }
        }
    }
    if method == "nat" {
        returns(service, pool, sink);
    }
}

/// A service of `nat` that listens in both families needs servers in both.
fn families(service: &Section, pool: &Section, sink: &mut Sink<'_, '_>) {
    let spans = service.spans("listen");
    let listens = |v4| spans.iter().find(|span| span.address.is_ipv4() == v4);
    let servers = pool.list("servers");
    if servers.is_empty() || pool.setting("servers-from").is_some() {
        return;
    }
    let (Some(first4), Some(first6)) = (listens(true), listens(false)) else { return };
    for (span, v4, family, other) in [(first4, true, 4, 6), (first6, false, 6, 4)] {
        // What a name comes to is not known here; a server of this machine gets packets as they came.
        let can = |server: &Section| match server.server("address").map(|address| &address.host) {
            Some(Host::Ip(ip)) => ip.is_ipv4() == v4 || ip.is_loopback(),
            Some(_) | None => true,
        };
        if servers.iter().any(can) {
            continue;
        }
        let trouble = Trouble::new(format!(
            "`nat` does not change the family: {span} has no server, since pool `{}` has servers of IPv{other} alone",
            pool.name
        ))
        .expected(format!(
            "a server of IPv{family} in the pool, or no address of IPv{family} here: `tunnel`, `tcp` and `http` carry \
             one family to servers of the other"
        ));
        let path = format!("service.{}.listen", quoted(&service.name));
        // `:80` says every address of both families, perhaps without a thought of one of them.
        if spans.iter().any(|span| span.address.is_ipv4() == v4 && !span.address.is_unspecified()) {
            sink.error(service.place_of("listen"), &path, trouble);
        } else {
            sink.warning(service.place_of("listen"), &path, trouble);
        }
    }
}

/// Direct return: the server answers from the address and port that the client asked.
fn direct(
    service: &Section,
    method: &str,
    spans: &[Span],
    (server, port, path): (&Section, u16, &str),
    sink: &mut Sink<'_, '_>,
) {
    let ports: HashSet<u16> = spans.iter().filter_map(|span| span.single()).collect();
    let [only] = ports.iter().collect::<Vec<_>>()[..] else { return };
    if spans.iter().any(|span| span.single().is_none()) || *only == port {
        return;
    }
    let trouble = Trouble::new(format!(
        "direct return cannot change the port: service `{}` takes {only}, this server is at {port}",
        service.name
    ))
    .expected(format!("port {only} here, or `forward = \"nat\"` in place of `\"{method}\"`"));
    sink.error(server.place_of("address"), path, trouble);
}

/// Return addresses of a service that moves between machines.
fn moving(service: &Section, pool: &Section, effective: &Effective, sink: &mut Sink<'_, '_>) {
    if pool.unset("source") {
        return;
    }
    let own = pool.addresses("source");
    let backs = if own.is_empty() { effective.packets.addresses("return") } else { own };
    super::vrrp::returns(effective, service, (pool, backs), sink);
}

fn returns(service: &Section, pool: &Section, sink: &mut Sink<'_, '_>) {
    let path = format!("pool.{}.source", quoted(&pool.name));
    let listens: Vec<IpAddr> = service.spans("listen").iter().map(|span| span.address).collect();
    for address in pool.addresses("source") {
        if listens.contains(address) {
            let message = format!(
                "{address} is where service `{}` listens: servers' answers could not be told from requests",
                service.name
            );
            let trouble =
                Trouble::new(message).expected("an address of this machine that nothing else uses");
            sink.error(pool.place_of("source"), &path, trouble);
        }
    }
}
