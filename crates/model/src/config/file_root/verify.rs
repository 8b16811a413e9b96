//! Verifies relations between settings: missing, contradicting or ineffective ones. It checks effective settings, so
//! that an inherited value is verified where it applies.

use crate::config::auth::AUTH;
use crate::config::decode::expectation;
use crate::config::decode::key_path::quote_key;
use crate::config::dns::{NAME, ZONE};
use crate::config::effective_settings::EffectiveSettings;
use crate::config::finding::{FindingCollector, FindingDetails};
use crate::config::global::{GLOBAL, verify_global};
use crate::config::heartbeat::{HEARTBEAT, PATH};
use crate::config::link::{LINK, MEMBER};
use crate::config::mptcp::ENDPOINT;
use crate::config::pool::POOL;
use crate::config::schema::{DefaultValue, TableSchema, ValueKind};
use crate::config::section::{ConfigSection, ContentView};
use crate::config::server::SERVER;
use crate::config::service::SERVICE;
use crate::config::suggestion::nearest_match;
use crate::config::uplink::UPLINK;
use crate::config::vrrp::VRRP;
use crate::config::{
    affinity, auth, capture, dns, heartbeat, idle_timeout, link, mptcp, packets, pool, rules,
    service, uplink, vrrp,
};

/// Verifies all tables. `whole`: the file was parsed completely; otherwise missing settings are not reported.
pub fn verify_config(
    effective: &EffectiveSettings,
    whole: bool,
    sink: &mut FindingCollector<'_, '_>,
) {
    if whole {
        verify_required_tables(effective, sink);
        verify_references(effective, sink);
    }
    verify_global(effective, sink);
    service::verify_listeners(effective, sink);
    for service in &effective.services {
        crate::config::service::verify_service(service, effective, sink);
    }
    affinity::verify_shared_secret(effective, sink);
    packets::verify_packet_services(effective, sink);
    vrrp::verify_vrrp(effective, sink);
    heartbeat::verify_heartbeat(effective, whole, sink);
    auth::verify_auth(effective, whole, sink);
    capture::verify_capture(effective, whole, sink);
    link::verify_link(&effective.links, sink);
    mptcp::verify_mptcp(effective, whole, sink);
    uplink::verify_uplink(&effective.uplinks, &effective.uplinks_common, sink);
    dns::verify_dns(effective, whole, sink);
    rules::verify_rules(effective, whole, sink);
    idle_timeout::verify_idle_timeouts(effective, sink);
    let uses = effective.pool_usage();
    for pool in &effective.pools {
        pool::verify_pool(pool, uses.get(pool.name.as_str()).copied().unwrap_or_default(), sink);
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
    for object in &effective.auths {
        let path = format!("auth.{}", quote_key(&object.name));
        verify_required_keys(&AUTH, object, &path, sink);
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
                POOL.find("servers").map(|it| expectation::describe_expected(&it.key.kind));
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

/// Whether the configuration has no service, name, link, uplink, VRRP group or Multipath TCP endpoint.
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
                    .with_expected(expectation::describe_expected(&key.kind));
            sink.error(section.span, &format!("{path}.{}", key.name), trouble);
        }
        if let (ValueKind::Table { table: inner, .. }, Some(ContentView::Table(below))) =
            (&key.kind, setting.map(|s| s.content))
        {
            verify_required_keys(inner, below, &format!("{path}.{}", key.name), sink);
        }
        if let (
            ValueKind::List { table: inner, .. },
            "rule" | "error-page" | "hook" | "split" | "near" | "addresses" | "unadvertised"
            | "response-add" | "location" | "cookie-domain" | "cookie-path",
        ) = (&key.kind, key.name)
        {
            for (at, below) in section.list(key.name).iter().enumerate() {
                verify_required_keys(inner, below, &format!("{path}.{}[{at}]", key.name), sink);
            }
        }
    }
}

fn verify_references(effective: &EffectiveSettings, sink: &mut FindingCollector<'_, '_>) {
    let names: std::collections::BTreeSet<&str> =
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
            FindingDetails::new("no service uses this pool, and no name or authentication"),
        );
    }
}
