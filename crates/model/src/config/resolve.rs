//! Resolves written settings into effective ones: inheritance (global → service or pool → server), defaults, and what
//! follows from other settings. It reports nothing: `verify` checks the result.

mod defaults;
mod dns;
mod heartbeat;
mod kind_defaults;
mod pool_usage;
mod probes;

use std::collections::HashMap;

use super::decode::address::derive_server_name;
use super::schema::{DefaultValue, KeySchema, TableSchema, ValueKind};
use super::section::{ConfigSection, Setting, SettingContent, SettingOrigin};
use super::source_text::SourceSpan;
use super::tables::probe::{PROBE_TABLE, TLS};
use super::tables::{
    capture::CAPTURE, dns::NAME, dns::SERVER as NAMES, dns::ZONE, global::GLOBAL,
    heartbeat::HEARTBEAT, link::LINK, mptcp::MPTCP, packets::PACKETS, pool::POOL, pool::SERVER,
    service::SERVICE, uplink::UPLINK, uplink::UPLINKS_TABLE, vrrp::VRRP,
};
use super::value::ConfigValue;
use defaults::{cap_default, raise_default};
pub use kind_defaults::probe_kind;
use kind_defaults::{
    fill_affinity_defaults, fill_agent_defaults, fill_balance_defaults, fill_probe_defaults,
};
pub use pool_usage::PoolUsage;
use probes::{SPEAKS_TLS, inherit_pool_tls, is_unwritten, pool_tls_for_probes};

/// Every setting in force, with where it came from.
#[derive(Clone, Debug)]
pub struct EffectiveSettings {
    pub global: ConfigSection,
    pub packets: ConfigSection,
    pub services: Vec<ConfigSection>,
    /// Pools by name; their `servers` are resolved as well.
    pub pools: Vec<ConfigSection>,
    /// Groups of shared addresses by name.
    pub vrrp: Vec<ConfigSection>,
    /// Heartbeats by the names of the other members.
    pub heartbeats: Vec<ConfigSection>,
    pub captures: Vec<ConfigSection>,
    /// Bundles of links by name.
    pub links: Vec<ConfigSection>,
    /// What Multipath TCP is told.
    pub mptcp: ConfigSection,
    /// What belongs to all uplinks.
    pub uplinks_common: ConfigSection,
    pub uplinks: Vec<ConfigSection>,
    pub name_server: ConfigSection,
    pub zones: Vec<ConfigSection>,
    /// Names that are answered for, by domain.
    pub dns_names: Vec<ConfigSection>,
    /// What a server of each pool is when it sets nothing itself, in the order of the pools.
    pub server_templates: Vec<ConfigSection>,
}

/// Resolve the whole file.
pub fn resolve(root: &ConfigSection) -> EffectiveSettings {
    let nothing = ConfigSection::new(&GLOBAL, SourceSpan::default());
    let written = root.table("global").unwrap_or(&nothing);
    let global =
        resolve_layers(&GLOBAL, &[SettingLayer { section: written, tier: LayerTier::Own }], false);
    let packets = top_table(root, "packets", &PACKETS);
    let services = root.list("service").iter();
    let services = services.map(|it| resolve_service(it, written, &global)).collect();
    let vrrp: Vec<ConfigSection> = root.list("vrrp").iter().map(resolve_vrrp).collect();
    let heartbeats = root.list("heartbeat").iter();
    let heartbeats = heartbeats
        .map(|it| heartbeat::fill_heartbeat_defaults(resolve_top_table(&HEARTBEAT, it), &vrrp))
        .collect();
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
    let pools = Vec::new();
    let templates = Vec::new();
    let mut effective = EffectiveSettings {
        global,
        packets,
        services,
        pools,
        vrrp,
        heartbeats,
        captures,
        links,
        mptcp,
        uplinks_common: outward,
        uplinks,
        name_server: names,
        zones,
        dns_names: hosts,
        server_templates: templates,
    };
    let uses = effective.pool_usage();
    let pools = root.list("pool").iter();
    effective.pools = pools
        .map(|pool| {
            resolve_pool(pool, written, uses.get(pool.name.as_str()).copied().unwrap_or_default())
        })
        .collect();
    let nothing = ConfigSection::new(&SERVER, SourceSpan::default());
    let pools = root.list("pool").iter().zip(&effective.pools);
    let templates = pools
        .map(|(pool, settled)| resolve_server(&nothing, pool, resolve_probe_tls(settled).as_ref()));
    effective.server_templates = templates.collect();
    effective
}

impl EffectiveSettings {
    /// Pools that services and names use, and by which methods.
    pub fn pool_usage(&self) -> HashMap<&str, PoolUsage> {
        pool_usage::collect(&self.services, &self.dns_names)
    }
}

fn resolve_service(
    written: &ConfigSection,
    above: &ConfigSection,
    global: &ConfigSection,
) -> ConfigSection {
    let mut service = resolve_layers(&SERVICE, &layers(written, above, LayerTier::Global), false);
    service.name.clone_from(&written.name);
    if let Some(timeout) = service.table_mut("timeout")
        && timeout.setting("drain").is_none()
    {
        timeout.set(
            "drain",
            ConfigValue::Time(global.time_or_zero("drain")),
            SettingOrigin::Derived("as global.drain"),
        );
    }
    if let Some(sticky) = service.table_mut("sticky") {
        fill_affinity_defaults(sticky);
    }
    if let Some(limit) = service.table_mut("limit") {
        cap_default(limit, "target-bytes", "header-bytes");
    }
    for protocol in ["http2", "http3"] {
        if let Some(protocol) = service.table_mut(protocol) {
            raise_default(protocol, "window-most", "window", 1);
        }
    }
    if let Some((at, key)) = SERVICE.find("rule")
        && let ValueKind::List { table, .. } = key.kind
        && let Some(Setting { content: SettingContent::List(_), origin }) = service.setting("rule")
    {
        let origin = *origin;
        let own = |rule| [SettingLayer { section: rule, tier: LayerTier::Own }];
        let rules =
            written.list("rule").iter().map(|rule| resolve_layers(table, &own(rule), false));
        let rules = rules.collect();
        service.set_slot(at, SettingContent::List(rules), origin);
    }
    service
}

fn resolve_pool(written: &ConfigSection, above: &ConfigSection, uses: PoolUsage) -> ConfigSection {
    let mut pool = resolve_layers(&POOL, &layers(written, above, LayerTier::Global), false);
    pool.name.clone_from(&written.name);
    if let Some(balance) = pool.table_mut("balance") {
        fill_balance_defaults(balance, uses);
    }
    let tls = resolve_probe_tls(&pool);
    resolve_probe(&mut pool, tls.as_ref());
    if let Some(agent) = pool.table_mut("agent") {
        fill_agent_defaults(agent);
    }
    if let Some(retry) = pool.table_mut("retry") {
        raise_default(retry, "back-off-most", "back-off", 1);
    }
    if let Some(http2) = pool.table_mut("http2") {
        raise_default(http2, "window-most", "window", 1);
    }
    let servers: Vec<ConfigSection> = written
        .list("servers")
        .iter()
        .map(|one| resolve_server(one, written, tls.as_ref()))
        .collect();
    if pool.setting("initial").is_none() {
        let probed =
            !servers.is_empty() && servers.iter().all(|server| server.table("probe").is_some());
        let (word, why) = if probed {
            ("unknown", "its servers have probes")
        } else {
            ("up", "not every server has a probe")
        };
        pool.set("initial", ConfigValue::Keyword(word), SettingOrigin::Derived(why));
    }
    if pool.setting("all-down").is_none() {
        let (word, why) = if uses.packets && !uses.http && !uses.tcp {
            ("spread", "only packets are forwarded to the pool")
        } else {
            ("refuse", "not only packets are forwarded to the pool")
        };
        pool.set("all-down", ConfigValue::Keyword(word), SettingOrigin::Derived(why));
    }
    if let Some((at, _)) = POOL.find("servers")
        && let Some(Setting { content: SettingContent::List(_), origin }) = pool.setting("servers")
    {
        let origin = *origin;
        pool.set_slot(at, SettingContent::List(servers), origin);
    }
    pool
}

/// A table at the top that inherits nothing.
fn resolve_top_table(table: &'static TableSchema, written: &ConfigSection) -> ConfigSection {
    let mut section =
        resolve_layers(table, &[SettingLayer { section: written, tier: LayerTier::Own }], false);
    section.name.clone_from(&written.name);
    section
}

fn resolve_vrrp(written: &ConfigSection) -> ConfigSection {
    let mut group = resolve_top_table(&VRRP, written);
    if group.setting("dead-man").is_none() {
        let time = group.time_or_zero("advertise") * 5 / 2;
        group.set(
            "dead-man",
            ConfigValue::Time(time),
            SettingOrigin::Derived("two and a half times `advertise`"),
        );
    }
    group
}

/// A table of the file's top, all defaults where it is not written.
fn top_table(root: &ConfigSection, key: &str, table: &'static TableSchema) -> ConfigSection {
    resolve_top_table(
        table,
        root.table(key).unwrap_or(&ConfigSection::new(table, SourceSpan::default())),
    )
}

fn resolve_link(written: &ConfigSection) -> ConfigSection {
    let mut bundle = resolve_top_table(&LINK, written);
    if bundle.text("policy") != Some("round-robin") {
        let unwritten = ["equalise", "burst"].into_iter().filter(|key| !written.is_written(key));
        unwritten.for_each(|key| bundle.clear(key));
    }
    bundle
}

fn resolve_server(
    written: &ConfigSection,
    pool: &ConfigSection,
    tls: Option<&ConfigSection>,
) -> ConfigSection {
    let mut server = resolve_layers(&SERVER, &layers(written, pool, LayerTier::Pool), false);
    if server.setting("name").is_none()
        && let Some(name) = server.server_address("address").map(derive_server_name)
    {
        server.set(
            "name",
            ConfigValue::Text(name.into()),
            SettingOrigin::Derived("from its address"),
        );
    }
    resolve_probe(&mut server, tls);
    server
}

/// The probe of a settled pool or server. Where nothing is said of one and the pool speaks TLS, it is a handshake.
fn resolve_probe(section: &mut ConfigSection, tls: Option<&ConfigSection>) {
    if is_unwritten(section, "probe") {
        match tls {
            Some(_) => {
                section.set_table("probe", resolve_layers(&PROBE_TABLE, &[], true), SPEAKS_TLS)
            }
            None => section.set("probe", ConfigValue::Unset("off"), SettingOrigin::Default),
        }
    }
    if let Some(probe) = section.table_mut("probe") {
        inherit_pool_tls(probe, tls);
        fill_probe_defaults(probe);
    }
}

/// The TLS of a settled pool, as its probes have it where they say nothing.
fn resolve_probe_tls(pool: &ConfigSection) -> Option<ConfigSection> {
    let tls = pool.table("tls")?;
    Some(pool_tls_for_probes(resolve_layers(&TLS, &[], true), tls))
}

/// One place where a setting may be written, the nearest first in a chain.
#[derive(Clone, Copy, Debug)]
struct SettingLayer<'a> {
    section: &'a ConfigSection,
    tier: LayerTier,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LayerTier {
    Own,
    Global,
    Pool,
}

fn layers<'a>(
    own: &'a ConfigSection,
    above: &'a ConfigSection,
    tier: LayerTier,
) -> [SettingLayer<'a>; 2] {
    [SettingLayer { section: own, tier: LayerTier::Own }, SettingLayer { section: above, tier }]
}

/// The settings of one table from its layers. `inside`: within an inherited table, where every key is inherited.
fn resolve_layers(
    table: &'static TableSchema,
    chain: &[SettingLayer<'_>],
    inside: bool,
) -> ConfigSection {
    let place = chain.first().map(|layer| layer.section.span).unwrap_or_default();
    let mut section = ConfigSection::new(table, place);
    for (at, key) in table.keys.iter().enumerate() {
        let own = chain.first().filter(|layer| layer.tier == LayerTier::Own);
        let seen = if inside || key.inherits {
            chain
        } else {
            own.map(std::slice::from_ref).unwrap_or_default()
        };
        let setting = match &key.kind {
            ValueKind::Refused(_) => None,
            ValueKind::Table { table: inner, .. } => resolve_inner_table(key, inner, seen),
            _ => resolve_value(table, key, seen),
        };
        if let Some(Setting { content: slot, origin }) = setting {
            section.set_slot(at, slot, origin);
        }
    }
    // What an overdue list is worth means nothing without lists.
    if section.setting("crl").is_none() && !section.is_written("expired-crl") {
        section.clear("expired-crl");
    }
    section
}

fn resolve_value(
    table: &TableSchema,
    key: &KeySchema,
    chain: &[SettingLayer<'_>],
) -> Option<Setting> {
    for layer in chain {
        if let Some(setting) = layer.section.setting(key.name) {
            let origin = layer.origin(setting);
            if let (ValueKind::List { table, .. }, SettingContent::List(list)) =
                (&key.kind, &setting.content)
                && !std::ptr::eq(*table, &SERVER)
            {
                // What an element inherits is settled by whoever knows from where.
                let own = |one| [SettingLayer { section: one, tier: layer.tier }];
                let list = list.iter().map(|one| resolve_layers(table, &own(one), true)).collect();
                return Some(Setting { content: SettingContent::List(list), origin });
            }
            return Some(Setting { content: setting.content.clone(), origin });
        }
        // A nearer choice of another kind: what was chosen further away does not reach us.
        let rivals = table
            .exclusive_groups
            .iter()
            .filter(|group| !group.contains(&key.name))
            .flat_map(|group| group.iter());
        let is_choice = table.exclusive_groups.iter().any(|group| group.contains(&key.name));
        if is_choice && rivals.into_iter().any(|rival| layer.section.setting(rival).is_some()) {
            break;
        }
    }
    default_setting(key)
}

fn resolve_inner_table(
    key: &KeySchema,
    inner: &'static TableSchema,
    chain: &[SettingLayer<'_>],
) -> Option<Setting> {
    let mut below: Vec<SettingLayer<'_>> = Vec::new();
    let mut origin = SettingOrigin::Default;
    for layer in chain {
        let Some(setting) = layer.section.setting(key.name) else { continue };
        match &setting.content {
            SettingContent::Table(section) => {
                if below.is_empty() {
                    origin = layer.origin(setting);
                }
                below.push(SettingLayer { section, tier: layer.tier });
            }
            // `off` nearest wins; `off` further away ends what a nearer table can inherit.
            slot if below.is_empty() => {
                return Some(Setting { content: slot.clone(), origin: layer.origin(setting) });
            }
            _ => break,
        }
    }
    if below.is_empty() && !matches!(key.default, DefaultValue::Inner) {
        return default_setting(key);
    }
    Some(Setting { content: SettingContent::Table(resolve_layers(inner, &below, true)), origin })
}

fn default_setting(key: &KeySchema) -> Option<Setting> {
    match &key.default {
        DefaultValue::Literal(value) => Some(Setting {
            content: SettingContent::Value(value.clone()),
            origin: SettingOrigin::Default,
        }),
        DefaultValue::Required
        | DefaultValue::Absent
        | DefaultValue::Inner
        | DefaultValue::Derived(_) => None,
    }
}

impl SettingLayer<'_> {
    fn origin(&self, setting: &Setting) -> SettingOrigin {
        let place = setting.origin.span().unwrap_or_default();
        match self.tier {
            LayerTier::Own => SettingOrigin::Written(place),
            LayerTier::Global => SettingOrigin::Global(place),
            LayerTier::Pool => SettingOrigin::Pool(place),
        }
    }
}
