//! A service for the HTTP or HTTPS listeners of one port: rules in the order of the specification, and each listener
//! closed behind its own routes, so that no request falls to the routes of another one (listener isolation).

use crate::document::{RuleText, ServiceText};
use crate::host_names::rank_host;
use crate::http_rows::{PoolEdit, RankedRule};
use crate::names::NameRegistry;
use crate::rule_match::condition_table;
use crate::toml_text::{ConfigEntry, inline_table, quote_all};

/// The rules of one listener.
#[derive(Clone, Debug)]
pub struct RequestListener {
    pub listener: String,
    /// `None`: every host.
    pub hostname: Option<String>,
    pub rows: Vec<RankedRule>,
}

/// Adds the rules of the listeners of one port to their service.
pub fn write_http_rules(mut listeners: Vec<RequestListener>, service: &mut ServiceText) {
    listeners.sort_by(|a, b| {
        let rank = |one: &RequestListener| rank_host(one.hostname.as_deref());
        rank(a).cmp(&rank(b)).then_with(|| a.listener.cmp(&b.listener))
    });
    let mut names = NameRegistry::default();
    let mut edits: Vec<PoolEdit> = Vec::new();
    let is_open = listeners.iter().all(|listener| listener.hostname.is_some());
    for mut listener in listeners {
        listener.rows.sort_by(|a, b| a.rank.cmp(&b.rank));
        let rows = merge_hosts(std::mem::take(&mut listener.rows));
        for row in &rows {
            service.rules.push(rule_text(row, &mut names));
            edits.extend(row.edits.iter().cloned());
        }
        let parts = [listener.listener.as_str(), "no-route"];
        service.rules.push(closing_rule(&listener, &names.fresh_name(&parts)));
    }
    if is_open {
        let entries = vec![
            ConfigEntry::text("name", &names.fresh_name(&["no-listener"])),
            ConfigEntry::new("answer", "404"),
        ];
        let comment = "no listener has the host".to_owned();
        service.rules.push(RuleText { comment, entries });
    }
    service.end_at_first_open_rule();
    edits.sort_by(|a, b| a.pool.cmp(&b.pool));
    edits.dedup();
    service.edits.extend(edits.iter().map(edit_entries));
}

/// The keys of a rule but its name.
pub fn rule_entries(row: &RankedRule) -> Vec<ConfigEntry> {
    let mut conditions = Vec::new();
    let hosts: Vec<String> = row.hosts.iter().flatten().cloned().collect();
    if !hosts.is_empty() {
        conditions.push(ConfigEntry::new("host", quote_all(&hosts)));
    }
    conditions.extend(row.path.entry());
    conditions.extend(row.criteria.iter().cloned());
    let mut entries: Vec<ConfigEntry> = condition_table(&conditions).into_iter().collect();
    entries.extend(row.action.iter().cloned());
    entries
}

/// The keys of an edit for one pool.
pub fn edit_entries(edit: &PoolEdit) -> Vec<ConfigEntry> {
    vec![
        ConfigEntry::text("pool", &edit.pool),
        ConfigEntry::new("rewrite", inline_table(&edit.rewrite)),
    ]
}

/// Makes one rule of neighbours that differ in their host alone.
fn merge_hosts(rows: Vec<RankedRule>) -> Vec<RankedRule> {
    let mut merged: Vec<RankedRule> = Vec::new();
    for row in rows {
        let has_host = row.hosts.iter().all(Option::is_some);
        match merged.last_mut().filter(|last| has_host && is_same_rule(last, &row)) {
            Some(last) => last.hosts.extend(row.hosts),
            None => merged.push(row),
        }
    }
    merged
}

fn is_same_rule(one: &RankedRule, other: &RankedRule) -> bool {
    one.identity == other.identity
        && one.name_parts == other.name_parts
        && one.path == other.path
        && one.criteria == other.criteria
        && one.action == other.action
        && one.hosts.iter().all(Option::is_some)
}

fn rule_text(row: &RankedRule, names: &mut NameRegistry) -> RuleText {
    let parts: Vec<&str> = row.name_parts.iter().map(String::as_str).collect();
    let mut entries = vec![ConfigEntry::text("name", &names.fresh_name(&parts))];
    entries.extend(rule_entries(row));
    let identity = &row.identity;
    let kind = identity.kind.name();
    let comment = format!("{kind} {}, rule {}", identity.route, identity.number);
    RuleText { comment, entries }
}

fn closing_rule(listener: &RequestListener, name: &str) -> RuleText {
    let mut entries = vec![ConfigEntry::text("name", name)];
    let host = listener.hostname.as_ref().map(|host| ConfigEntry::text("host", host));
    entries.extend(condition_table(host.as_slice()));
    entries.push(ConfigEntry::new("answer", "404"));
    let comment = format!("listener {}: no route has the request", listener.listener);
    RuleText { comment, entries }
}
