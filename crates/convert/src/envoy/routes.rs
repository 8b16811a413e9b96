//! Virtual hosts and their routes, as rules of a service.

use crate::condition::RuleCondition;
use crate::notes::ConversionNotes;
use crate::structured::node::ConfigNode;
use crate::value::{self, KeyValue};

use super::answers::{read_answer, read_redirect};
use super::fields::settle_rest;
use super::forward::forward_rules;
use super::header_edits::HeaderEditList;
use super::host_names::{PortTreatment, has_port, order_hosts};
use super::reader::{leave_out, take_flag, take_text, take_texts};
use super::route_match::RouteMatch;
use super::route_scope::{RouteContext, RouteScope};
use super::rule::{EnvoyRule, is_closed_by_last};

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
    let ports = port_treatment(context, notes);
    for host in hosts {
        let domains = take_texts(host, "domains", notes);
        owners.push(domains.iter().map(|name| name.to_ascii_lowercase()).collect::<Vec<_>>());
        report_ports(host, ports, notes);
        of_hosts.push(host_rules(host, &common, context, notes));
    }
    let mut rules = unread_choices(config, notes);
    settle_rest("route_config", config, notes);
    rules.extend(context.effects.rules.clone());
    for group in order_hosts(&owners, ports) {
        if ports == PortTreatment::DroppedIfOwn && group.has_ports {
            let text = "names of virtual hosts with ports";
            rules.push(EnvoyRule::refusal(group.when, Some(404), config.source, text));
            continue;
        }
        let of_host = of_hosts[group.owner].iter().cloned();
        rules.extend(of_host.map(|rule| rule.with_condition(&group.when)));
    }
    if !is_closed_by_last(&rules, context.tls) {
        let when = RuleCondition::Is(true);
        rules.push(EnvoyRule::refusal(when, Some(404), config.source, "no virtual host"));
    }
    rules
}

/// The rules that refuse what Envoy would look for in another way than by host and path.
fn unread_choices(config: &ConfigNode, notes: &mut ConversionNotes) -> Vec<EnvoyRule> {
    let mut rules = Vec::new();
    let mut refuse = |when: RuleCondition, field: &ConfigNode, reason: &str, notes: &mut _| {
        leave_out(field, reason, "rules of the service", notes);
        rules.push(EnvoyRule::refusal(when, Some(502), field.source, field.describe()));
    };
    if let Some(field) = config.get("vhost_header") {
        let reason = "virtual hosts are found by the host of the request: all requests are refused";
        refuse(RuleCondition::Is(true), field, reason, notes);
    }
    if take_flag(config, "ignore_path_parameters_in_path_matching", notes) == Some(true)
        && let Some(field) = config.get("ignore_path_parameters_in_path_matching")
    {
        let reason = "rules look at all of a path: paths with `;` are refused";
        refuse(RuleCondition::texts("path-regex", &[".*;.*"]), field, reason, notes);
    }
    rules
}

/// What is done with the port of a Host before names are compared.
fn port_treatment(context: &RouteContext<'_, '_>, notes: &mut ConversionNotes) -> PortTreatment {
    let ignored = take_flag(context.config, "ignore_port_in_host_matching", notes) == Some(true);
    if ignored { PortTreatment::Dropped } else { context.ports }
}

/// Reports names with ports where they do not mean what they say, and that others take any port.
fn report_ports(host: &ConfigNode, ports: PortTreatment, notes: &mut ConversionNotes) {
    let Some(field) = host.get("domains") else { return };
    let names = field.items().iter().filter_map(ConfigNode::text).chain(field.text());
    if !names.into_iter().any(has_port) {
        return;
    }
    match ports {
        PortTreatment::Compared => {
            let reason = "a name without a port takes requests with any port; one with a port takes those alone";
            notes.changed(field.source, field.describe(), reason, "");
        }
        PortTreatment::Dropped => {
            let reason =
                "no request has a port when names are compared, so that a name with one takes none";
            notes.changed(field.source, field.describe(), reason, "");
        }
        PortTreatment::DroppedIfOwn => {
            let reason = "whether a port is the listener's own is not compared: requests with the port of such a name are refused";
            leave_out(field, reason, "a listener of its own for each port", notes);
        }
    }
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
    let mut matched = RouteMatch::read(field, notes);
    matched.others = context.hidden.hide(matched.others);
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
