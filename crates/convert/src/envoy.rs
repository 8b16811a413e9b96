//! Envoy: the listeners of a static bootstrap become services, clusters become pools, routes become rules.

mod access_log;
mod addresses;
mod answers;
mod chain_order;
mod chains;
mod cluster;
mod cluster_fields;
mod clusters;
mod default_times;
mod early_edits;
mod endpoints;
mod field_group;
mod fields;
mod filter_keys;
mod forward;
mod header_edits;
mod health;
mod hidden_fields;
mod host_names;
mod http;
mod http_filters;
mod listener;
mod listener_fields;
mod listener_tls;
mod message_edits;
mod own_fields;
mod path_rewrite;
mod rate_limit;
mod rbac;
mod reader;
mod retries;
mod route_fields;
mod route_match;
mod route_scope;
mod routes;
mod rule;
mod secrets;
mod specificity;
mod strings;
mod tcp;
mod upgrades;
mod upstream_tls;

use crate::document::{Document, TomlTable};
use crate::empty_pool;
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::structured::node::{ConfigNode, NodeValue, note_unread};
use crate::structured::yaml::read_yaml;
use crate::template::find_variable;

use self::clusters::ClusterPools;
use self::listener::{ListenerContext, write_listener};
use self::reader::{field_name, leave_out};
use self::secrets::StaticSecrets;

/// Converts `text` into `document`.
pub fn convert(text: &str, document: &mut Document, notes: &mut ConversionNotes) {
    if let Some(found) = find_variable(text) {
        let reason = "another tool has still to fill in this variable of the environment";
        let instead = "convert what the tool makes of it";
        notes.unreadable(SourcePlace::at_line(found.line), &found.text, reason, instead);
        return;
    }
    let Some(root) = read_yaml(text, field_name, notes) else { return };
    if !matches!(root.value(), NodeValue::Map(_)) {
        notes.unreadable(SourcePlace::at_line(1), root.describe(), "it is no bootstrap", "");
        return;
    }
    convert_resources(&root, document, notes);
    fields::settle_rest("bootstrap", &root, notes);
    note_unread(&root, notes);
    settle_empty(&root, notes);
}

fn convert_resources(root: &ConfigNode, document: &mut Document, notes: &mut ConversionNotes) {
    // A file of resources alone has them at its top.
    let resources = root.get("static_resources").unwrap_or(root);
    let secrets = resources.get("secrets").map(ConfigNode::items).unwrap_or_default();
    let secrets = StaticSecrets::read(secrets, notes);
    let clusters = resources.get("clusters").map(ConfigNode::items).unwrap_or_default();
    let mut pools = ClusterPools::read(clusters, &secrets, notes);
    let mut context = ListenerContext {
        pools: &mut pools,
        secrets: &secrets,
        names: empty_pool::reserve_name(),
        access_log: None,
    };
    for listener in resources.get("listeners").map(ConfigNode::items).unwrap_or_default() {
        write_listener(listener, &mut context, document, notes);
    }
    if let Some(log) = context.access_log.take() {
        let mut global = TomlTable::new("global", SourcePlace::NONE, "");
        global.set("access-log", log.value, log.source);
        document.tables.insert(0, global);
    }
    pools.write(document, notes);
}

/// Settles what was read and is empty: a list or a value that says nothing, and a message without an effect here.
fn settle_empty(node: &ConfigNode, notes: &mut ConversionNotes) {
    if notes.ledger.covers_block(node.source) {
        return;
    }
    let inner = match node.value() {
        NodeValue::Map(inner) | NodeValue::List(inner) => inner,
        NodeValue::Null | NodeValue::Scalar(_) => return,
    };
    for field in inner {
        let is_map = matches!(field.value(), NodeValue::Map(_));
        if field.is_empty() && !notes.ledger.is_settled(field.source) {
            if is_map {
                leave_out(field, "it is empty, and has no effect here", "", notes);
            } else {
                notes.not_needed(field.source.whole(), field.describe(), "it is empty");
            }
        }
        settle_empty(field, notes);
    }
}

/// How much a line looks like this dialect.
pub fn score_line(line: &str) -> u32 {
    let word = line.trim_start().trim_start_matches("- ").trim_start_matches(['"', '{', ' ']);
    let key = word.split([':', '"']).next().unwrap_or_default();
    match key {
        "static_resources" | "staticResources" | "dynamic_resources" => 10,
        "@type" if line.contains("type.googleapis.com/envoy.") => 5,
        "filter_chains" | "filterChains" | "load_assignment" | "loadAssignment"
        | "virtual_hosts" | "lb_endpoints" => 5,
        _ => 0,
    }
}
