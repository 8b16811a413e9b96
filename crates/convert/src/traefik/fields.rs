//! The `headers` middleware: fields of requests and answers, allowed hosts, and redirects to TLS.

use crate::condition::RuleCondition;
use crate::draft_check::{DraftChecker, RouterLayer};
use crate::header_field::check_field;
use crate::notes::ConversionNotes;
use crate::value::{self, KeyValue, escape_glob};

use super::chain_effect::{ChainEffect, escape_variables};
use super::option_tree::OptionNode;
use super::redirects;

/// Options that write one field of the answer as it is given.
const GIVEN_FIELDS: [[&str; 2]; 6] = [
    ["contentSecurityPolicy", "Content-Security-Policy"],
    ["contentSecurityPolicyReportOnly", "Content-Security-Policy-Report-Only"],
    ["publicKey", "Public-Key-Pins"],
    ["referrerPolicy", "Referrer-Policy"],
    ["permissionsPolicy", "Permissions-Policy"],
    ["featurePolicy", "Feature-Policy"],
];

/// Where a chain stands.
#[derive(Clone, Debug)]
pub struct ChainPlace {
    /// The entry point speaks TLS.
    pub tls: bool,
    /// The entry point believes what proxies in front say.
    pub trusts: bool,
    /// The names in the router's rule.
    pub hosts: Vec<String>,
}

pub fn apply(
    node: &OptionNode,
    place: &ChainPlace,
    effect: &mut ChainEffect,
    checker: &mut DraftChecker,
    notes: &mut ConversionNotes,
) {
    redirect_to_tls(node, place, effect, notes);
    allow_hosts(node, effect, notes);
    if effect.ended {
        return;
    }
    let entries = |key: &str| node.get(key).map(OptionNode::entries).unwrap_or_default();
    for entry in entries("customRequestHeaders") {
        change_request(entry, effect, checker, notes);
    }
    for entry in entries("customResponseHeaders") {
        change_answer(entry, effect, checker, notes);
    }
    for [option, name] in GIVEN_FIELDS {
        if let Some(given) = node.get(option) {
            let value = given.as_text().unwrap_or_default();
            set_answer(given, name, value, effect, checker, notes);
        }
    }
    frame_options(node, effect, checker, notes);
    if let Some(filter) = node.get("browserXssFilter").filter(|_| node.is_on("browserXssFilter")) {
        set_answer(filter, "X-XSS-Protection", "1; mode=block", effect, checker, notes);
    }
    if let Some(given) = node.get("customBrowserXSSValue") {
        let value = given.as_text().unwrap_or_default();
        set_answer(given, "X-XSS-Protection", value, effect, checker, notes);
    }
    if let Some(sniff) = node.get("contentTypeNosniff").filter(|_| node.is_on("contentTypeNosniff"))
    {
        set_answer(sniff, "X-Content-Type-Options", "nosniff", effect, checker, notes);
    }
    strict_transport(node, place, effect);
    settle(node, notes);
}

/// Settles the switches, and reports what is told to browsers about other sites.
fn settle(node: &OptionNode, notes: &mut ConversionNotes) {
    const SWITCHES: [&str; 9] = [
        "frameDeny",
        "browserXssFilter",
        "contentTypeNosniff",
        "stsSeconds",
        "stsIncludeSubdomains",
        "stsPreload",
        "forceSTSHeader",
        "isDevelopment",
        "customFrameOptionsValue",
    ];
    for key in SWITCHES {
        node.convert_key(key, notes);
    }
    for entry in node.entries() {
        let key = entry.key.to_ascii_lowercase();
        if key.starts_with("accesscontrol") || key == "addvaryheader" {
            let reason = "requests of browsers from other sites (CORS) are not answered here: browsers refuse them \
                          unless the servers allow them";
            entry.left_out(notes, reason, "let the servers answer, or `response-set` in a rule");
        }
        if key == "hostsproxyheaders" {
            entry.changed(notes, "both the host and these fields must be allowed", "");
        }
        if key == "sslproxyheaders" {
            let reason = "whether a client came over TLS is seen from its own connection";
            entry.changed(notes, reason, "`trust` of the service");
        }
    }
}

fn redirect_to_tls(
    node: &OptionNode,
    place: &ChainPlace,
    effect: &mut ChainEffect,
    notes: &mut ConversionNotes,
) {
    for key in ["sslRedirect", "sslTemporaryRedirect", "sslHost", "sslForceHost"] {
        node.convert_key(key, notes);
    }
    let host = node.text_of("sslHost").filter(|host| !host.contains(['{', '}', '/']));
    let forces = node.is_on("sslForceHost") && host.is_some();
    if !node.is_on("sslRedirect") || node.is_on("isDevelopment") || place.tls && !forces {
        return;
    }
    let to = format!("https://{}{{path}}{{query}}", host.unwrap_or("{host}"));
    let mut when = RuleCondition::Is(true);
    if place.tls {
        when = RuleCondition::texts("host", &[host.unwrap_or_default()]).negate();
    } else if place.trusts {
        when = RuleCondition::texts("header", &["x-forwarded-proto: https"]).negate();
    }
    effect.ended |= when == RuleCondition::Is(true);
    let permanent = !node.is_on("sslTemporaryRedirect");
    let steps = redirects::redirect_steps(&to, permanent, &when, node.place(), &node.text);
    effect.steps.extend(steps);
}

/// A field has one of these values, in any letter case.
fn listed(name: &str, values: &[String]) -> RuleCondition {
    let entry = |one: &String| value::quote(&format!("{name}: {}", escape_glob(one)));
    RuleCondition::AnyCase("header", values.iter().map(entry).collect())
}

/// `allowedHosts`: other hosts are refused.
fn allow_hosts(node: &OptionNode, effect: &mut ChainEffect, notes: &mut ConversionNotes) {
    let Some(allowed) = node.get("allowedHosts").filter(|_| !node.is_on("isDevelopment")) else {
        return;
    };
    let hosts: Vec<String> = allowed.texts().into_iter().map(|host| host.text).collect();
    if hosts.is_empty() {
        return allowed.changed(notes, "the list is empty: all hosts are allowed", "");
    }
    let deny = || vec![KeyValue::new("deny", "true")];
    // The Host counts with its port.
    let others = listed("host", &hosts).negate();
    effect.refuse(others, deny(), allowed.place(), &allowed.text);
    for name in node.texts_of("hostsProxyHeaders") {
        let name = name.text.to_ascii_lowercase();
        let there = RuleCondition::texts("header", &[&name]);
        let others = there.and(listed(&name, &hosts).negate());
        effect.refuse(others, deny(), allowed.place(), &allowed.text);
    }
    allowed.changed(notes, "other hosts are refused with 403 instead of 500", "");
}

fn change_request(
    entry: &OptionNode,
    effect: &mut ChainEffect,
    checker: &mut DraftChecker,
    notes: &mut ConversionNotes,
) {
    let name = entry.key.as_str();
    let value = entry.as_text().unwrap_or_default();
    // What a change of the path before this one says under the name is replaced.
    for variant in &mut effect.variants {
        variant.set.retain(|field| !is_named(field, name));
    }
    if name.eq_ignore_ascii_case("host") && !value.is_empty() {
        return set_host(entry, value, effect, checker, notes);
    }
    let mut field = format!("{name}: {}", escape_variables(value));
    if name.eq_ignore_ascii_case("X-Forwarded-For") && !value.is_empty() {
        // The client's address comes behind it.
        field.push_str(", {client}");
    }
    let (key, text) = if value.is_empty() { ("remove", name) } else { ("set", field.as_str()) };
    if let Some(why) = rejection(key, text, checker) {
        let reason = format!("{why}; what clients send under its name goes on as it is");
        entry.left_out(notes, &reason, "");
        if !value.is_empty() && rejection("remove", name, checker).is_none() {
            effect.fields.remove_request(name);
        }
        return;
    }
    match value.is_empty() {
        true => effect.fields.remove_request(name),
        false => effect.fields.set_request(name, field),
    }
    entry.converted(notes);
}

fn is_named(field: &str, name: &str) -> bool {
    field.split(':').next().is_some_and(|own| own.eq_ignore_ascii_case(name))
}

fn set_host(
    entry: &OptionNode,
    value: &str,
    effect: &mut ChainEffect,
    checker: &mut DraftChecker,
    notes: &mut ConversionNotes,
) {
    match rejection("host", value, checker) {
        None => {
            effect.fields.host = Some(value.to_owned());
            entry.converted(notes);
        }
        Some(why) => {
            entry.left_out(notes, &why, "`rewrite.host`");
            effect.close(503, entry.place(), &entry.text);
        }
    }
}

fn change_answer(
    entry: &OptionNode,
    effect: &mut ChainEffect,
    checker: &mut DraftChecker,
    notes: &mut ConversionNotes,
) {
    let value = entry.as_text().unwrap_or_default();
    if !value.is_empty() {
        return set_answer(entry, &entry.key, value, effect, checker, notes);
    }
    match rejection("response-remove", &entry.key, checker) {
        None => {
            effect.fields.remove_answer(&entry.key);
            entry.converted(notes);
        }
        Some(why) => entry.left_out(notes, &why, ""),
    }
}

fn set_answer(
    option: &OptionNode,
    name: &str,
    value: &str,
    effect: &mut ChainEffect,
    checker: &mut DraftChecker,
    notes: &mut ConversionNotes,
) {
    let field = format!("{name}: {value}");
    let why = check_field(&field).err().map(|why| why.reason);
    match why.or_else(|| rejection("response-set", &field, checker)) {
        None => {
            effect.fields.set_answer(name, value);
            option.converted(notes);
        }
        Some(why) => option.left_out(notes, &why, "`rewrite.response-set`"),
    }
}

/// Why the parser rejects a key of `rewrite`.
fn rejection(key: &'static str, text: &str, checker: &mut DraftChecker) -> Option<String> {
    let rewrite = value::table(&[KeyValue::new(key, value::quote(text))]);
    checker.rejection(RouterLayer::Http, &[KeyValue::new("rewrite", rewrite)])
}

fn frame_options(
    node: &OptionNode,
    effect: &mut ChainEffect,
    checker: &mut DraftChecker,
    notes: &mut ConversionNotes,
) {
    let given = node.get("customFrameOptionsValue");
    let text = given.and_then(OptionNode::as_text).filter(|text| !text.is_empty());
    let denied = node.get("frameDeny").filter(|_| node.is_on("frameDeny"));
    if let Some((option, text)) = given.zip(text).or(denied.map(|option| (option, "DENY"))) {
        set_answer(option, "X-Frame-Options", text, effect, checker, notes);
    }
}

/// Strict-Transport-Security, over TLS unless it is forced.
fn strict_transport(node: &OptionNode, place: &ChainPlace, effect: &mut ChainEffect) {
    let seconds = node.number_of("stsSeconds").filter(|seconds| *seconds > 0);
    let spoken = place.tls || node.is_on("forceSTSHeader");
    let Some(seconds) = seconds.filter(|_| spoken && !node.is_on("isDevelopment")) else { return };
    let mut value = format!("max-age={seconds}");
    if node.is_on("stsIncludeSubdomains") {
        value.push_str("; includeSubDomains");
    }
    if node.is_on("stsPreload") {
        value.push_str("; preload");
    }
    effect.fields.set_answer("Strict-Transport-Security", &value);
}
