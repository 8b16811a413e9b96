//! Resolves effective settings: inheritance (global → service or pool → server), defaults, and values that depend on
//! other settings. It reports nothing: `verify` checks the result.

use crate::config::auth::AUTH;
use crate::config::capture::CAPTURE;
use crate::config::control::resolve_control;
use crate::config::dns::SERVER as NAMES;
use crate::config::dns::{NAME, ZONE};
use crate::config::effective_settings::EffectiveSettings;
use crate::config::global::{CONTROL, GLOBAL};
use crate::config::heartbeat::HEARTBEAT;
use crate::config::link::resolve_link;
use crate::config::mptcp::MPTCP;
use crate::config::packets::PACKETS;
use crate::config::pool::resolve_pool;
use crate::config::probe::resolve_probe_tls;
use crate::config::schema::TableSchema;
use crate::config::section::ConfigSection;
use crate::config::server::{SERVER, resolve_server};
use crate::config::service::resolve_service;
use crate::config::setting_layers::{SettingLayer, resolve_layers, resolve_top_table};
use crate::config::source_text::SourceSpan;
use crate::config::uplink::{UPLINK, UPLINKS_TABLE};
use crate::config::vrrp::resolve_vrrp;
use crate::config::{auth, dns, heartbeat};

/// Resolves the whole file. What was written of a service or pool goes when it is resolved, since a large file has
/// thousands of them.
pub fn resolve_config(mut root: ConfigSection) -> EffectiveSettings {
    let services = root.take_list("service");
    let pools = root.take_list("pool");
    let root = &root;
    let nothing = ConfigSection::new(&GLOBAL, SourceSpan::default());
    let written = root.table("global").unwrap_or(&nothing);
    let mut global = resolve_layers(&GLOBAL, &[SettingLayer::own(written)], false);
    resolve_control(&mut global, &CONTROL);
    let packets = top_table(root, "packets", &PACKETS);
    let services = services.into_iter();
    let services = services.map(|it| resolve_service(&it, written, &global)).collect();
    let vrrp: Vec<ConfigSection> = root.list("vrrp").iter().map(resolve_vrrp).collect();
    let heartbeats = root.list("heartbeat").iter();
    let heartbeats = heartbeats
        .map(|it| heartbeat::fill_heartbeat_defaults(resolve_top_table(&HEARTBEAT, it), &vrrp))
        .collect();
    let auths = root.list("auth").iter();
    let auths = auths.map(|it| auth::fill_auth_defaults(resolve_top_table(&AUTH, it))).collect();
    let captures = root.list("capture").iter().map(|it| resolve_top_table(&CAPTURE, it)).collect();
    let links = root.list("link").iter().map(resolve_link).collect();
    let mptcp = top_table(root, "mptcp", &MPTCP);
    let outward = top_table(root, "uplinks", &UPLINKS_TABLE);
    let uplinks = root.list("uplink").iter().map(|it| resolve_top_table(&UPLINK, it)).collect();
    let names = top_table(root, "names", &NAMES);
    let zones: Vec<ConfigSection> =
        root.list("zone").iter().map(|it| resolve_top_table(&ZONE, it)).collect();
    let hosts = root
        .list("name")
        .iter()
        .map(|it| dns::fill_name_defaults(resolve_top_table(&NAME, it), &zones))
        .collect();
    let mut effective = EffectiveSettings {
        global,
        packets,
        services,
        pools: Vec::new(),
        vrrp,
        heartbeats,
        auths,
        captures,
        links,
        mptcp,
        uplinks_common: outward,
        uplinks,
        name_server: names,
        zones,
        dns_names: hosts,
        server_templates: Vec::new(),
    };
    let uses = effective.pool_usage();
    let unwritten = ConfigSection::new(&SERVER, SourceSpan::default());
    let mut templates = Vec::with_capacity(pools.len());
    let resolved = pools.into_iter().map(|pool| {
        let uses = uses.get(pool.name.as_str()).copied().unwrap_or_default();
        let resolved = resolve_pool(&pool, written, uses);
        let tls = resolve_probe_tls(&resolved);
        templates.push(resolve_server(&unwritten, &pool, tls.as_ref()));
        resolved
    });
    effective.pools = resolved.collect();
    effective.server_templates = templates;
    effective
}

/// A top-level table, with all defaults if it is not written.
fn top_table(root: &ConfigSection, key: &str, table: &'static TableSchema) -> ConfigSection {
    resolve_top_table(
        table,
        root.table(key).unwrap_or(&ConfigSection::new(table, SourceSpan::default())),
    )
}
