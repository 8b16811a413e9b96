//! `limit_req` and its zone as the rate limit of a rule.

use crate::notes::ConversionNotes;
use crate::value::{self, KeyValue};

use std::collections::BTreeMap;

use super::tree::Directive;
use super::variables::{fill, only_variable};

/// A word `KEY=VALUE` of a directive, as its value.
fn argument(directive: &Directive, key: &str) -> Option<String> {
    directive
        .peek_all()
        .iter()
        .find_map(|word| word.strip_prefix(key)?.strip_prefix('=').map(str::to_owned))
}

/// The zone that a `limit_req` names.
pub fn zone_of<'t>(zones: &[&'t Directive], limit: &Directive) -> Option<&'t Directive> {
    let name = argument(limit, "zone").unwrap_or_default();
    let is_named = |zone: &&&Directive| {
        argument(zone, "zone").is_some_and(|zone| zone.split(':').next() == Some(name.as_str()))
    };
    zones.iter().find(is_named).copied()
}

/// `limit_req` as the `limit` of a rule. `values`: those of variables in the rule.
pub fn rule_limit(
    zones: &[&Directive],
    notes: &mut ConversionNotes,
    directive: &Directive,
    values: &BTreeMap<String, String>,
    real_ip: bool,
) -> Option<String> {
    directive.args();
    let Some(zone) = zone_of(zones, directive) else {
        let reason = "its zone is not there";
        notes.left_out(directive.source, &directive.text(), reason, "`limit` in a rule");
        return None;
    };
    zone.mark_converted();
    let key = fill(zone.word(0), values);
    if key.is_empty() {
        // nginx counts nothing where the key is empty.
        zone.mark_converted();
        directive.mark_converted();
        return None;
    }
    let rate = argument(zone, "rate").unwrap_or_default();
    let per_second = rate.strip_suffix("r/s").and_then(|rate| rate.parse::<u32>().ok());
    let by_address = matches!(key.as_str(), "$binary_remote_addr" | "$remote_addr") && !real_ip;
    let field = only_variable(&key).and_then(|name| name.strip_prefix("http_"));
    let Some(rate) = per_second.filter(|_| by_address || field.is_some()) else {
        notes.left_out(
            directive.source,
            &directive.text(),
            "a limit counts whole requests a second, by address or by a field",
            "`limit = { rate = …, by = \"address\" }`",
        );
        return None;
    };
    let burst =
        argument(directive, "burst").and_then(|burst| burst.parse::<u32>().ok()).unwrap_or(0);
    let mut pairs = vec![
        KeyValue::new("rate", rate.to_string()),
        KeyValue::new("burst", burst.saturating_add(1).to_string()),
        KeyValue::new("by", value::quote(if field.is_some() { "header" } else { "address" })),
    ];
    pairs
        .extend(field.map(|field| KeyValue::new("header", value::quote(&field.replace('_', "-")))));
    let reason = match field {
        None => {
            "what comes above is refused with 429 and never delayed; each location counts by itself, not all of a zone together"
        }
        Some(_) => {
            "what comes above is refused with 429 and never delayed; each location counts by itself, not all of a zone together; requests without the field count together"
        }
    };
    notes.changed(directive.source, &directive.text(), reason, "");
    Some(value::table(&pairs))
}
