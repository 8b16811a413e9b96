//! A rule of a service, before it is written.

use std::collections::HashSet;

use crate::condition::RuleCondition;
use crate::document::{Document, TomlTable};
use crate::names::UniqueNames;
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::value::{self, KeyValue};

use super::tree::Directive;

/// A new path for the requests that meet a condition.
pub struct InternalRewrite {
    pub when: RuleCondition,
    /// `None`: the path cannot be written.
    pub to: Option<String>,
}

#[derive(Clone, Debug)]
pub struct NginxRule {
    pub when: RuleCondition,
    /// The rule's actions, as keys and TOML values.
    pub keys: Vec<KeyValue>,
    pub source: SourcePlace,
    pub text: String,
}

impl NginxRule {
    /// A rule with a single key.
    pub fn single_key(
        when: RuleCondition,
        key: &'static str,
        value: impl Into<String>,
        source: SourcePlace,
        text: &str,
    ) -> NginxRule {
        NginxRule { when, keys: vec![KeyValue::new(key, value)], source, text: text.to_owned() }
    }

    /// Adds a further condition, which is checked first.
    pub fn with_condition(mut self, scope: &RuleCondition) -> NginxRule {
        let always = RuleCondition::Is(true);
        self.when = match (scope, self.when) {
            (scope, when) if *scope == always => when,
            (scope, when) if when == always => scope.clone(),
            (scope, when) => RuleCondition::All(vec![scope.clone(), when]),
        };
        self
    }
}

/// Writes the rules in order, except those that never match. What stands behind one that always matches is reported.
pub fn write(
    service: &str,
    rules: Vec<NginxRule>,
    tls: bool,
    document: &mut Document,
    notes: &mut ConversionNotes,
) {
    let mut names = UniqueNames::default();
    let mut written = HashSet::new();
    let mut rules = rules.into_iter();
    for rule in rules.by_ref() {
        let when = rule.when.simplify(tls);
        if when == RuleCondition::Is(false) {
            continue;
        }
        let always = when == RuleCondition::Is(true);
        let mut table =
            TomlTable::one_of(format!("service.{service}.rule"), rule.source, &rule.text);
        if let Some(when) = when.to_when() {
            table.set("when", when, SourcePlace::NONE);
        }
        for KeyValue { key, value } in rule.keys {
            // A refusal that several locations inherit stands in the service once for each.
            let value = match key {
                "name" => value::quote(&names.unique_name(value.trim_matches('"'))),
                _ => value,
            };
            table.set(key, value, SourcePlace::NONE);
        }
        written.insert(rule.source.statement());
        document.push(table);
        if always {
            break;
        }
    }
    for hidden in rules.filter(|rule| !written.contains(&rule.source.statement())) {
        if !notes.ledger.is_settled(hidden.source) {
            notes.changed(hidden.source, &hidden.text, "a rule before it takes everything", "");
        }
    }
}

/// The keys of a rule that forwards to a pool, with the edits of its requests.
pub(super) fn forwarding_keys(pool: &str, fields: &[KeyValue]) -> Vec<KeyValue> {
    let mut keys = vec![KeyValue::new("pool", value::quote(pool))];
    if !fields.is_empty() {
        keys.push(KeyValue::new("rewrite", value::table(fields)));
    }
    keys
}

/// The answer where no server can be named.
pub fn bad_gateway(pass: &Directive) -> NginxRule {
    NginxRule::single_key(RuleCondition::Is(true), "answer", "502", pass.source, &pass.text())
}
