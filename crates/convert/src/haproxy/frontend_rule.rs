//! A rule of a frontend, and its form for a listener with or without TLS.

use crate::condition::RuleCondition;
use crate::document::{Document, TomlTable};
use crate::source::SourcePlace;
use crate::value::{self, KeyValue};

use super::final_rule::FinalRule;

#[derive(Clone, Debug)]
/// A rule that does not yet depend on whether its listener uses TLS.
pub struct FrontendRule {
    pub when: RuleCondition,
    pub keys: Vec<KeyValue>,
    pub source: SourcePlace,
    pub text: String,
}

/// The answer to `monitor-uri`, as HAProxy gives it.
pub fn monitor_answer() -> KeyValue {
    let body = "<html><body><h1>200 OK</h1>\nService ready.\n</body></html>\n";
    let pairs = [
        KeyValue::new("status", "200"),
        KeyValue::new("body", value::quote(body)),
        KeyValue::new("type", value::quote("text/html")),
        KeyValue::new("headers", value::quote("Cache-Control: no-cache")),
    ];
    KeyValue::new("answer", value::table(&pairs))
}

impl FrontendRule {
    pub fn from_final_rule(when: RuleCondition, ending: &FinalRule) -> FrontendRule {
        let keys = vec![KeyValue::new(ending.key, ending.value.clone())];
        FrontendRule {
            when: when.and(ending.when.clone()),
            keys,
            source: ending.source,
            text: ending.text.clone(),
        }
    }
}

/// Writes the rules whose condition can hold on a listener with or without TLS.
pub fn write(name: &str, rules: &[FrontendRule], tls: bool, document: &mut Document) {
    for rule in rules {
        let when = rule.when.clone().simplify(tls);
        if when == RuleCondition::Is(false) {
            continue;
        }
        let mut table = TomlTable::one_of(format!("service.{name}.rule"), rule.source, &rule.text);
        if let Some(when) = when.to_when() {
            table.set("when", when, SourcePlace::NONE);
        }
        for KeyValue { key, value } in &rule.keys {
            table.set(key, value.clone(), SourcePlace::NONE);
        }
        document.push(table);
    }
}
