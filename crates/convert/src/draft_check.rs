//! Checks conditions and rules against the configuration's parser before they are written.
//!
//! A rule that is rejected later would be removed, and its requests would go to a broader rule.

use std::collections::{HashMap, HashSet};

use model::config::check_text;

use crate::condition::RuleCondition;
use crate::draft_shape;
pub use crate::draft_shape::RouterLayer;
use crate::notes::UnsupportedReason;
use crate::value::{self, KeyValue};

/// Answers of the parser by text, because most hosts and paths occur several times.
#[derive(Clone, Debug, Default)]
pub struct DraftChecker {
    known: HashMap<String, Option<String>>,
    /// The shapes of rules that were accepted.
    accepted: HashSet<String>,
    /// How often the parser was asked.
    checks: usize,
}

/// The most rules that the parser is asked about, a second's worth. Most rules have the shape of one before them.
const CHECKS: usize = 8_000;

impl DraftChecker {
    /// Replaces the parts of a condition that the parser rejects with unknown ones.
    pub fn check_condition(
        &mut self,
        condition: RuleCondition,
        layer: RouterLayer,
    ) -> RuleCondition {
        let mut each = |parts: Vec<RuleCondition>| {
            parts.into_iter().map(|part| self.check_condition(part, layer)).collect()
        };
        match condition {
            RuleCondition::All(parts) => RuleCondition::All(each(parts)),
            RuleCondition::Any(parts) => RuleCondition::Any(each(parts)),
            RuleCondition::Not(inner) => self.check_condition(*inner, layer).negate(),
            RuleCondition::Key(..) | RuleCondition::AnyCase(..) => {
                let when = condition.to_when().unwrap_or_default();
                match self.rejection(layer, &[KeyValue::new("when", when)]) {
                    Some(why) => RuleCondition::Unknown(UnsupportedReason::new(why, "")),
                    None => condition,
                }
            }
            other => other,
        }
    }

    /// Why the parser rejects a rule. `None` if it is accepted.
    pub fn rejection(&mut self, layer: RouterLayer, keys: &[KeyValue]) -> Option<String> {
        let lines: Vec<String> =
            keys.iter().map(|KeyValue { key, value }| format!("{key} = {value}\n")).collect();
        let text = lines.concat();
        let shape = draft_shape::shape_of(layer, keys);
        if shape.as_ref().is_some_and(|shape| self.accepted.contains(shape)) {
            return None;
        }
        let layer_key = format!("{layer:?}{text}");
        if let Some(known) = self.known.get(&layer_key) {
            return known.clone();
        }
        if self.checks >= CHECKS {
            let reason = "the file has more different conditions than one conversion checks";
            return Some(reason.to_owned());
        }
        self.checks += 1;
        let found = reject(layer, keys, &text);
        match (shape, &found) {
            (Some(shape), None) => drop(self.accepted.insert(shape)),
            _ => drop(self.known.insert(layer_key, found.clone())),
        }
        found
    }
}

fn reject(layer: RouterLayer, keys: &[KeyValue], rule: &str) -> Option<String> {
    let forward = if layer == RouterLayer::Http { "http" } else { "tcp" };
    let mut text = format!(
        "[service.x]\nlisten = \"127.0.0.1:80\"\nforward = \"{forward}\"\npool = \"x\"\n[[service.x.rule]]\n{rule}"
    );
    let mut pools = vec!["x".to_owned()];
    for KeyValue { key, value } in keys {
        if matches!(*key, "pool" | "split" | "mirror") {
            pools.extend(pool_names(value));
        }
    }
    pools.sort();
    pools.dedup();
    for pool in pools {
        text.push_str(&format!("[pool.{pool}]\nservers = [{}]\n", value::quote("127.0.0.1:9")));
    }
    let findings = check_text(&text, "draft").err()?;
    let first = findings.errors().next()?;
    let found = first.found.as_ref().map_or(String::new(), |found| format!(" (found {found})"));
    Some(format!("{}{found}", first.message))
}

/// The names in a value: those of pools are its only quoted texts.
fn pool_names(value: &str) -> impl Iterator<Item = String> + '_ {
    value.split('"').skip(1).step_by(2).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_parser_rejects_becomes_unknown() {
        let mut checker = DraftChecker::default();
        for (condition, accepted) in [
            (RuleCondition::texts("host", &["a.example"]), true),
            (RuleCondition::texts("host", &["a b"]), false),
            (RuleCondition::texts("host-regex", &["("]), false),
            (RuleCondition::texts("path", &["/a", "b"]).negate(), false),
            (RuleCondition::Any(vec![RuleCondition::texts("client", &["x"])]), false),
        ] {
            let checked = checker.check_condition(condition.clone(), RouterLayer::Http);
            assert_eq!(checked.unknown().is_none(), accepted, "{condition:?}");
        }
        let split = "[{ pool = \"a\", weight = 1 }, { pool = \"b\", weight = 2 }]";
        assert_eq!(checker.rejection(RouterLayer::Http, &[KeyValue::new("split", split)]), None);
        let redirect = KeyValue::new("redirect", "\"not a place\"");
        assert!(checker.rejection(RouterLayer::Http, &[redirect]).is_some());
    }
}
