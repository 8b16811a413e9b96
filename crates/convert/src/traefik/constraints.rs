//! `constraints` of the container providers: which containers are read at all.

use super::label_line::LabelLine;
use super::option_tree::OptionNode;
use super::rule_syntax::{RuleExpression, parse_rule};

/// Whether the constraints of the providers let a container with these labels in. `None`: that is not known here.
pub fn admit(options: &OptionNode, labels: &[LabelLine]) -> Option<bool> {
    let texts = ["docker", "swarm"].map(|provider| {
        let node = options.find(&["providers", provider, "constraints"]);
        node.map(|node| node.as_text().unwrap_or("?"))
    });
    let mut all = true;
    for text in texts.into_iter().flatten().filter(|text| !text.trim().is_empty()) {
        // The language of constraints is that of rules, with other functions.
        let expression = parse_rule(text).ok()?;
        all &= holds(&expression, labels)?;
    }
    Some(all)
}

fn holds(expression: &RuleExpression, labels: &[LabelLine]) -> Option<bool> {
    match expression {
        RuleExpression::Not(inner) => holds(inner, labels).map(|holds| !holds),
        RuleExpression::All(parts) => {
            parts.iter().map(|part| holds(part, labels)).collect::<Option<Vec<bool>>>().map(all)
        }
        RuleExpression::Any(parts) => {
            let each: Option<Vec<bool>> = parts.iter().map(|part| holds(part, labels)).collect();
            each.map(|each| each.contains(&true))
        }
        RuleExpression::Match(call) => match (call.name.as_str(), &call.arguments[..]) {
            ("label", [name, value]) => {
                let found = labels.iter().rfind(|label| label.name == *name);
                // A label that is not there is empty.
                Some(found.map_or("", |label| label.value.as_str()) == value)
            }
            _ => None,
        },
    }
}

fn all(each: Vec<bool>) -> bool {
    !each.contains(&false)
}
