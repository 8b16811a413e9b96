//! A rule of a service, before it is written.

use crate::condition::RuleCondition;
use crate::document::Document;
use crate::rule_table;
use crate::source::SourcePlace;
use crate::value::KeyValue;

#[derive(Clone, Debug)]
pub struct EnvoyRule {
    pub when: RuleCondition,
    /// The rule's actions, as keys and TOML values.
    pub keys: Vec<KeyValue>,
    pub source: SourcePlace,
    pub text: String,
}

impl EnvoyRule {
    /// A rule that refuses with a status, or resets the connection with `None`.
    pub fn refusal(
        when: RuleCondition,
        status: Option<u16>,
        source: SourcePlace,
        text: &str,
    ) -> EnvoyRule {
        let key = match status {
            Some(status) if status != 403 => KeyValue::new("answer", status.to_string()),
            _ => KeyValue::new("deny", "true"),
        };
        EnvoyRule { when: when.at_least(), keys: vec![key], source, text: text.to_owned() }
    }

    /// Adds a further condition, which is checked first.
    pub fn with_condition(mut self, scope: &RuleCondition) -> EnvoyRule {
        self.when = RuleCondition::All(vec![scope.clone(), self.when]);
        self
    }

    /// The pool of a rule that does nothing else than send there.
    pub fn plain_pool(&self) -> Option<&str> {
        match &self.keys[..] {
            [only] if only.key == "pool" => Some(&only.value),
            _ => None,
        }
    }
}

/// Whether the last rule takes everything that comes to it.
pub fn is_closed_by_last(rules: &[EnvoyRule], tls: bool) -> bool {
    rules.last().is_some_and(|rule| rule.when.clone().simplify(tls) == RuleCondition::Is(true))
}

/// Writes the rules in order, except those that never match. Rules behind one that takes everything are dropped.
pub fn write(service: &str, rules: Vec<EnvoyRule>, tls: bool, document: &mut Document) {
    for rule in rules {
        let when = rule.when.simplify(tls);
        if when == RuleCondition::Is(false) {
            continue;
        }
        let mut table = rule_table::begin(service, &when, rule.source, &rule.text);
        for KeyValue { key, value } in rule.keys {
            table.set(key, value, SourcePlace::NONE);
        }
        document.push(table);
        if when == RuleCondition::Is(true) {
            return;
        }
    }
}
