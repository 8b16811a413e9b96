//! `limit_req` and its zone as the rate limit of a rule.

use crate::document::Document;
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::value::{self, KeyValue};

use std::collections::{BTreeMap, BTreeSet};

use super::tree::Directive;
use super::variables::{fill, only_variable, variable_names};

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

/// What one zone lets through in a rule, before it is known how many rules the zone counts for.
struct ZoneLimit<'z> {
    zone: &'z str,
    per_minute: u32,
    burst: u32,
    /// `by` and what belongs to it.
    counted: &'z str,
}

/// Begins the value that stands for a `ZoneLimit` until all rules are written. No value of TOML begins so.
const MARK: char = '\u{1}';

impl ZoneLimit<'_> {
    fn write(&self) -> String {
        let ZoneLimit { zone, per_minute, burst, counted } = self;
        format!("{MARK}{per_minute}{MARK}{burst}{MARK}{counted}{MARK}{zone}")
    }

    fn read(value: &str) -> Option<ZoneLimit<'_>> {
        let mut parts = value.strip_prefix(MARK)?.splitn(4, MARK);
        Some(ZoneLimit {
            per_minute: parts.next()?.parse().ok()?,
            burst: parts.next()?.parse().ok()?,
            counted: parts.next()?,
            zone: parts.next()?,
        })
    }

    /// The `limit` of one of so many rules. `None`: a limit cannot be as low.
    fn share(&self, count: u32) -> Option<String> {
        let rate = self.per_minute / 60 / count.max(1);
        let burst = (self.burst / count.max(1)).max(1);
        (rate > 0).then(|| format!("{{ rate = {rate}, burst = {burst}, {} }}", self.counted))
    }
}

/// Where a zone counts.
#[derive(Default)]
struct ZoneUse {
    rules: u32,
    /// Services and lines, each of which may have several rules.
    places: BTreeSet<String>,
}

impl ZoneUse {
    /// The numbers that a rate may be shared by: rules, or places where a client commonly meets one rule only.
    fn counts(&self) -> [u32; 2] {
        [self.rules, u32::try_from(self.places.len()).unwrap_or(u32::MAX)]
    }
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
    let number = |unit: &str| rate.strip_suffix(unit).and_then(|rate| rate.parse::<u32>().ok());
    let per_second = number("r/s").map(|rate| rate.saturating_mul(60));
    let Some(per_minute) = per_second.or(number("r/m")) else {
        let reason = "its zone has no rate";
        notes.left_out(directive.source, &directive.text(), reason, "`limit` in a rule");
        return None;
    };
    let CountedKey { by: counted, how } = counted_by(&key, real_ip);
    let burst =
        argument(directive, "burst").and_then(|burst| burst.parse::<u32>().ok()).unwrap_or(0);
    let name = argument(directive, "zone").unwrap_or_default();
    let limit =
        ZoneLimit { zone: &name, per_minute, burst: burst.saturating_add(1), counted: &counted };
    let reason = format!(
        "what comes above is refused with 429 and never delayed; each rule of a zone counts by itself, with its share of the rate{how}"
    );
    notes.changed(directive.source, &directive.text(), &reason, "");
    Some(limit.write())
}

/// `by` of a limit with what belongs to it, and what is to be said of it.
struct CountedKey {
    by: String,
    how: &'static str,
}

/// How a rule counts. A key that rules cannot count by is counted with others together, so that
/// no more comes through.
fn counted_by(key: &str, real_ip: bool) -> CountedKey {
    let by = |what: &str| KeyValue::new("by", value::quote(what));
    let text = |pairs: &[KeyValue]| {
        let pairs: Vec<String> =
            pairs.iter().map(|KeyValue { key, value }| format!("{key} = {value}")).collect();
        pairs.join(", ")
    };
    if let Some(field) = only_variable(key).and_then(|name| name.strip_prefix("http_")) {
        let header = KeyValue::new("header", value::quote(&field.replace('_', "-")));
        let how = "; requests without the field count together";
        return CountedKey { by: text(&[by("header"), header]), how };
    }
    let names = variable_names(key);
    let has_address =
        names.iter().any(|name| matches!(*name, "binary_remote_addr" | "remote_addr"));
    let is_alone = only_variable(key).is_some() && !real_ip;
    match has_address {
        true if is_alone => CountedKey { by: text(&[by("address")]), how: "" },
        true => {
            let how = "; whoever comes from one address counts together";
            CountedKey { by: text(&[by("address")]), how }
        }
        false => CountedKey { by: text(&[by("rule")]), how: "; all clients count together" },
    }
}

/// Writes the limits of all rules. Each counts by itself, so that it has a share of its zone's rate; a rule whose share is
/// less than one request a second refuses.
pub fn share_zones(document: &mut Document, notes: &mut ConversionNotes) {
    let mut uses: BTreeMap<String, ZoneUse> = BTreeMap::new();
    for table in &document.tables {
        if let Some(limit) = table.get("limit").and_then(ZoneLimit::read) {
            let used = uses.entry(limit.zone.to_owned()).or_default();
            used.rules += 1;
            used.places.insert(format!("{} {:?}", table.path, table.source));
        }
    }
    for table in &mut document.tables {
        let Some(value) = table.get("limit").map(str::to_owned) else { continue };
        let Some(limit) = ZoneLimit::read(&value) else { continue };
        let counts = uses.get(limit.zone).map_or([1, 1], ZoneUse::counts);
        if let Some(share) = counts.into_iter().find_map(|count| limit.share(count)) {
            table.set("limit", share, SourcePlace::NONE);
            continue;
        }
        let [count, _] = counts;
        let reason = format!(
            "the rules of the zone `{}` (of which there are {count}) would let more through than it, since none counts less than one request a second; so that no more comes through, they refuse",
            limit.zone
        );
        let instead = "`limit` in these rules, as strict as you want it";
        notes.left_out(table.source, &table.directive, &reason, instead);
        table.entries.retain(|entry| entry.key == "when");
        table.set("deny", "true", SourcePlace::NONE);
    }
}
