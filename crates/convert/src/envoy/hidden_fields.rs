//! Fields that rules cannot see as Envoy judges them, since Envoy or one of its filters writes them before.

use std::collections::BTreeSet;

use crate::condition::RuleCondition;
use crate::structured::node::{ConfigNode, NodeValue};

use super::strings::unsupported;

/// Names of such fields, in small letters.
#[derive(Clone, Debug, Default)]
pub struct HiddenFields {
    names: BTreeSet<String>,
}

impl HiddenFields {
    pub fn add(&mut self, name: &str) {
        self.names.insert(name.to_ascii_lowercase());
    }

    pub fn extend(&mut self, names: impl IntoIterator<Item = String>) {
        self.names.extend(names);
    }

    /// The condition, in which each test of such a field counts as one that cannot be written.
    pub fn hide(&self, condition: RuleCondition) -> RuleCondition {
        let each = |parts: Vec<RuleCondition>| parts.into_iter().map(|part| self.hide(part));
        match condition {
            RuleCondition::Key(key, values) | RuleCondition::AnyCase(key, values)
                if key.starts_with("header") && values.iter().any(|value| self.has(value)) =>
            {
                let field = values.first().map(|value| name_of(value)).unwrap_or_default();
                let what = format!("`{field}`, which is written before it is judged,");
                RuleCondition::Unknown(unsupported(&what))
            }
            RuleCondition::Not(inner) => self.hide(*inner).negate(),
            RuleCondition::All(parts) => RuleCondition::All(each(parts).collect()),
            RuleCondition::Any(parts) => RuleCondition::Any(each(parts).collect()),
            other => other,
        }
    }

    fn has(&self, value: &str) -> bool {
        self.names.contains(name_of(value))
    }
}

/// The name in a quoted "name: value".
fn name_of(value: &str) -> &str {
    value.trim_matches(['"', '\'']).split(':').next().unwrap_or_default()
}

/// Names of fields of requests that mutations anywhere in a route configuration change. Settles nothing.
pub fn mutated_names(config: &ConfigNode) -> Vec<String> {
    let mut names = Vec::new();
    let mut waiting = vec![MutationPlace { node: config, within: false }];
    while let Some(MutationPlace { node, within }) = waiting.pop() {
        let inner = match node.value() {
            NodeValue::Map(inner) | NodeValue::List(inner) => inner,
            NodeValue::Scalar(scalar) if within && matches!(node.key(), "key" | "remove") => {
                names.push(scalar.text.to_ascii_lowercase());
                continue;
            }
            NodeValue::Null | NodeValue::Scalar(_) => continue,
        };
        let within = within || node.key() == "request_mutations";
        waiting.extend(inner.iter().map(|node| MutationPlace { node, within }));
    }
    names
}

/// A node, and whether it stands within mutations of requests.
struct MutationPlace<'t> {
    node: &'t ConfigNode,
    within: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_of_hidden_fields_are_unknown_and_others_stay() {
        let mut hidden = HiddenFields::default();
        hidden.add("X-Role");
        let plain = RuleCondition::texts("header", &["x-other: a"]);
        assert_eq!(hidden.hide(plain.clone()), plain);
        for key in ["header", "header-regex"] {
            let judged = RuleCondition::texts(key, &["x-role: a"]);
            let whole = RuleCondition::All(vec![plain.clone(), judged.negate()]);
            assert!(hidden.hide(whole).unknown().is_some(), "{key}");
        }
    }
}
