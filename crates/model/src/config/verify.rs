//! Judges how settings relate: what is missing, what contradicts, what cannot be meant. It looks at settings in
//! force, so that an inherited value is judged where it acts.

pub mod balance;
pub mod buffer;
pub mod capture;
pub mod heartbeat;
pub mod http2;
pub mod http3;
pub mod link;
pub mod listeners;
pub mod method;
pub mod mptcp;
pub mod names;
pub mod objective;
pub mod operate;
pub mod packets;
pub mod pools;
pub mod probes;
pub mod proxy;
pub mod resilience;
pub mod rules;
pub mod sockets;
pub mod sticky;
pub mod tls;
pub mod uplink;
pub mod vrrp;

use super::decode::{quoted, scalar};
use super::finding::{Sink, Trouble};
use super::resolve::Effective;
use super::schema::{Fallback, Kind, Table};
use super::section::{Section, Slot};
use super::suggest::nearest;
use super::tables::link::{LINK, MEMBER};
use super::tables::mptcp::ENDPOINT;
use super::tables::uplink::UPLINK;
use super::tables::{
    global::GLOBAL, heartbeat::HEARTBEAT, heartbeat::PATH, names::NAME, names::ZONE, pool::POOL,
    pool::SERVER, service::SERVICE, vrrp::VRRP,
};

/// Judge everything. `whole`: the file was read to its end; otherwise absence proves nothing and is not reported.
pub fn verify(effective: &Effective, whole: bool, sink: &mut Sink<'_, '_>) {
    if whole {
        missing(effective, sink);
        references(effective, sink);
    }
    global(effective, sink);
    listeners::verify(effective, sink);
    for service in &effective.services {
        self::service(service, effective, sink);
    }
    sticky::shared(effective, sink);
    packets::verify(effective, sink);
    vrrp::verify(effective, sink);
    heartbeat::verify(effective, whole, sink);
    capture::verify(effective, whole, sink);
    link::verify(&effective.links, sink);
    mptcp::verify(effective, whole, sink);
    uplink::verify(&effective.uplinks, &effective.outward, sink);
    names::verify(effective, whole, sink);
    rules::verify(effective, whole, sink);
    let uses = effective.uses();
    for pool in &effective.pools {
        pools::verify(pool, uses.get(pool.name.as_str()).copied().unwrap_or_default(), sink);
    }
}

fn missing(effective: &Effective, sink: &mut Sink<'_, '_>) {
    required(&GLOBAL, &effective.global, "global", sink);
    for service in &effective.services {
        required(&SERVICE, service, &format!("service.{}", quoted(&service.name)), sink);
    }
    for group in &effective.vrrp {
        required(&VRRP, group, &format!("vrrp.{}", quoted(&group.name)), sink);
    }
    for heartbeat in &effective.heartbeats {
        let path = format!("heartbeat.{}", quoted(&heartbeat.name));
        required(&HEARTBEAT, heartbeat, &path, sink);
        for (at, one) in heartbeat.list("paths").iter().enumerate() {
            required(&PATH, one, &format!("{path}.paths[{at}]"), sink);
        }
    }
    for bundle in &effective.links {
        let path = format!("link.{}", quoted(&bundle.name));
        required(&LINK, bundle, &path, sink);
        for (at, link) in bundle.list("links").iter().enumerate() {
            required(&MEMBER, link, &format!("{path}.links[{at}]"), sink);
        }
    }
    for (at, endpoint) in effective.mptcp.list("endpoints").iter().enumerate() {
        required(&ENDPOINT, endpoint, &format!("mptcp.endpoints[{at}]"), sink);
    }
    for uplink in &effective.uplinks {
        required(&UPLINK, uplink, &format!("uplink.{}", quoted(&uplink.name)), sink);
    }
    for zone in &effective.zones {
        required(&ZONE, zone, &format!("zone.{}", quoted(&zone.name)), sink);
    }
    for host in &effective.hosts {
        required(&NAME, host, &format!("name.{}", quoted(&host.name)), sink);
    }
    for pool in &effective.pools {
        let path = format!("pool.{}", quoted(&pool.name));
        required(&POOL, pool, &path, sink);
        if pool.setting("servers").is_none() && pool.setting("servers-from").is_none() {
            let expected = POOL.find("servers").map(|(_, key)| scalar::expected(&key.kind));
            let trouble = Trouble::new("a pool needs `servers`").found("nothing");
            let trouble = trouble.expected(expected.unwrap_or_default());
            sink.error(pool.place, &format!("{path}.servers"), trouble);
        }
        for (at, server) in pool.list("servers").iter().enumerate() {
            required(&SERVER, server, &format!("{path}.servers[{at}]"), sink);
        }
    }
    if idle(effective) {
        let trouble = Trouble::new("there is no service, so nothing is served")
            .expected("a table `[service.NAME]`");
        sink.warning(Default::default(), "service", trouble.found("nothing"));
    }
}

/// Nothing is served, answered for or led anywhere.
fn idle(effective: &Effective) -> bool {
    let Effective { services, hosts, links, uplinks, vrrp, mptcp, .. } = effective;
    let endpoints = ["endpoints", "bundle"].iter().any(|key| mptcp.setting(key).is_some());
    [services, hosts, links, uplinks, vrrp].iter().all(|all| all.is_empty()) && !endpoints
}

fn required(table: &'static Table, section: &Section, path: &str, sink: &mut Sink<'_, '_>) {
    for key in table.keys {
        let setting = section.setting(key.name);
        if setting.is_none() && matches!(key.default, Fallback::Required) {
            let trouble = Trouble::new(format!("{} needs `{}`", table.what, key.name))
                .found("nothing")
                .expected(scalar::expected(&key.kind));
            sink.error(section.place, &format!("{path}.{}", key.name), trouble);
        }
        if let (Kind::Table { table: inner, .. }, Some(Slot::Table(below))) =
            (&key.kind, setting.map(|s| &s.slot))
        {
            required(inner, below, &format!("{path}.{}", key.name), sink);
        }
        if let (
            Kind::List { table: inner, .. },
            "rule" | "hook" | "split" | "near" | "addresses" | "also",
        ) = (&key.kind, key.name)
        {
            for (at, below) in section.list(key.name).iter().enumerate() {
                required(inner, below, &format!("{path}.{}[{at}]", key.name), sink);
            }
        }
    }
}

fn references(effective: &Effective, sink: &mut Sink<'_, '_>) {
    let names: std::collections::HashSet<&str> =
        effective.pools.iter().map(|pool| pool.name.as_str()).collect();
    for service in &effective.services {
        let Some(wanted) = service.text("pool").filter(|name| !names.contains(name)) else {
            continue;
        };
        let near = if sink.searches() {
            nearest(wanted, effective.pools.iter().map(|p| p.name.as_str()))
        } else {
            None
        };
        let trouble = Trouble::new(format!("there is no pool `{wanted}`"))
            .expected("the name of a table `[pool.NAME]`")
            .suggest(near.map(|name| format!("\"{name}\"")));
        sink.error(
            service.place_of("pool"),
            &format!("service.{}.pool", quoted(&service.name)),
            trouble,
        );
    }
    let uses = effective.uses();
    for pool in effective.pools.iter().filter(|pool| !uses.contains_key(pool.name.as_str())) {
        sink.warning(
            pool.place,
            &format!("pool.{}", quoted(&pool.name)),
            Trouble::new("no service uses this pool, and no name"),
        );
    }
}

fn global(effective: &Effective, sink: &mut Sink<'_, '_>) {
    operate::hooks(&effective.global, sink);
    operate::remote(&effective.global, sink);
    if let Some(socket) = effective.global.table("socket") {
        sockets::verify(socket, "global.socket", sink);
    }
    if let Some(limit) = effective.global.table("limit") {
        target_fits(limit, "global.limit", sink);
    }
    let log = effective.global.table("access-log");
    if let Some(log) = log.filter(|log| log.text("target") == Some("off")) {
        for key in method::set_here(log, "target") {
            let trouble = Trouble::new(format!("`{key}` has no effect: `target = \"off\"`"));
            sink.warning(log.place_of(key), &format!("global.access-log.{key}"), trouble);
        }
    }
}

fn service(service: &Section, effective: &Effective, sink: &mut Sink<'_, '_>) {
    let path = format!("service.{}", quoted(&service.name));
    if service.text("forward") == Some("tcp") {
        method::misfits(
            &SERVICE,
            service,
            &path,
            &|key| key.http_only,
            &mut |section, key, path| {
                let message =
                    format!("`{key}` belongs to `forward = \"http\"`; this service forwards bytes");
                sink.error(section.place_of(key), path, Trouble::new(message));
            },
        );
    }
    if !method::forwards_packets(service) {
        method::misfits(
            &SERVICE,
            service,
            &path,
            &|key| key.packets_only,
            &mut |section, key, path| {
                let message = format!(
                    "`{key}` belongs to packet forwarding: `forward` `mac`, `nat` or `tunnel`"
                );
                sink.error(section.place_of(key), path, Trouble::new(message));
            },
        );
    }
    if let Some(limit) = service.table("limit") {
        target_fits(limit, &format!("{path}.limit"), sink);
        let most: Option<u64> = effective.global.count("connections");
        let own: Option<u64> = limit.count("connections");
        if let (Some(own), Some(most)) = (own, most)
            && own > most
        {
            let message =
                format!("{own} connections are never reached: `global.connections` is {most}");
            sink.warning(
                limit.place_of("connections"),
                &format!("{path}.limit.connections"),
                Trouble::new(message),
            );
        }
        let each: Option<u64> = limit.count("connections-per-client");
        if let (Some(each), Some(all)) = (each, own.or(most))
            && each > all
        {
            let message =
                format!("a client never has {each} connections: all clients together have {all}");
            let key = "connections-per-client";
            sink.warning(
                limit.place_of(key),
                &format!("{path}.limit.{key}"),
                Trouble::new(message),
            );
        }
    }
    tls::service(service, &path, sink);
    sticky::verify(service, sink);
    objective::verify(service, &effective.global, sink);
    http2::service(service, &path, sink);
    buffer::verify(service, &path, sink);
    http3::service(service, &path, sink);
    proxy::service(service, &path, sink);
    if let Some(socket) = service.table("socket") {
        sockets::verify(socket, &format!("{path}.socket"), sink);
    }
}

fn target_fits(limit: &Section, path: &str, sink: &mut Sink<'_, '_>) {
    let sizes = limit.count::<u64>("target-bytes").zip(limit.count::<u64>("header-bytes"));
    if let Some((target, header)) = sizes {
        // An inherited pair was judged where it was written.
        if target > header && (limit.wrote("target-bytes") || limit.wrote("header-bytes")) {
            let key = if limit.wrote("target-bytes") { "target-bytes" } else { "header-bytes" };
            let message =
                format!("a target of {target} bytes does not fit into a head of {header}");
            sink.error(limit.place_of(key), &format!("{path}.{key}"), Trouble::new(message));
        }
    }
}
