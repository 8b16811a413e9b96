//! Virtual hosts and their routes, as rules of a service.

use crate::condition::{RuleCondition, escape_regex};
use crate::notes::ConversionNotes;
use crate::structured::node::ConfigNode;
use crate::value::{self, KeyValue};

use super::answers::{read_answer, read_redirect};
use super::fields::settle_rest;
use super::forward::forward_rules;
use super::header_edits::HeaderEditList;
use super::reader::{leave_out, take_flag, take_text, take_texts};
use super::route_match::RouteMatch;
use super::route_scope::{RouteContext, RouteScope};
use super::rule::{EnvoyRule, is_closed_by_last};
use super::specificity::order_names;

/// The rules of all virtual hosts, the most specific names first.
pub fn read_rules(
    context: &mut RouteContext<'_, '_>,
    notes: &mut ConversionNotes,
) -> Vec<EnvoyRule> {
    let config = context.config;
    let hosts = config.get("virtual_hosts").map(ConfigNode::items).unwrap_or_default();
    let mut owners = Vec::new();
    let mut of_hosts = Vec::new();
    let mut common = HeaderEditList::read(config, notes);
    for name in take_texts(config, "internal_only_headers", notes) {
        common.request.remove_field(&name.to_ascii_lowercase());
    }
    if let Some(field) = config.get("internal_only_headers").filter(|field| !field.is_empty()) {
        let reason = "they are removed from all requests, those of internal clients included";
        notes.changed(field.source, field.describe(), reason, "`rewrite.remove`");
    }
    context.nearest_wins =
        take_flag(config, "most_specific_header_mutations_wins", notes).unwrap_or(false);
    for host in hosts {
        let domains = take_texts(host, "domains", notes);
        if domains.iter().any(|name| has_port(name)) {
            let reason = "hosts are compared without their port";
            let field = host.get("domains").unwrap_or(host);
            notes.changed(field.source, field.describe(), reason, "");
        }
        owners.push(domains.iter().map(|name| without_port(name)).collect::<Vec<_>>());
        of_hosts.push(host_rules(host, &common, context, notes));
    }
    settle_rest("route_config", config, notes);
    let mut rules = context.effects.rules.clone();
    rules.extend(refuse_shared_names(config, &owners, notes));
    for group in order_names(&owners) {
        let scope = host_condition(&group.names);
        rules.extend(of_hosts[group.owner].iter().cloned().map(|rule| rule.with_condition(&scope)));
    }
    if !is_closed_by_last(&rules, context.tls) {
        let when = RuleCondition::Is(true);
        rules.push(EnvoyRule::refusal(when, Some(404), config.source, "no virtual host"));
    }
    rules
}

/// Refuses hosts that belong to several virtual hosts by their port, which rules do not look at.
fn refuse_shared_names(
    config: &ConfigNode,
    owners: &[Vec<String>],
    notes: &mut ConversionNotes,
) -> Option<EnvoyRule> {
    let is_shared = |owner: usize, name: &String| {
        owners.iter().skip(owner + 1).any(|others| others.contains(name))
    };
    let names = owners.iter().enumerate();
    let shared: Vec<String> = names
        .flat_map(|(owner, names)| names.iter().filter(move |name| is_shared(owner, name)))
        .cloned()
        .collect();
    if shared.is_empty() {
        return None;
    }
    let reason =
        "virtual hosts with one name are told apart by its port: such requests are refused";
    let instead = "a listener of its own for each port";
    notes.left_out(config.source, &shared.join(", "), reason, instead);
    let when = host_condition(&shared);
    Some(EnvoyRule::refusal(when, Some(404), config.source, "virtual hosts with ports"))
}

/// Whether the name of a virtual host has a port, or `*` for one.
fn has_port(name: &str) -> bool {
    without_port(name).len() < name.len()
}

fn without_port(name: &str) -> String {
    let bare = name.rsplit_once(':').filter(|(host, port)| {
        let is_port = *port == "*" || !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
        is_port && (!host.contains(':') || host.ends_with(']'))
    });
    bare.map_or(name, |(host, _)| host).to_ascii_lowercase()
}

/// The condition that the host has one of these names.
pub fn host_condition(names: &[String]) -> RuleCondition {
    if names.iter().any(|name| name == "*" || name.is_empty()) {
        return RuleCondition::Is(true);
    }
    let mut plain = Vec::new();
    let mut patterns = Vec::new();
    for name in names {
        let below = name.strip_prefix("*.").unwrap_or(name);
        let is_plain = below.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._:[]".contains(&b));
        match (is_plain, name.strip_prefix('*'), name.strip_suffix('*')) {
            (true, ..) => plain.push(name.clone()),
            // `*` stands for at least one character.
            (false, Some(end), _) => patterns.push(format!(".+{}", escape_regex(end))),
            (false, None, Some(start)) => patterns.push(format!("{}.+", escape_regex(start))),
            (false, None, None) => patterns.push(escape_regex(name)),
        }
    }
    let mut any = Vec::new();
    if !plain.is_empty() {
        any.push(RuleCondition::texts("host", &plain));
    }
    if !patterns.is_empty() {
        any.push(RuleCondition::texts("host-regex", &patterns));
    }
    RuleCondition::Any(any)
}

/// The client used TLS, to this listener or to a proxy in front that says so.
fn uses_tls(trusts_scheme: bool) -> RuleCondition {
    let mut any = vec![RuleCondition::Tls];
    if trusts_scheme {
        any.push(RuleCondition::texts("header", &["x-forwarded-proto: https"]));
    }
    RuleCondition::Any(any)
}

/// The rules of a virtual host. The last one answers 404.
fn host_rules(
    host: &ConfigNode,
    common: &HeaderEditList,
    context: &mut RouteContext<'_, '_>,
    notes: &mut ConversionNotes,
) -> Vec<EnvoyRule> {
    let mut rules = Vec::new();
    let name = take_text(host, "name", notes).unwrap_or_default().to_owned();
    let require = take_text(host, "require_tls", notes).unwrap_or("NONE");
    if !matches!(require, "NONE" | "0") {
        let to = value::table(&[
            KeyValue::new("to", value::quote("https://{host}{path}{query}")),
            KeyValue::new("status", "301"),
        ]);
        rules.push(EnvoyRule {
            when: uses_tls(context.trusts_scheme).negate(),
            keys: vec![KeyValue::new("redirect", to)],
            source: host.source,
            text: format!("virtual host {name}: require_tls"),
        });
    }
    let mut own = HeaderEditList::read(host, notes);
    if let Some(field) = host.get("include_request_attempt_count") {
        if take_flag(host, "include_request_attempt_count", notes) == Some(true) {
            own.request.remove_field("x-envoy-attempt-count");
        }
        let reason =
            "servers are not told of attempts: what clients send under the name is removed";
        leave_out(field, reason, "", notes);
    }
    let edits = context.join_edits(own, common);
    for policy in ["retry_policy", "hedge_policy"] {
        host.get(policy);
    }
    for route in host.get("routes").map(ConfigNode::items).unwrap_or_default() {
        rules.extend(route_rules(route, host, &edits, context, notes));
    }
    if let Some(mirror) = host.get("request_mirror_policies") {
        leave_out(mirror, "copies are sent by single routes", "`mirror` of rules", notes);
    }
    settle_rest("virtual_host", host, notes);
    if !is_closed_by_last(&rules, context.tls) {
        let text = format!("virtual host {name}: no route");
        rules.push(EnvoyRule::refusal(RuleCondition::Is(true), Some(404), host.source, &text));
    }
    rules
}

/// The rules of a route, mostly one.
fn route_rules(
    route: &ConfigNode,
    host: &ConfigNode,
    outer: &HeaderEditList,
    context: &mut RouteContext<'_, '_>,
    notes: &mut ConversionNotes,
) -> Vec<EnvoyRule> {
    let Some(field) = route.get("match") else {
        leave_out(route, "it matches nothing", "", notes);
        return Vec::new();
    };
    let matched = RouteMatch::read(field, notes);
    let when = matched.condition();
    let name = take_text(route, "name", notes).unwrap_or_default();
    let text = if name.is_empty() { route_text(field) } else { format!("route {name}") };
    let levels = [route, host, context.config];
    let access = context.effects.access(&levels, notes);
    let edits = context.join_edits(HeaderEditList::read(route, notes), outer);
    let edits = edits.within(&access.edits).within(&context.edits);
    let scope = RouteScope { route, host, edits, limit: access.limit, text };
    if let Some(status) = access.closed {
        let reason = format!("a filter decides about it that is not here: it answers {status}");
        let instead = "a rule with `deny` for others";
        notes.left_out(route.source.whole(), &scope.text, &reason, instead);
        return vec![EnvoyRule::refusal(when, Some(status), route.source, &scope.text)];
    }
    let unknown = when.unknown().cloned();
    if let Some(why) = &unknown {
        let instead = "a rule with `when`; until then such requests are refused";
        notes.left_out(field.source, field.describe(), &why.reason, instead);
    }
    let refuse = |when: RuleCondition, status: u16| {
        vec![EnvoyRule::refusal(when, Some(status), route.source, &scope.text)]
    };
    let answer = read_answer(&scope, when.clone(), notes);
    let is_refusal = answer.as_ref().is_some_and(|answer| answer.is_refusal);
    let rules = if let Some(answer) = answer {
        if unknown.is_some() && !is_refusal { refuse(when, 403) } else { vec![answer.rule] }
    } else if let Some(redirect) = route.get("redirect") {
        let redirects = read_redirect(redirect, &matched, &scope, context.tls, notes);
        if unknown.is_some() { refuse(when, 403) } else { redirects }
    } else if let Some(action) = route.get("route") {
        let forwarded = forward_rules(action, &matched, &scope, context, notes);
        if unknown.is_some() { refuse(when, 403) } else { forwarded }
    } else {
        let reason = "a rule has no such action: such requests are refused";
        notes.left_out(route.source.whole(), &scope.text, reason, "");
        refuse(when, 503)
    };
    settle_rest("route", route, notes);
    match matched.percent {
        // What is not in the share goes to the next routes, which are open for it anyway.
        Some(_) if !is_refusal => {
            let reason = "a rule takes all requests that it fits: the next routes take these";
            notes.left_out(route.source.whole(), &scope.text, reason, "`split` of a rule");
            Vec::new()
        }
        _ => rules,
    }
}

fn route_text(matched: &ConfigNode) -> String {
    for key in ["prefix", "path", "path_separated_prefix"] {
        if let Some(text) = matched.text_of(key) {
            return format!("route {text}");
        }
    }
    "route".to_owned()
}
