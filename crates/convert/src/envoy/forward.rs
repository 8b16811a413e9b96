//! `route` of a route: the pool or the split that takes a request, and what is changed in it.

use crate::condition::RuleCondition;
use crate::duration::format_duration;
use crate::notes::ConversionNotes;
use crate::structured::node::ConfigNode;
use crate::value::{self, KeyValue};

use super::clusters::PoolSettings;
use super::default_times::{NEVER_MS, ROUTE_TIMEOUT_MS, STREAM_IDLE_MS};
use super::fields::settle_rest;
use super::header_edits::HeaderEditList;
use super::path_rewrite::{PathChange, read_change};
use super::reader::{
    leave_out, note_changed, take_flag, take_number, take_text, take_texts, take_time,
};
use super::retries::read_retries;
use super::route_match::{RouteMatch, fraction};
use super::route_scope::{RouteContext, RouteScope};
use super::rule::EnvoyRule;

/// The rules of a route that sends requests to clusters.
pub fn forward_rules(
    action: &ConfigNode,
    matched: &RouteMatch,
    scope: &RouteScope<'_>,
    context: &mut RouteContext<'_, '_>,
    notes: &mut ConversionNotes,
) -> Vec<EnvoyRule> {
    let settings = read_settings(action, scope, context, notes);
    let mut edits = scope.edits.clone();
    let target = read_target(action, &settings.pool, &mut edits, context, notes);
    let host = read_host(action, &mut edits, context, notes);
    let change = read_change(action, matched, notes);
    let mirror = read_mirror(action, &settings.pool, context, notes);
    let no_upgrades = context.upgrades.route_refusal(action, matched.condition(), notes);
    settle_rest("route_action", action, notes);
    let refuse = |status: u16| {
        vec![EnvoyRule::refusal(matched.condition(), Some(status), scope.route.source, &scope.text)]
    };
    let Some(target) = target else {
        let reason = "there is no pool for it: such requests are refused";
        leave_out(action, reason, "a rule with `pool`", notes);
        return refuse(503);
    };
    // Servers trust the host and the path that they get.
    let HostChange::Known(host) = host else { return refuse(502) };
    if edits.changes_target {
        return refuse(502);
    }
    for name in &edits.request.blind {
        let reason = format!("the value of `{name}` would need what a field was changed to before");
        let instead = "what clients send under this name is removed";
        notes.left_out(scope.route.source, &scope.text, &reason, instead);
    }
    let build = |when: RuleCondition, path: Vec<KeyValue>| {
        let mut rewrite = path;
        rewrite.extend(host.iter().map(|host| KeyValue::new("host", value::quote(host))));
        rewrite.extend(edits.clone().pairs());
        let mut keys = vec![target.clone()];
        keys.extend(mirror.clone());
        keys.extend(settings.keys.clone());
        if !rewrite.is_empty() {
            keys.push(KeyValue::new("rewrite", value::table(&rewrite)));
        }
        keys.extend(scope.limit.iter().map(|limit| KeyValue::new("limit", limit.clone())));
        EnvoyRule { when, keys, source: scope.route.source, text: scope.text.clone() }
    };
    let mut rules: Vec<EnvoyRule> = no_upgrades.into_iter().collect();
    rules.extend(match change {
        PathChange::None => vec![build(matched.condition(), Vec::new())],
        PathChange::Always(rewritten) => {
            vec![build(rewritten.when.and(matched.others.clone()), rewritten.pairs)]
        }
        PathChange::Where(rewritten) => vec![
            build(rewritten.when.and(matched.condition()), rewritten.pairs),
            build(matched.condition(), Vec::new()),
        ],
        PathChange::Unwritable => refuse(502),
    });
    rules
}

/// What a route wants of its pool, and what stands in its rule.
struct RouteSettings {
    pool: PoolSettings,
    /// Keys of the rule: times and further attempts that are not those of all pools.
    keys: Vec<KeyValue>,
}

/// Times, retries and the hash of the pool.
fn read_settings(
    action: &ConfigNode,
    scope: &RouteScope<'_>,
    context: &RouteContext<'_, '_>,
    notes: &mut ConversionNotes,
) -> RouteSettings {
    let never = |ms: u64| if ms == 0 { NEVER_MS } else { ms.min(NEVER_MS) };
    let whole = take_time(action, "timeout", notes);
    let whole_ms = never(whole.map_or(ROUTE_TIMEOUT_MS, |time| time.ms));
    if let Some(field) = action.get("timeout").filter(|_| whole_ms < NEVER_MS) {
        let reason = "it ends when the answer begins, and not when it is whole";
        notes.changed(field.source, field.describe(), reason, "`timeout.total` of the service");
    }
    let policy = action.get("retry_policy").or_else(|| scope.host.get("retry_policy"));
    let retries = read_retries(policy, notes);
    let mut times = Vec::new();
    let mut set = |key: &'static str, ms: u64, known: u64| {
        if ms != known {
            times.push(KeyValue::new(key, format_duration(ms)));
        }
    };
    set("first-byte", retries.attempt_ms.unwrap_or(whole_ms), ROUTE_TIMEOUT_MS);
    if !retries.keys.is_empty() {
        set("attempts", whole_ms, 0);
    }
    let own = take_time(action, "idle_timeout", notes).map(|time| never(time.ms));
    let idle = own.unwrap_or(context.stream_idle.ms);
    set("between-bytes", idle, STREAM_IDLE_MS);
    set("stream", idle, STREAM_IDLE_MS);
    if let Some(own) = own {
        set("client-between-bytes", own, 0);
        set("tunnel", own, 0);
    }
    let mut keys = Vec::new();
    if !times.is_empty() {
        keys.push(KeyValue::new("timeout", value::table(&times)));
    }
    keys.extend(retries.keys);
    let mut settings = RouteSettings { pool: PoolSettings::default(), keys };
    let policies = action.get("hash_policy").map(ConfigNode::items).unwrap_or_default();
    let mut is_chosen = false;
    for policy in policies {
        let hash = if is_chosen { None } else { hash_on(policy, notes) };
        take_flag(policy, "terminal", notes);
        match hash {
            Some(hash) => {
                settings.pool.set("hash-on", hash, policy.source);
                is_chosen = true;
            }
            None => {
                let reason = "one thing is hashed, and the client's address where it is not there";
                leave_out(policy, reason, "`hash-on` of the pool", notes);
            }
        }
    }
    settings
}

/// One policy of hashing as `hash-on`.
fn hash_on(policy: &ConfigNode, notes: &mut ConversionNotes) -> Option<String> {
    let named =
        |key: &'static str, name: &str| value::table(&[KeyValue::new(key, value::quote(name))]);
    if let Some(header) = policy.get("header") {
        let name = take_text(header, "header_name", notes)?;
        return Some(if name == ":path" { value::quote("uri") } else { named("header", name) });
    }
    if let Some(cookie) = policy.get("cookie") {
        let name = take_text(cookie, "name", notes)?;
        for other in cookie.unread_entries() {
            let reason = "no cookie is made: clients without one are told apart by their address";
            note_changed(other, reason, "`sticky` of the service", notes);
        }
        return Some(named("cookie", name));
    }
    if let Some(query) = policy.get("query_parameter") {
        return take_text(query, "name", notes).map(|name| named("query", name));
    }
    let properties = policy.get("connection_properties")?;
    take_flag(properties, "source_ip", notes)
        .filter(|is_used| *is_used)
        .map(|_| value::quote("address"))
}

/// The pool or the split.
fn read_target(
    action: &ConfigNode,
    settings: &PoolSettings,
    edits: &mut HeaderEditList,
    context: &mut RouteContext<'_, '_>,
    notes: &mut ConversionNotes,
) -> Option<KeyValue> {
    if let Some(cluster) = take_text(action, "cluster", notes) {
        if context.pools.chooses_subset(action, cluster) {
            return None;
        }
        let pool = context.pools.want(cluster, settings, notes)?;
        return Some(KeyValue::new("pool", value::quote(&pool)));
    }
    let weighted = action.get("weighted_clusters")?;
    let mut shares = Vec::new();
    for item in weighted.get("clusters").map(ConfigNode::items).unwrap_or_default() {
        let name = take_text(item, "name", notes).unwrap_or_default();
        let weight = take_number(item, "weight", notes).unwrap_or(0).min(1_000_000);
        // What single clusters of a split are to get cannot be written: servers must not believe the client's.
        for key in [
            "request_headers_to_add",
            "request_headers_to_remove",
            "response_headers_to_add",
            "response_headers_to_remove",
            "host_rewrite_literal",
            "typed_per_filter_config",
            "metadata_match",
        ] {
            let Some(field) = item.get(key) else { continue };
            if matches!(key, "request_headers_to_add" | "request_headers_to_remove") {
                HeaderEditList::read(item, notes).remove_from(edits);
            }
            leave_out(field, "the pools of a split are sent the same", "rules of their own", notes);
            if matches!(key, "typed_per_filter_config" | "host_rewrite_literal") {
                return None;
            }
        }
        if context.pools.chooses_subset(action, name) || context.pools.chooses_subset(item, name) {
            return None;
        }
        let pool = context.pools.want(name, settings, notes)?;
        let pair = [
            KeyValue::new("pool", value::quote(&pool)),
            KeyValue::new("weight", weight.to_string()),
        ];
        shares.push(value::table(&pair));
    }
    for key in ["total_weight", "runtime_key_prefix", "use_hash_policy", "random_value_specifier"] {
        if let Some(field) = weighted.get(key) {
            note_changed(
                field,
                "weights are shares of their sum, and change with the file",
                "",
                notes,
            );
        }
    }
    (!shares.is_empty()).then(|| KeyValue::new("split", value::list(shares)))
}

/// What becomes of the host.
enum HostChange {
    Known(Option<String>),
    Unwritable,
}

fn read_host(
    action: &ConfigNode,
    edits: &mut HeaderEditList,
    context: &RouteContext<'_, '_>,
    notes: &mut ConversionNotes,
) -> HostChange {
    let mut host = context.strips_port.then(|| "{host-name}".to_owned());
    if let Some(text) = take_text(action, "host_rewrite_literal", notes)
        .or_else(|| take_text(action, "host_rewrite", notes))
    {
        host = Some(text.replace('{', "{{"));
    }
    if let Some(name) = take_text(action, "host_rewrite_header", notes) {
        host = Some(format!("{{header.{}}}", name.to_ascii_lowercase()));
    }
    if take_flag(action, "auto_host_rewrite", notes) == Some(true) {
        let cluster = action.text_of("cluster").unwrap_or_default();
        match (context.pools.host_name(cluster), action.get("auto_host_rewrite")) {
            (Some(name), _) => host = Some(name.to_owned()),
            (None, Some(field)) => {
                leave_out(
                    field,
                    "the host is the same for all servers of a pool",
                    "`rewrite.host`",
                    notes,
                );
                return HostChange::Unwritable;
            }
            (None, None) => {}
        }
    }
    if let Some(field) = action.get("host_rewrite_path_regex") {
        leave_out(field, "a host is not put together from the path", "`rewrite.host`", notes);
        return HostChange::Unwritable;
    }
    // Envoy tells servers of the host only where they get another one.
    let is_new = host.as_deref().is_some_and(|host| host != "{host-name}");
    if take_flag(action, "append_x_forwarded_host", notes) == Some(true) && is_new {
        edits.request.set_field("x-forwarded-host: {host}".to_owned());
    }
    HostChange::Known(host)
}

/// The first of `request_mirror_policies`.
fn read_mirror(
    action: &ConfigNode,
    settings: &PoolSettings,
    context: &mut RouteContext<'_, '_>,
    notes: &mut ConversionNotes,
) -> Option<KeyValue> {
    let policies = action.get("request_mirror_policies").map(ConfigNode::items).unwrap_or_default();
    for other in policies.iter().skip(1) {
        leave_out(other, "a rule copies to one pool", "`mirror` of rules", notes);
    }
    let policy = policies.first()?;
    let cluster = take_text(policy, "cluster", notes).unwrap_or_default();
    let share = policy.get("runtime_fraction").and_then(|field| fraction(field, notes));
    take_texts(policy, "disable_shadow_host_suffix_append", notes);
    for other in policy.unread_entries() {
        note_changed(other, "a copy is the request as the server gets it", "", notes);
    }
    let mut settings = settings.clone();
    settings.keys.retain(|entry| entry.key != "hash-on");
    let Some(pool) = context.pools.want(cluster, &settings, notes) else {
        leave_out(policy, "there is no pool for the copies", "`mirror` of rules", notes);
        return None;
    };
    let mut pairs = vec![KeyValue::new("pool", value::quote(&pool))];
    match share {
        Some(0) => return None,
        Some(percent) => pairs.push(KeyValue::new("percent", percent.to_string())),
        None => {}
    }
    Some(KeyValue::new("mirror", value::table(&pairs)))
}
