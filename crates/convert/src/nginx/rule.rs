//! A rule on its way into a service.

use crate::condition::RuleCondition;
use crate::document::{Document, TomlTable};

#[derive(Clone, Debug)]
pub struct NginxRule {
    pub when: RuleCondition,
    /// The rule's actions, as keys and TOML values.
    pub keys: Vec<(&'static str, String)>,
    pub line: u32,
    pub text: String,
}

impl NginxRule {
    /// One with one key.
    pub fn single_key(
        when: RuleCondition,
        key: &'static str,
        value: impl Into<String>,
        (line, text): (u32, &str),
    ) -> NginxRule {
        NginxRule { when, keys: vec![(key, value.into())], line, text: text.to_owned() }
    }

    /// Adds a further condition, which is checked first.
    pub fn with_condition(mut self, scope: &RuleCondition) -> NginxRule {
        self.when = RuleCondition::All(vec![scope.clone(), self.when]);
        self
    }
}

/// Writes the rules in order, except those that never match.
pub fn write(service: &str, rules: Vec<NginxRule>, tls: bool, document: &mut Document) {
    for rule in rules {
        let when = rule.when.simplify(tls);
        if when == RuleCondition::Is(false) {
            continue;
        }
        let always = when == RuleCondition::Is(true);
        let mut table = TomlTable::one_of(format!("service.{service}.rule"), rule.line, &rule.text);
        if let Some(when) = when.to_when() {
            table.set("when", when, 0);
        }
        for (key, value) in rule.keys {
            table.set(key, value, 0);
        }
        document.push(table);
        if always {
            return;
        }
    }
}
