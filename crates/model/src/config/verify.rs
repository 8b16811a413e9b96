//! Judges how settings relate: what is missing, what contradicts, what cannot be meant. It looks at settings in
//! force, so that an inherited value is judged where it acts.

pub mod affinity;
pub mod balance;
pub mod buffer;
pub mod capture;
pub mod dns;
pub mod heartbeat;
pub mod http2;
pub mod http3;
pub mod link;
pub mod listeners;
pub mod method;
pub mod mptcp;
pub mod objective;
pub mod operations;
pub mod packets;
pub mod pools;
pub mod probes;
pub mod proxy_protocol;
pub mod resilience;
pub mod rules;
pub mod sockets;
pub mod tls;
pub mod uplink;
pub mod vrrp;

use super::decode::{quote_key, scalar};
use super::finding::{FindingCollector, FindingDetails};
use super::resolve::EffectiveSettings;
use super::schema::{DefaultValue, TableSchema, ValueKind};
use super::section::{ConfigSection, SettingContent};
use super::suggestion::nearest_match;
use super::tables::link::{LINK, MEMBER};
use super::tables::mptcp::ENDPOINT;
use super::tables::uplink::UPLINK;
use super::tables::{
    dns::NAME, dns::ZONE, global::GLOBAL, heartbeat::HEARTBEAT, heartbeat::PATH, pool::POOL,
    pool::SERVER, service::SERVICE, vrrp::VRRP,
};

/// Judge everything. `whole`: the file was read to its end; otherwise absence proves nothing and is not reported.
pub fn verify(effective: &EffectiveSettings, whole: bool, sink: &mut FindingCollector<'_, '_>) {
    if whole {
        verify_required_tables(effective, sink);
        verify_references(effective, sink);
    }
    verify_global(effective, sink);
    listeners::verify(effective, sink);
    for service in &effective.services {
        self::verify_service(service, effective, sink);
    }
    affinity::verify_shared_secret(effective, sink);
    packets::verify(effective, sink);
    vrrp::verify(effective, sink);
    heartbeat::verify(effective, whole, sink);
    capture::verify(effective, whole, sink);
    link::verify(&effective.links, sink);
    mptcp::verify(effective, whole, sink);
    uplink::verify(&effective.uplinks, &effective.uplinks_common, sink);
    dns::verify(effective, whole, sink);
    rules::verify(effective, whole, sink);
    let uses = effective.pool_usage();
    for pool in &effective.pools {
        pools::verify(pool, uses.get(pool.name.as_str()).copied().unwrap_or_default(), sink);
    }
}

fn verify_required_tables(effective: &EffectiveSettings, sink: &mut FindingCollector<'_, '_>) {
    verify_required_keys(&GLOBAL, &effective.global, "global", sink);
    for service in &effective.services {
        verify_required_keys(
            &SERVICE,
            service,
            &format!("service.{}", quote_key(&service.name)),
            sink,
        );
    }
    for group in &effective.vrrp {
        verify_required_keys(&VRRP, group, &format!("vrrp.{}", quote_key(&group.name)), sink);
    }
    for heartbeat in &effective.heartbeats {
        let path = format!("heartbeat.{}", quote_key(&heartbeat.name));
        verify_required_keys(&HEARTBEAT, heartbeat, &path, sink);
        for (at, one) in heartbeat.list("paths").iter().enumerate() {
            verify_required_keys(&PATH, one, &format!("{path}.paths[{at}]"), sink);
        }
    }
    for bundle in &effective.links {
        let path = format!("link.{}", quote_key(&bundle.name));
        verify_required_keys(&LINK, bundle, &path, sink);
        for (at, link) in bundle.list("links").iter().enumerate() {
            verify_required_keys(&MEMBER, link, &format!("{path}.links[{at}]"), sink);
        }
    }
    for (at, endpoint) in effective.mptcp.list("endpoints").iter().enumerate() {
        verify_required_keys(&ENDPOINT, endpoint, &format!("mptcp.endpoints[{at}]"), sink);
    }
    for uplink in &effective.uplinks {
        verify_required_keys(&UPLINK, uplink, &format!("uplink.{}", quote_key(&uplink.name)), sink);
    }
    for zone in &effective.zones {
        verify_required_keys(&ZONE, zone, &format!("zone.{}", quote_key(&zone.name)), sink);
    }
    for host in &effective.dns_names {
        verify_required_keys(&NAME, host, &format!("name.{}", quote_key(&host.name)), sink);
    }
    for pool in &effective.pools {
        let path = format!("pool.{}", quote_key(&pool.name));
        verify_required_keys(&POOL, pool, &path, sink);
        if pool.setting("servers").is_none() && pool.setting("servers-from").is_none() {
            let expected =
                POOL.find("servers").map(|(_, key)| scalar::describe_expected(&key.kind));
            let trouble = FindingDetails::new("a pool needs `servers`").with_found("nothing");
            let trouble = trouble.with_expected(expected.unwrap_or_default());
            sink.error(pool.span, &format!("{path}.servers"), trouble);
        }
        for (at, server) in pool.list("servers").iter().enumerate() {
            verify_required_keys(&SERVER, server, &format!("{path}.servers[{at}]"), sink);
        }
    }
    if serves_nothing(effective) {
        let trouble = FindingDetails::new("there is no service, so nothing is served")
            .with_expected("a table `[service.NAME]`");
        sink.warning(Default::default(), "service", trouble.with_found("nothing"));
    }
}

/// Nothing is served, answered for or led anywhere.
fn serves_nothing(effective: &EffectiveSettings) -> bool {
    let EffectiveSettings { services, dns_names: hosts, links, uplinks, vrrp, mptcp, .. } =
        effective;
    let endpoints = ["endpoints", "bundle"].iter().any(|key| mptcp.setting(key).is_some());
    [services, hosts, links, uplinks, vrrp].iter().all(|all| all.is_empty()) && !endpoints
}

fn verify_required_keys(
    table: &'static TableSchema,
    section: &ConfigSection,
    path: &str,
    sink: &mut FindingCollector<'_, '_>,
) {
    for key in table.keys {
        let setting = section.setting(key.name);
        if setting.is_none() && matches!(key.default, DefaultValue::Required) {
            let trouble =
                FindingDetails::new(format!("{} needs `{}`", table.description, key.name))
                    .with_found("nothing")
                    .with_expected(scalar::describe_expected(&key.kind));
            sink.error(section.span, &format!("{path}.{}", key.name), trouble);
        }
        if let (ValueKind::Table { table: inner, .. }, Some(SettingContent::Table(below))) =
            (&key.kind, setting.map(|s| &s.content))
        {
            verify_required_keys(inner, below, &format!("{path}.{}", key.name), sink);
        }
        if let (
            ValueKind::List { table: inner, .. },
            "rule" | "hook" | "split" | "near" | "addresses" | "also",
        ) = (&key.kind, key.name)
        {
            for (at, below) in section.list(key.name).iter().enumerate() {
                verify_required_keys(inner, below, &format!("{path}.{}[{at}]", key.name), sink);
            }
        }
    }
}

fn verify_references(effective: &EffectiveSettings, sink: &mut FindingCollector<'_, '_>) {
    let names: std::collections::HashSet<&str> =
        effective.pools.iter().map(|pool| pool.name.as_str()).collect();
    for service in &effective.services {
        let Some(wanted) = service.text("pool").filter(|name| !names.contains(name)) else {
            continue;
        };
        let near = if sink.wants_suggestions() {
            nearest_match(wanted, effective.pools.iter().map(|p| p.name.as_str()))
        } else {
            None
        };
        let trouble = FindingDetails::new(format!("there is no pool `{wanted}`"))
            .with_expected("the name of a table `[pool.NAME]`")
            .with_suggestion(near.map(|name| format!("\"{name}\"")));
        sink.error(
            service.span_of("pool"),
            &format!("service.{}.pool", quote_key(&service.name)),
            trouble,
        );
    }
    let uses = effective.pool_usage();
    for pool in effective.pools.iter().filter(|pool| !uses.contains_key(pool.name.as_str())) {
        sink.warning(
            pool.span,
            &format!("pool.{}", quote_key(&pool.name)),
            FindingDetails::new("no service uses this pool, and no name"),
        );
    }
}

fn verify_global(effective: &EffectiveSettings, sink: &mut FindingCollector<'_, '_>) {
    operations::verify_hooks(&effective.global, sink);
    operations::verify_remote_api(&effective.global, sink);
    if let Some(socket) = effective.global.table("socket") {
        sockets::verify(socket, "global.socket", sink);
    }
    if let Some(limit) = effective.global.table("limit") {
        verify_target_limit(limit, "global.limit", sink);
    }
    let log = effective.global.table("access-log");
    if let Some(log) = log.filter(|log| log.text("target") == Some("off")) {
        for key in method::written_keys(log, "target") {
            let trouble = FindingDetails::new(format!("`{key}` has no effect: `target = \"off\"`"));
            sink.warning(log.span_of(key), &format!("global.access-log.{key}"), trouble);
        }
    }
}

fn verify_service(
    service: &ConfigSection,
    effective: &EffectiveSettings,
    sink: &mut FindingCollector<'_, '_>,
) {
    let path = format!("service.{}", quote_key(&service.name));
    if service.text("forward") == Some("tcp") {
        method::visit_unsupported_keys(
            &SERVICE,
            service,
            &path,
            &|key| key.http_only,
            &mut |section, key, path| {
                let message =
                    format!("`{key}` belongs to `forward = \"http\"`; this service forwards bytes");
                sink.error(section.span_of(key), path, FindingDetails::new(message));
            },
        );
    }
    if !method::forwards_packets(service) {
        method::visit_unsupported_keys(
            &SERVICE,
            service,
            &path,
            &|key| key.packets_only,
            &mut |section, key, path| {
                let message = format!(
                    "`{key}` belongs to packet forwarding: `forward` `mac`, `nat` or `tunnel`"
                );
                sink.error(section.span_of(key), path, FindingDetails::new(message));
            },
        );
    }
    if let Some(limit) = service.table("limit") {
        verify_target_limit(limit, &format!("{path}.limit"), sink);
        let most: Option<u64> = effective.global.count("connections");
        let own: Option<u64> = limit.count("connections");
        if let (Some(own), Some(most)) = (own, most)
            && own > most
        {
            let message =
                format!("{own} connections are never reached: `global.connections` is {most}");
            sink.warning(
                limit.span_of("connections"),
                &format!("{path}.limit.connections"),
                FindingDetails::new(message),
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
                limit.span_of(key),
                &format!("{path}.limit.{key}"),
                FindingDetails::new(message),
            );
        }
    }
    tls::verify_service_tls(service, &path, sink);
    affinity::verify(service, sink);
    objective::verify(service, &effective.global, sink);
    http2::verify_client_http2(service, &path, sink);
    buffer::verify(service, &path, sink);
    http3::verify_client_http3(service, &path, sink);
    proxy_protocol::verify_accept_proxy(service, &path, sink);
    if let Some(socket) = service.table("socket") {
        sockets::verify(socket, &format!("{path}.socket"), sink);
    }
}

fn verify_target_limit(limit: &ConfigSection, path: &str, sink: &mut FindingCollector<'_, '_>) {
    let sizes = limit.count::<u64>("target-bytes").zip(limit.count::<u64>("header-bytes"));
    if let Some((target, header)) = sizes {
        // An inherited pair was judged where it was written.
        if target > header && (limit.is_written("target-bytes") || limit.is_written("header-bytes"))
        {
            let key =
                if limit.is_written("target-bytes") { "target-bytes" } else { "header-bytes" };
            let message =
                format!("a target of {target} bytes does not fit into a head of {header}");
            sink.error(limit.span_of(key), &format!("{path}.{key}"), FindingDetails::new(message));
        }
    }
}
