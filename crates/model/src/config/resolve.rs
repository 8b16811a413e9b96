//! From what is written to what is in force: inheritance (global → service or pool → server), defaults, and what
//! follows from other settings. It reports nothing: `verify` judges the result.

mod defaults;
mod heartbeat;
mod kinds;
mod names;
mod probes;
mod uses;

use std::collections::HashMap;

use super::decode::address::name_from;
use super::schema::{Fallback, Key, Kind, Table};
use super::section::{Origin, Section, Setting, Slot};
use super::source::Place;
use super::tables::probe::{PROBE_TABLE, TLS};
use super::tables::{
    capture::CAPTURE, global::GLOBAL, heartbeat::HEARTBEAT, link::LINK, mptcp::MPTCP, names::NAME,
    names::SERVER as NAMES, names::ZONE, packets::PACKETS, pool::POOL, pool::SERVER,
    service::SERVICE, uplink::UPLINK, uplink::UPLINKS_TABLE, vrrp::VRRP,
};
use super::value::Value;
use defaults::{cap_default, raise_default};
pub use kinds::probe_kind;
use kinds::{settle_agent, settle_balance, settle_probe, settle_sticky};
use probes::{SPEAKS_TLS, as_in_pool, speak_as_pool, unsaid};
pub use uses::Uses;

/// Every setting in force, with where it came from.
#[derive(Clone, Debug)]
pub struct Effective {
    /// The process.
    pub global: Section,
    /// The packet plane.
    pub packets: Section,
    /// Services by name.
    pub services: Vec<Section>,
    /// Pools by name; their `servers` are resolved as well.
    pub pools: Vec<Section>,
    /// Groups of shared addresses by name.
    pub vrrp: Vec<Section>,
    /// Heartbeats by the names of the other members.
    pub heartbeats: Vec<Section>,
    /// Captures by name.
    pub captures: Vec<Section>,
    /// Bundles of links by name.
    pub links: Vec<Section>,
    /// What Multipath TCP is told.
    pub mptcp: Section,
    /// What belongs to all uplinks.
    pub outward: Section,
    /// Uplinks by name.
    pub uplinks: Vec<Section>,
    /// The name server.
    pub names: Section,
    /// Zones by domain.
    pub zones: Vec<Section>,
    /// Names that are answered for, by domain.
    pub hosts: Vec<Section>,
    /// What a server of each pool is when it sets nothing itself, in the order of the pools.
    pub templates: Vec<Section>,
}

/// Resolve the whole file.
pub fn resolve(root: &Section) -> Effective {
    let nothing = Section::new(&GLOBAL, Place::default());
    let written = root.table("global").unwrap_or(&nothing);
    let global = settle(&GLOBAL, &[Layer { section: written, tier: Tier::Own }], false);
    let packets = top(root, "packets", &PACKETS);
    let services = root.list("service").iter();
    let services = services.map(|it| resolve_service(it, written, &global)).collect();
    let vrrp: Vec<Section> = root.list("vrrp").iter().map(resolve_vrrp).collect();
    let heartbeats = root.list("heartbeat").iter();
    let heartbeats = heartbeats.map(|it| heartbeat::settle(own(&HEARTBEAT, it), &vrrp)).collect();
    let captures = root.list("capture").iter().map(|it| own(&CAPTURE, it)).collect();
    let links = root.list("link").iter().map(resolve_link).collect();
    let mptcp = top(root, "mptcp", &MPTCP);
    let outward = top(root, "uplinks", &UPLINKS_TABLE);
    let uplinks = root.list("uplink").iter().map(|it| own(&UPLINK, it)).collect();
    let names = top(root, "names", &NAMES);
    let zones: Vec<Section> = root.list("zone").iter().map(|it| own(&ZONE, it)).collect();
    let hosts = root.list("name").iter().map(|it| names::settle(own(&NAME, it), &zones)).collect();
    let (pools, templates) = (Vec::new(), Vec::new());
    let mut effective = Effective {
        global,
        packets,
        services,
        pools,
        vrrp,
        heartbeats,
        captures,
        links,
        mptcp,
        outward,
        uplinks,
        names,
        zones,
        hosts,
        templates,
    };
    let uses = effective.uses();
    let pools = root.list("pool").iter();
    effective.pools = pools
        .map(|pool| {
            resolve_pool(pool, written, uses.get(pool.name.as_str()).copied().unwrap_or_default())
        })
        .collect();
    let nothing = Section::new(&SERVER, Place::default());
    let pools = root.list("pool").iter().zip(&effective.pools);
    let templates =
        pools.map(|(pool, settled)| resolve_server(&nothing, pool, probe_tls(settled).as_ref()));
    effective.templates = templates.collect();
    effective
}

impl Effective {
    /// Pools that services and names use, and by which methods.
    pub fn uses(&self) -> HashMap<&str, Uses> {
        uses::of(&self.services, &self.hosts)
    }
}

fn resolve_service(written: &Section, above: &Section, global: &Section) -> Section {
    let mut service = settle(&SERVICE, &layers(written, above, Tier::Global), false);
    service.name.clone_from(&written.name);
    if let Some(timeout) = service.table_mut("timeout")
        && timeout.setting("drain").is_none()
    {
        timeout.set("drain", Value::Time(global.span("drain")), Origin::Derived("as global.drain"));
    }
    if let Some(sticky) = service.table_mut("sticky") {
        settle_sticky(sticky);
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
        && let Kind::List { table, .. } = key.kind
        && let Some(Setting { slot: Slot::List(_), origin }) = service.setting("rule")
    {
        let origin = *origin;
        let own = |rule| [Layer { section: rule, tier: Tier::Own }];
        let rules = written.list("rule").iter().map(|rule| settle(table, &own(rule), false));
        let rules = rules.collect();
        service.put(at, Slot::List(rules), origin);
    }
    service
}

fn resolve_pool(written: &Section, above: &Section, uses: Uses) -> Section {
    let mut pool = settle(&POOL, &layers(written, above, Tier::Global), false);
    pool.name.clone_from(&written.name);
    if let Some(balance) = pool.table_mut("balance") {
        settle_balance(balance, uses);
    }
    let tls = probe_tls(&pool);
    settle_probe_of(&mut pool, tls.as_ref());
    if let Some(agent) = pool.table_mut("agent") {
        settle_agent(agent);
    }
    if let Some(retry) = pool.table_mut("retry") {
        raise_default(retry, "back-off-most", "back-off", 1);
    }
    if let Some(http2) = pool.table_mut("http2") {
        raise_default(http2, "window-most", "window", 1);
    }
    let servers: Vec<Section> = written
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
        pool.set("initial", Value::Word(word), Origin::Derived(why));
    }
    if pool.setting("all-down").is_none() {
        let (word, why) = if uses.packets && !uses.http && !uses.tcp {
            ("spread", "only packets are forwarded to the pool")
        } else {
            ("refuse", "not only packets are forwarded to the pool")
        };
        pool.set("all-down", Value::Word(word), Origin::Derived(why));
    }
    if let Some((at, _)) = POOL.find("servers")
        && let Some(Setting { slot: Slot::List(_), origin }) = pool.setting("servers")
    {
        let origin = *origin;
        pool.put(at, Slot::List(servers), origin);
    }
    pool
}

/// A table at the top that inherits nothing.
fn own(table: &'static Table, written: &Section) -> Section {
    let mut section = settle(table, &[Layer { section: written, tier: Tier::Own }], false);
    section.name.clone_from(&written.name);
    section
}

fn resolve_vrrp(written: &Section) -> Section {
    let mut group = own(&VRRP, written);
    if group.setting("dead-man").is_none() {
        let time = group.span("advertise") * 5 / 2;
        group.set(
            "dead-man",
            Value::Time(time),
            Origin::Derived("two and a half times `advertise`"),
        );
    }
    group
}

/// A table of the file's top, all defaults where it is not written.
fn top(root: &Section, key: &str, table: &'static Table) -> Section {
    own(table, root.table(key).unwrap_or(&Section::new(table, Place::default())))
}

fn resolve_link(written: &Section) -> Section {
    let mut bundle = own(&LINK, written);
    if bundle.text("policy") != Some("round-robin") {
        let unwritten = ["equalise", "burst"].into_iter().filter(|key| !written.wrote(key));
        unwritten.for_each(|key| bundle.clear(key));
    }
    bundle
}

fn resolve_server(written: &Section, pool: &Section, tls: Option<&Section>) -> Section {
    let mut server = settle(&SERVER, &layers(written, pool, Tier::Pool), false);
    if server.setting("name").is_none()
        && let Some(name) = server.server("address").map(name_from)
    {
        server.set("name", Value::Text(name.into()), Origin::Derived("from its address"));
    }
    settle_probe_of(&mut server, tls);
    server
}

/// The probe of a settled pool or server. Where nothing is said of one and the pool speaks TLS, it is a handshake.
fn settle_probe_of(section: &mut Section, tls: Option<&Section>) {
    if unsaid(section, "probe") {
        match tls {
            Some(_) => section.set_table("probe", settle(&PROBE_TABLE, &[], true), SPEAKS_TLS),
            None => section.set("probe", Value::Unset("off"), Origin::Default),
        }
    }
    if let Some(probe) = section.table_mut("probe") {
        speak_as_pool(probe, tls);
        settle_probe(probe);
    }
}

/// The TLS of a settled pool, as its probes have it where they say nothing.
fn probe_tls(pool: &Section) -> Option<Section> {
    let tls = pool.table("tls")?;
    Some(as_in_pool(settle(&TLS, &[], true), tls))
}

/// One place where a setting may be written, the nearest first in a chain.
#[derive(Clone, Copy, Debug)]
struct Layer<'a> {
    section: &'a Section,
    tier: Tier,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tier {
    Own,
    Global,
    Pool,
}

fn layers<'a>(own: &'a Section, above: &'a Section, tier: Tier) -> [Layer<'a>; 2] {
    [Layer { section: own, tier: Tier::Own }, Layer { section: above, tier }]
}

/// The settings of one table from its layers. `inside`: within an inherited table, where every key is inherited.
fn settle(table: &'static Table, chain: &[Layer<'_>], inside: bool) -> Section {
    let place = chain.first().map(|layer| layer.section.place).unwrap_or_default();
    let mut section = Section::new(table, place);
    for (at, key) in table.keys.iter().enumerate() {
        let own = chain.first().filter(|layer| layer.tier == Tier::Own);
        let seen = if inside || key.inherits {
            chain
        } else {
            own.map(std::slice::from_ref).unwrap_or_default()
        };
        let setting = match &key.kind {
            Kind::Refused(_) => None,
            Kind::Table { table: inner, .. } => settle_table(key, inner, seen),
            _ => settle_value(table, key, seen),
        };
        if let Some(Setting { slot, origin }) = setting {
            section.put(at, slot, origin);
        }
    }
    // What an overdue list is worth means nothing without lists.
    if section.setting("crl").is_none() && !section.wrote("expired-crl") {
        section.clear("expired-crl");
    }
    section
}

fn settle_value(table: &Table, key: &Key, chain: &[Layer<'_>]) -> Option<Setting> {
    for layer in chain {
        if let Some(setting) = layer.section.setting(key.name) {
            let origin = layer.origin(setting);
            if let (Kind::List { table, .. }, Slot::List(list)) = (&key.kind, &setting.slot)
                && !std::ptr::eq(*table, &SERVER)
            {
                // What an element inherits is settled by whoever knows from where.
                let own = |one| [Layer { section: one, tier: layer.tier }];
                let list = list.iter().map(|one| settle(table, &own(one), true)).collect();
                return Some(Setting { slot: Slot::List(list), origin });
            }
            return Some(Setting { slot: setting.slot.clone(), origin });
        }
        // A nearer choice of another kind: what was chosen further away does not reach us.
        let rivals = table
            .choices
            .iter()
            .filter(|group| !group.contains(&key.name))
            .flat_map(|group| group.iter());
        let is_choice = table.choices.iter().any(|group| group.contains(&key.name));
        if is_choice && rivals.into_iter().any(|rival| layer.section.setting(rival).is_some()) {
            break;
        }
    }
    fallback(key)
}

fn settle_table(key: &Key, inner: &'static Table, chain: &[Layer<'_>]) -> Option<Setting> {
    let mut below: Vec<Layer<'_>> = Vec::new();
    let mut origin = Origin::Default;
    for layer in chain {
        let Some(setting) = layer.section.setting(key.name) else { continue };
        match &setting.slot {
            Slot::Table(section) => {
                if below.is_empty() {
                    origin = layer.origin(setting);
                }
                below.push(Layer { section, tier: layer.tier });
            }
            // `off` nearest wins; `off` further away ends what a nearer table can inherit.
            slot if below.is_empty() => {
                return Some(Setting { slot: slot.clone(), origin: layer.origin(setting) });
            }
            _ => break,
        }
    }
    if below.is_empty() && !matches!(key.default, Fallback::Inner) {
        return fallback(key);
    }
    Some(Setting { slot: Slot::Table(settle(inner, &below, true)), origin })
}

fn fallback(key: &Key) -> Option<Setting> {
    match &key.default {
        Fallback::Is(value) => {
            Some(Setting { slot: Slot::Value(value.clone()), origin: Origin::Default })
        }
        Fallback::Required | Fallback::Absent | Fallback::Inner | Fallback::Derived(_) => None,
    }
}

impl Layer<'_> {
    fn origin(&self, setting: &Setting) -> Origin {
        let place = setting.origin.place().unwrap_or_default();
        match self.tier {
            Tier::Own => Origin::Written(place),
            Tier::Global => Origin::Global(place),
            Tier::Pool => Origin::Pool(place),
        }
    }
}
