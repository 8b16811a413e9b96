//! Rules of a service before they are written. A rule that the parser would reject refuses instead.

use crate::condition::RuleCondition;
use crate::document::{Document, TomlTable};
use crate::draft_check::{DraftChecker, RouterLayer};
use crate::names::UniqueNames;
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::value::{self, KeyValue};

#[derive(Clone, Debug)]
pub struct RuleDraft {
    /// The name of the router it comes from.
    pub name: String,
    pub when: RuleCondition,
    pub keys: Vec<KeyValue>,
    pub source: SourcePlace,
    pub text: String,
}

/// The rules of a service, in their order.
#[derive(Debug, Default)]
pub struct RuleList {
    rules: Vec<RuleDraft>,
    /// A rule takes whatever comes to it, so that no further one is asked.
    pub is_complete: bool,
}

impl RuleList {
    /// Adds a rule, unless it never fits or none comes to it.
    pub fn push(&mut self, mut rule: RuleDraft, tls: bool) {
        rule.when = rule.when.simplify(tls);
        if self.is_complete || rule.when == RuleCondition::Is(false) {
            return;
        }
        let goes_on = rule.keys.iter().any(|key| key.key == "when-unavailable");
        self.is_complete = rule.when == RuleCondition::Is(true) && !goes_on;
        self.rules.push(rule);
    }

    /// Writes the rules of a service.
    pub fn write(
        self,
        path: &str,
        layer: RouterLayer,
        checker: &mut DraftChecker,
        document: &mut Document,
        notes: &mut ConversionNotes,
    ) {
        let mut names = UniqueNames::default();
        for rule in self.rules {
            let mut keys: Vec<KeyValue> = Vec::new();
            keys.push(KeyValue::new("name", value::quote(&names.unique_name(&rule.name))));
            keys.extend(rule.when.to_when().map(|when| KeyValue::new("when", when)));
            let condition = keys.clone();
            keys.extend(rule.keys);
            if let Some(why) = checker.rejection(layer, &keys) {
                let reason = format!("{why}: the router refuses everybody");
                notes.left_out(rule.source.whole(), &rule.text, &reason, "");
                keys = condition;
                keys.push(KeyValue::new("deny", "true"));
            }
            let mut table = TomlTable::one_of(format!("{path}.rule"), rule.source, &rule.text);
            for KeyValue { key, value } in keys {
                table.set(key, value, SourcePlace::NONE);
            }
            document.push(table);
        }
    }
}
