//! Listeners as services: addresses, listener filters, and the rules of their filter chains in order.

use crate::condition::RuleCondition;
use crate::document::{Document, SourcedValue, TomlTable};
use crate::empty_pool;
use crate::names::UniqueNames;
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::structured::node::ConfigNode;
use crate::value::{self, KeyValue};

use super::access_log::read_logs;
use super::addresses::{read_addresses, read_listener_filters, write_socket};
use super::chain_order::{ChainPart, join_parts};
use super::chains::{ChainEnd, FilterChain, read_chains};
use super::clusters::ClusterPools;
use super::early_edits::{EarlyEdits, write_early};
use super::fields::settle_rest;
use super::http::{HttpService, ManagerPlace, ServiceKey, read_manager};
use super::listener_tls::{ChainTls, ListenerTls, read_tls};
use super::own_fields::write_removal;
use super::reader::{leave_out, take_text};
use super::rule::{self, EnvoyRule};
use super::secrets::StaticSecrets;
use super::tcp::read_proxy;

/// What all listeners share.
pub struct ListenerContext<'c, 't> {
    pub pools: &'c mut ClusterPools,
    pub secrets: &'c StaticSecrets<'t>,
    pub names: UniqueNames,
    pub access_log: Option<SourcedValue>,
}

/// A service before it is written.
struct ListenerParts {
    path: String,
    table: TomlTable,
    keys: Vec<ServiceKey>,
    tls: Option<ListenerTls>,
    rules: Vec<EnvoyRule>,
    /// Edits before the rules, of each connection manager.
    early: Vec<EarlyEdits>,
    is_http: bool,
}

pub fn write_listener(
    node: &ConfigNode,
    context: &mut ListenerContext<'_, '_>,
    document: &mut Document,
    notes: &mut ConversionNotes,
) {
    let name = take_text(node, "name", notes).unwrap_or("listener").to_owned();
    let refuse = |reason: &str, notes: &mut ConversionNotes| {
        let instead = "`[service.NAME]`; nothing is served here until then";
        notes.left_out(node.source.whole(), &format!("listener {name}"), reason, instead);
    };
    let Some(listens) = read_addresses(node, notes) else {
        return refuse("it has no address and port that a service can have", notes);
    };
    let service = context.names.unique_name(&name);
    let path = format!("service.{service}");
    let mut table = TomlTable::new(path.clone(), node.source, &format!("listener {name}"));
    for listen in listens {
        table.push_item("listen", value::quote(&listen.value), listen.source);
    }
    let Some(filters) = read_listener_filters(node, notes) else {
        return refuse("its listener filters choose where connections go", notes);
    };
    let chains = read_chains(node, filters.accept_proxy.is_some(), notes);
    let is_http = chains.iter().any(|chain| matches!(chain.end, ChainEnd::Http(_)));
    let is_tcp = chains.iter().any(|chain| matches!(chain.end, ChainEnd::Tcp(_)));
    let has_tls = chains.iter().any(|chain| chain.tls.is_some());
    if chains.iter().any(|chain| chain.is_unwritable) || is_http == is_tcp {
        return refuse("its chains have a transport or an end that a service cannot have", notes);
    }
    if has_tls && chains.iter().any(|chain| chain.tls.is_none()) {
        return refuse("some of its chains have TLS, and others have not", notes);
    }
    let contexts: Vec<ChainTls<'_>> = chains.iter().filter_map(chain_tls).collect();
    let tls = read_tls(&path, &contexts, context.secrets, notes);
    if has_tls && tls.is_none() {
        return refuse("its TLS cannot be written", notes);
    }
    table.set("forward", value::quote(if is_http { "http" } else { "tcp" }), SourcePlace::NONE);
    if let Some(from) = filters.accept_proxy {
        table.set_required("accept-proxy", from.value, from.source);
    }
    write_socket(node, &mut table, notes);
    if let Some(log) = read_logs(node, notes) {
        context.access_log.get_or_insert(log);
    }
    let mut parts = ListenerParts {
        path,
        table,
        keys: Vec::new(),
        tls,
        rules: Vec::new(),
        early: Vec::new(),
        is_http,
    };
    read_ends(&chains, is_http, &mut parts, context, notes);
    settle_rest("listener", node, notes);
    write_service(&service, parts, document, notes);
}

fn chain_tls<'t>(chain: &FilterChain<'t>) -> Option<ChainTls<'t>> {
    chain.tls.map(|context| ChainTls { context, names: chain.names.clone() })
}

/// The rules of all chains, in the order in which Envoy looks for a chain.
fn read_ends(
    chains: &[FilterChain<'_>],
    is_http: bool,
    parts: &mut ListenerParts,
    context: &mut ListenerContext<'_, '_>,
    notes: &mut ConversionNotes,
) {
    let mut of_chains: Vec<ChainPart> = Vec::new();
    for chain in chains {
        let mut rules = chain.rules.clone();
        rules.extend(match chain.end {
            ChainEnd::Http(manager) => read_http(chain, manager, parts, context, notes),
            ChainEnd::Tcp(proxy) => read_tcp(proxy, parts, context, notes),
            ChainEnd::Closed => {
                leave_out(chain.node, "nothing takes its connections: they are refused", "", notes);
                vec![EnvoyRule::refusal(
                    RuleCondition::Is(true),
                    None,
                    chain.node.source,
                    "filter chain",
                )]
            }
        });
        if chain.when.unknown().is_some() {
            rules = vec![EnvoyRule::refusal(
                RuleCondition::Is(true),
                None,
                chain.node.source,
                "filter chain",
            )];
        }
        if let Some(most) = chain.limit {
            add_key(
                &mut parts.keys,
                "limit",
                "connections",
                most.to_string(),
                chain.node.source,
                notes,
            );
        }
        of_chains.push(ChainPart {
            names: chain.names.clone(),
            networks: chain.networks.clone(),
            when: chain.when.clone(),
            is_default: chain.is_default,
            rules,
        });
    }
    let has_tls = parts.tls.is_some();
    let by_names = |names: &[String]| match names.iter().any(|name| name == "*") {
        true => RuleCondition::Is(true),
        // Without TLS no connection has a name.
        false if is_http && !has_tls => RuleCondition::Is(false),
        false => RuleCondition::texts("sni", names),
    };
    let source = chains.first().map_or(SourcePlace::NONE, |chain| chain.node.source);
    parts.rules = join_parts(of_chains, by_names, source);
}

fn read_http(
    chain: &FilterChain<'_>,
    manager: &ConfigNode,
    parts: &mut ListenerParts,
    context: &mut ListenerContext<'_, '_>,
    notes: &mut ConversionNotes,
) -> Vec<EnvoyRule> {
    let place = ManagerPlace {
        pools: &mut *context.pools,
        access_log: &mut context.access_log,
        tls: parts.tls.is_some(),
        accepts_proxy: parts.table.has("accept-proxy"),
        offers_http2: parts.tls.as_ref().is_some_and(|tls| tls.offers_http2),
    };
    let Some(HttpService { keys, rules, early }) = read_manager(manager, place, notes) else {
        let reason = "its routes are not in the file: requests are refused";
        leave_out(chain.node, reason, "rules of the service", notes);
        return vec![EnvoyRule::refusal(
            RuleCondition::Is(true),
            Some(503),
            chain.node.source,
            "no routes",
        )];
    };
    parts.early.push(early);
    for key in keys {
        add_key(&mut parts.keys, key.table, key.key, key.value, key.source, notes);
    }
    rules
}

fn read_tcp(
    proxy: &ConfigNode,
    parts: &mut ListenerParts,
    context: &mut ListenerContext<'_, '_>,
    notes: &mut ConversionNotes,
) -> Vec<EnvoyRule> {
    let target = read_proxy(proxy, context.pools, &mut context.access_log, notes);
    let idle = crate::duration::format_duration(target.idle_ms);
    add_key(&mut parts.keys, "timeout", "tunnel", idle, target.idle_source, notes);
    vec![target.rule]
}

/// Adds a key of the service. A chain that wants another value than the first one is reported.
fn add_key(
    keys: &mut Vec<ServiceKey>,
    table: &'static str,
    key: &'static str,
    value: String,
    source: SourcePlace,
    notes: &mut ConversionNotes,
) {
    match keys.iter_mut().find(|known| known.table == table && known.key == key) {
        None => keys.push(ServiceKey { table, key, value, source }),
        Some(known) if known.value == value => notes.converted(source),
        Some(_) => {
            let reason =
                "a service has one value for all of its filter chains, that of the first one";
            notes.left_out(source, key, reason, "a listener of its own");
        }
    }
}

fn write_service(
    name: &str,
    mut parts: ListenerParts,
    document: &mut Document,
    notes: &mut ConversionNotes,
) {
    let is_tls = parts.tls.is_some();
    // A rule that takes everything and only names its pool is the service's own pool.
    let simplified: Vec<RuleCondition> =
        parts.rules.iter().map(|rule| rule.when.clone().simplify(is_tls)).collect();
    let last = simplified.iter().position(|when| *when == RuleCondition::Is(true));
    let plain = last.and_then(|at| parts.rules[at].plain_pool().map(str::to_owned));
    let any = parts.rules.iter().flat_map(|rule| &rule.keys).find(|pair| pair.key == "pool");
    let pool = plain.clone().or(any.map(|pair: &KeyValue| pair.value.clone()));
    if let Some(at) = last {
        parts.rules.truncate(if plain.is_some() { at } else { at + 1 });
    }
    let pool = pool.unwrap_or_else(|| {
        empty_pool::ensure_pool(document);
        value::quote(empty_pool::NAME)
    });
    parts.table.set("pool", pool, SourcePlace::NONE);
    for key in parts.keys.iter().filter(|key| key.table.is_empty()) {
        parts.table.set(key.key, key.value.clone(), key.source);
    }
    document.push(parts.table);
    for table in ["timeout", "limit"] {
        let mut inner = TomlTable::new(format!("{}.{table}", parts.path), SourcePlace::NONE, "");
        for key in parts.keys.iter().filter(|key| key.table == table) {
            inner.set(key.key, key.value.clone(), key.source);
        }
        document.push(inner);
    }
    if let Some(tls) = parts.tls {
        document.push(tls.table);
    }
    let keys = parts.rules.iter().flat_map(|rule| &rule.keys);
    let asks_servers =
        plain.is_some() || keys.into_iter().any(|key| matches!(key.key, "pool" | "split"));
    if parts.is_http && asks_servers {
        write_removal(name, document);
    }
    write_early(name, parts.early, document, notes);
    rule::write(name, parts.rules, is_tls, document);
}
