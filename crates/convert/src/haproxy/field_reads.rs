//! The header fields that conditions and values look at.

use std::collections::BTreeSet;

use crate::condition::RuleCondition;

/// A field's name as servers may compare it: in small letters, with `-` for every other sign.
pub fn field_key(name: &str) -> String {
    let sign = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    name.chars().map(sign).collect()
}

/// Adds the fields that a condition looks at.
pub fn add_condition_fields(condition: &RuleCondition, fields: &mut BTreeSet<String>) {
    match condition {
        RuleCondition::Key(key, values) | RuleCondition::AnyCase(key, values) => {
            fields.extend(key_fields(key, values));
        }
        RuleCondition::Not(inner) => add_condition_fields(inner, fields),
        RuleCondition::All(parts) | RuleCondition::Any(parts) => {
            parts.iter().for_each(|part| add_condition_fields(part, fields));
        }
        RuleCondition::Is(_) | RuleCondition::Tls | RuleCondition::Unknown(_) => {}
    }
}

/// Whether a part of a condition looks at one of these fields.
pub fn looks_at(part: &RuleCondition, fields: &BTreeSet<String>) -> bool {
    let mut own = BTreeSet::new();
    add_condition_fields(part, &mut own);
    !own.is_disjoint(fields)
}

fn key_fields(key: &str, values: &[String]) -> Vec<String> {
    match key {
        "host" | "host-part" | "host-regex" => vec!["host".to_owned()],
        "cookie" => vec!["cookie".to_owned()],
        "header" | "header-list" | "header-regex" | ANSWER_FIELD => {
            let name = |value: &String| {
                field_key(value.trim_matches('"').split(':').next().unwrap_or_default())
            };
            values.iter().map(name).collect()
        }
        _ => Vec::new(),
    }
}

/// The key of a condition on a field of the answer. It stands in no `when`.
pub const ANSWER_FIELD: &str = "answer-field";

/// The fields of the request that stand in a value.
pub fn template_fields(value: &str) -> BTreeSet<String> {
    let mut fields = BTreeSet::new();
    for part in value.replace("{{", "").split('{').skip(1) {
        match part.split('}').next().unwrap_or_default() {
            "host" | "host-name" => fields.insert("host".to_owned()),
            "client-chain" => fields.insert("x-forwarded-for".to_owned()),
            name => name.strip_prefix("header.").is_some_and(|name| fields.insert(field_key(name))),
        };
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_conditions_and_values_are_found() {
        let header = RuleCondition::texts("header-regex", &["X-A: (?i)b:c"]);
        let all = RuleCondition::All(vec![
            RuleCondition::Any(vec![header, RuleCondition::texts("host-part", &["a"])]).negate(),
            RuleCondition::AnyCase("header", vec!["\"x_b\"".to_owned()]),
            RuleCondition::texts("path", &["/x"]),
        ]);
        let mut fields = BTreeSet::new();
        add_condition_fields(&all, &mut fields);
        assert_eq!(fields.into_iter().collect::<Vec<_>>(), ["host", "x-a", "x-b"]);
        let names = |value: &str| template_fields(value).into_iter().collect::<Vec<_>>();
        assert_eq!(names("a {header.x-c}{{header.x-d} {host} {client}"), ["host", "x-c"]);
    }
}
