//! The rules that send a router's requests on: one for each change of the path, and one for paths that stay.

use crate::condition::RuleCondition;
use crate::value::{self, KeyValue};

use super::chain_effect::{ChainEffect, PathVariant};
use super::middlewares;
use super::services::ServiceTarget;

/// A rule without its name and place.
pub struct TargetRule {
    pub when: RuleCondition,
    pub keys: Vec<KeyValue>,
}

/// The rules that send requests on: one for each change of the path, and one for paths that stay.
pub fn target_rules(
    effect: &ChainEffect,
    target: &ServiceTarget<'_>,
    condition: &RuleCondition,
) -> Vec<TargetRule> {
    let unchanged =
        PathVariant { when: RuleCondition::Is(true), keys: Vec::new(), set: Vec::new() };
    let has_prefix = !whole_prefix(effect, target).is_empty();
    let variants = effect.variants.iter().filter(|one| has_prefix || !one.is_empty());
    let always = |one: &PathVariant| !one.is_empty() && always_holds(&one.when, condition);
    let whole = variants.clone().any(always);
    let rest = if whole { None } else { Some(&unchanged) };
    let mut out = Vec::new();
    let possible = |variant: &&PathVariant| !never_holds(&variant.when, condition);
    for variant in variants.filter(possible).chain(rest) {
        let when = match always(variant) {
            true => condition.clone(),
            false => variant.when.clone().and(condition.clone()),
        };
        let mut keys = target.keys.clone();
        keys.extend(middlewares::rewrite(&rewrite_keys(effect, target, variant)));
        keys.extend(effect.limit.as_ref().map(|limit| KeyValue::new("limit", limit.clone())));
        keys.extend(effect.buffer.as_ref().map(|buffer| KeyValue::new("buffer", buffer.clone())));
        let limit = effect.body_bytes.as_ref();
        keys.extend(limit.map(|limit| KeyValue::new("body-bytes", limit.clone())));
        if effect.retry.retries > 0 {
            keys.push(KeyValue::new("retries", effect.retry.retries.to_string()));
        }
        if let Some(fallback) = &target.fallback {
            let mut second = keys.clone();
            second.retain(|key| !matches!(key.key, "pool" | "when-unavailable"));
            second.insert(0, KeyValue::new("pool", value::quote(fallback)));
            out.push(TargetRule { when: when.clone(), keys });
            out.push(TargetRule { when, keys: second });
        } else {
            out.push(TargetRule { when, keys });
        }
    }
    out
}

/// What is put before each path.
fn whole_prefix(effect: &ChainEffect, target: &ServiceTarget<'_>) -> String {
    format!("{}{}", target.prefix, effect.prefix.as_deref().unwrap_or_default())
}

fn rewrite_keys(
    effect: &ChainEffect,
    target: &ServiceTarget<'_>,
    variant: &PathVariant,
) -> Vec<KeyValue> {
    let mut fields = effect.fields.clone();
    if fields.host.is_none() {
        fields.host.clone_from(&target.host);
    }
    for field in &variant.set {
        fields.set_request(field.split(':').next().unwrap_or_default(), field.clone());
    }
    let prefix = whole_prefix(effect, target);
    let mut out = Vec::new();
    let has_path = variant.keys.iter().any(|key| key.key == "path");
    for KeyValue { key, value } in &variant.keys {
        let value = match *key {
            "path" if variant.is_empty() => value::quote(&prefix),
            "path" => format!("\"{prefix}{}", value.trim_start_matches('"')),
            _ => value.clone(),
        };
        out.push(KeyValue::new(key, value));
    }
    if !prefix.is_empty() && !has_path {
        out.push(KeyValue::new("prefix", value::quote(&prefix)));
    }
    out.extend(fields.keys());
    out
}

/// Whether a condition on the beginning of the path holds nowhere where another condition holds.
fn never_holds(wanted: &RuleCondition, given: &RuleCondition) -> bool {
    let RuleCondition::Key("path", beginnings) = wanted else { return false };
    let plain = |text: &String| text.trim_matches('"').trim_end_matches('*').to_owned();
    let is_apart = |text: &String| {
        let text = plain(text);
        beginnings.iter().map(plain).all(|one| !one.starts_with(&text) && !text.starts_with(&one))
    };
    match given {
        RuleCondition::Key("path", paths) => paths.iter().all(is_apart),
        RuleCondition::All(parts) => parts.iter().any(|part| never_holds(wanted, part)),
        RuleCondition::Any(parts) => parts.iter().all(|part| never_holds(wanted, part)),
        _ => false,
    }
}

/// Whether a condition on the beginning of the path holds wherever another condition holds.
fn always_holds(wanted: &RuleCondition, given: &RuleCondition) -> bool {
    let RuleCondition::Key("path", beginnings) = wanted else {
        return *wanted == RuleCondition::Is(true);
    };
    let begins = |text: &String| {
        let plain = text.trim_matches('"').trim_end_matches('*');
        beginnings.iter().any(|one| plain.starts_with(one.trim_matches('"').trim_end_matches('*')))
    };
    match given {
        RuleCondition::Key("path", paths) => paths.iter().all(begins),
        RuleCondition::All(parts) => parts.iter().any(|part| always_holds(wanted, part)),
        RuleCondition::Any(parts) => parts.iter().all(|part| always_holds(wanted, part)),
        _ => false,
    }
}
