//! Finds the rules that the configuration's own check refuses, each checked by itself. So one route with a value that
//! the engine does not take costs nobody else their configuration.

use std::collections::{BTreeMap, BTreeSet};

use model::config::check_text;

use crate::document::{RuleText, ServiceText, render_document};
use crate::http_rows::{PoolEdit, RankedRule};
use crate::http_service::{edit_entries, rule_entries};
use crate::pools::{NO_POOL, PoolBook, PoolText, empty_pool};
use crate::route_plan::{RejectedRules, RuleIdentity, RuleRejection};
use crate::service_assembly::AssembledServices;
use crate::toml_text::ConfigEntry;

/// The most edits of a service.
const EDITS_MAX: usize = 256;

/// The most expressions and globs of a configuration, less a few for what is read as one only there.
const PATTERNS_MAX: usize = 900;

/// Adds the rules that are refused to those that already are.
pub fn find_rejected(services: &AssembledServices, pools: &PoolBook, rejected: &mut RejectedRules) {
    for row in &services.rows {
        let Some(reason) = row_refusal(row, &row.action, pools) else { continue };
        let rejection = rejected.entry(row.identity.clone()).or_default();
        rejection.reason = reason;
        let answer = [ConfigEntry::new("answer", "500")];
        if row_refusal(row, &answer, pools).is_some() {
            rejection.matches.insert(row.match_number);
        }
    }
    reject_surplus(&services.rows, rejected);
}

/// Why a rule is refused, alone in a service with this action.
fn row_refusal(row: &RankedRule, action: &[ConfigEntry], pools: &PoolBook) -> Option<String> {
    let alone = RankedRule { action: action.to_vec(), ..row.clone() };
    let entry = |key, text: &str| ConfigEntry::text(key, text);
    let is_whole = action == row.action;
    let edits = row.edits.iter().filter(|_| is_whole);
    let service = ServiceText {
        name: "draft".to_owned(),
        comment: String::new(),
        entries: vec![entry("listen", ":80"), entry("forward", "http"), entry("pool", NO_POOL)],
        rules: vec![RuleText { comment: String::new(), entries: rule_entries(&alone) }],
        edits: edits.map(edit_entries).collect(),
    };
    let mut used: BTreeMap<String, PoolText> = BTreeMap::from([(NO_POOL.to_owned(), empty_pool())]);
    for name in row.pools.iter().filter(|_| is_whole) {
        let pool = pools.pools.get(name).cloned().unwrap_or_else(empty_pool);
        used.insert(name.clone(), pool);
    }
    let text = render_document(&[service], &used);
    let findings = check_text(&text, "draft").err()?;
    let first = findings.errors().next()?;
    let mut reason = format!("the engine does not take it: {}", first.message);
    if let Some(expected) = &first.expected {
        reason.push_str(&format!("; expected {expected}"));
    }
    Some(reason)
}

/// Where there are more edits or expressions than the engine carries, the youngest rules do without.
fn reject_surplus(rows: &[RankedRule], rejected: &mut RejectedRules) {
    let mut rules: BTreeMap<&RuleIdentity, RuleCost> = BTreeMap::new();
    for row in rows.iter().filter(|row| !rejected.contains_key(&row.identity)) {
        let cost = rules.entry(&row.identity).or_insert_with(|| RuleCost::new(row));
        cost.edits.extend(row.edits.iter().map(|edit: &PoolEdit| edit.pool.clone()));
        cost.patterns += count_patterns(row);
    }
    let mut by_age: Vec<(&RuleIdentity, RuleCost)> = rules.into_iter().collect();
    by_age.sort_by(|a, b| a.1.rank.cmp(&b.1.rank));
    let mut edits = 0;
    let mut patterns = 0;
    for (identity, cost) in by_age {
        edits += cost.edits.len();
        patterns += cost.patterns;
        if (edits > EDITS_MAX && !cost.edits.is_empty())
            || (patterns > PATTERNS_MAX && cost.patterns > 0)
        {
            let reason = "older rules use up what the engine carries of filters and expressions";
            let rejection = RuleRejection { reason: reason.to_owned(), ..RuleRejection::default() };
            rejected.insert(identity.clone(), rejection);
        }
    }
}

/// What a rule uses of what is limited.
struct RuleCost {
    rank: crate::objects::metadata::ObjectAge,
    edits: BTreeSet<String>,
    patterns: usize,
}

impl RuleCost {
    fn new(row: &RankedRule) -> RuleCost {
        RuleCost { rank: row.rank.age().clone(), edits: BTreeSet::new(), patterns: 0 }
    }
}

fn count_patterns(row: &RankedRule) -> usize {
    let conditions: Vec<ConfigEntry> =
        row.path.entry().into_iter().chain(row.criteria.iter().cloned()).collect();
    let is_pattern = |entry: &&ConfigEntry| {
        let inner_star = entry.key == "path" && entry.value.contains("/*/");
        entry.key.ends_with("-regex") || inner_star
    };
    conditions.iter().filter(is_pattern).count()
}
