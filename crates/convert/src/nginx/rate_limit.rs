//! `limit_req` and its zone as the rate limit of a rule.

use crate::notes::ConversionNotes;
use crate::value::{self, KeyValue};

use super::tree::Directive;

/// `limit_req` as the `limit` of a rule.
pub fn rule_limit(
    zones: &[&Directive],
    notes: &mut ConversionNotes,
    directive: &Directive,
) -> Option<String> {
    let argument = |list: &[String], key: &str| -> Option<String> {
        list.iter().find_map(|word| word.strip_prefix(key)?.strip_prefix('=').map(str::to_owned))
    };
    let name = argument(directive.args(), "zone").unwrap_or_default();
    let zone = zones.iter().find(|zone| {
        argument(zone.args(), "zone")
            .is_some_and(|zone| zone.split(':').next() == Some(name.as_str()))
    });
    let Some(zone) = zone else {
        let reason = "its zone is not there";
        notes.left_out(directive.source, &directive.text(), reason, "`limit` in a rule");
        return None;
    };
    zone.mark_converted();
    let rate = argument(zone.args(), "rate").unwrap_or_default();
    let per_second = rate.strip_suffix("r/s").and_then(|rate| rate.parse::<u32>().ok());
    let by_address = zone.word(0).contains("remote_addr");
    let Some(rate) = per_second.filter(|_| by_address) else {
        notes.left_out(
            directive.source,
            &directive.text(),
            "a limit counts whole requests a second, by address",
            "`limit = { rate = …, by = \"address\" }`",
        );
        return None;
    };
    let burst = argument(directive.args(), "burst")
        .and_then(|burst| burst.parse::<u32>().ok())
        .unwrap_or(0);
    let pairs = [
        KeyValue::new("rate", rate.to_string()),
        KeyValue::new("burst", burst.saturating_add(1).to_string()),
        KeyValue::new("by", value::quote("address")),
    ];
    notes.changed(
        directive.source,
        &directive.text(),
        "what comes above is refused with 429 and never delayed",
        "",
    );
    Some(value::table(&pairs))
}
