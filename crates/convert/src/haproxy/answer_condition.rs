//! A condition of a rule about answers, in the form of an edit: what holds of the request, and what of the answer.

use crate::condition::RuleCondition;
use crate::value::{self, KeyValue};

use super::answer_criterion::{ANSWER_STATUS, other_statuses};
use super::field_reads::ANSWER_FIELD;

/// The conditions of one edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerCondition {
    /// What holds of the connection.
    pub when: RuleCondition,
    /// The value of `when-response`.
    pub response: Option<String>,
}

/// The parts of `when-response`.
#[derive(Default)]
struct ResponseParts {
    statuses: Option<Vec<String>>,
    fields: Option<Vec<String>>,
    without: Vec<String>,
    ignores_case: bool,
}

/// The edits that have a simplified condition together; empty: it cannot be written.
pub fn alternatives(condition: &RuleCondition) -> Vec<AnswerCondition> {
    let each: Option<Vec<AnswerCondition>> = match condition {
        RuleCondition::Any(parts) => match joined_values(parts) {
            Some(joined) => one_condition(&joined).map(|one| vec![one]),
            None => parts.iter().map(one_condition).collect(),
        },
        other => one_condition(other).map(|one| vec![one]),
    };
    each.unwrap_or_default()
}

/// Alternatives that are values of one key.
fn joined_values(parts: &[RuleCondition]) -> Option<RuleCondition> {
    let mut all = Vec::new();
    let mut common = "";
    for part in parts {
        let RuleCondition::Key(key, values) = part else { return None };
        if !all.is_empty() && *key != common {
            return None;
        }
        common = key;
        all.extend(values.iter().cloned());
    }
    let key = [ANSWER_STATUS, ANSWER_FIELD].into_iter().find(|key| *key == common)?;
    Some(RuleCondition::Key(key, all))
}

fn one_condition(condition: &RuleCondition) -> Option<AnswerCondition> {
    let parts = match condition {
        RuleCondition::All(parts) => parts.as_slice(),
        one => std::slice::from_ref(one),
    };
    let mut response = ResponseParts::default();
    let mut rest = Vec::new();
    for part in parts {
        match part {
            RuleCondition::Not(inner) => match &**inner {
                RuleCondition::Key(ANSWER_STATUS, values) => {
                    let RuleCondition::Key(_, others) = other_statuses(values) else { return None };
                    response.add_statuses(&others)?;
                }
                RuleCondition::Key(ANSWER_FIELD, values) => response.without.extend(values.clone()),
                inner if is_of_answer(inner) => return None,
                _ => rest.push(part.clone()),
            },
            RuleCondition::Key(ANSWER_STATUS, values) => response.add_statuses(values)?,
            RuleCondition::Key(ANSWER_FIELD, values) => response.add_fields(values)?,
            RuleCondition::AnyCase(ANSWER_FIELD, values) => {
                response.add_fields(values)?;
                response.ignores_case = true;
            }
            part if is_of_answer(part) => return None,
            _ => rest.push(part.clone()),
        }
    }
    // Letter case counts for all fields of a condition or for none.
    let is_mixed = response.ignores_case && !response.without.is_empty();
    let when = RuleCondition::All(rest).simplify(false);
    (!is_mixed).then(|| AnswerCondition { when, response: response.to_toml() })
}

fn is_of_answer(condition: &RuleCondition) -> bool {
    match condition {
        RuleCondition::Key(key, _) | RuleCondition::AnyCase(key, _) => {
            [ANSWER_STATUS, ANSWER_FIELD].contains(key)
        }
        RuleCondition::Not(inner) => is_of_answer(inner),
        RuleCondition::All(parts) | RuleCondition::Any(parts) => parts.iter().any(is_of_answer),
        RuleCondition::Is(_) | RuleCondition::Tls | RuleCondition::Unknown(_) => false,
    }
}

impl ResponseParts {
    fn add_statuses(&mut self, values: &[String]) -> Option<()> {
        self.statuses.replace(values.to_vec()).is_none().then_some(())
    }

    fn add_fields(&mut self, values: &[String]) -> Option<()> {
        self.fields.replace(values.to_vec()).is_none().then_some(())
    }

    fn to_toml(&self) -> Option<String> {
        let mut pairs = Vec::new();
        if let Some(statuses) = &self.statuses {
            pairs.push(KeyValue::new("statuses", value::list(statuses.iter().cloned())));
        }
        if let Some(fields) = &self.fields {
            pairs.push(KeyValue::new("header", value::list(fields.iter().cloned())));
        }
        if !self.without.is_empty() {
            pairs.push(KeyValue::new("without", value::list(self.without.iter().cloned())));
        }
        if self.ignores_case {
            pairs.push(KeyValue::new("value-case", value::quote("ignore")));
        }
        (!pairs.is_empty()).then(|| value::table(&pairs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(key: &'static str, text: &str) -> RuleCondition {
        RuleCondition::texts(key, &[text])
    }

    #[test]
    fn conditions_are_parted_into_request_and_answer() {
        let status = key(ANSWER_STATUS, "500-599");
        let field = key(ANSWER_FIELD, "X-A");
        let client = key("client", "10.0.0.1");
        for (condition, expected) in [
            (status.clone(), vec!["{ statuses = [\"500-599\"] }"]),
            (status.clone().and(client.clone()), vec!["{ statuses = [\"500-599\"] }"]),
            (field.clone().negate(), vec!["{ without = [\"X-A\"] }"]),
            (status.clone().negate(), vec!["{ statuses = [\"100-499\"] }"]),
            (
                RuleCondition::Any(vec![status.clone(), field.clone()]),
                vec!["{ statuses = [\"500-599\"] }", "{ header = [\"X-A\"] }"],
            ),
            (
                RuleCondition::Any(vec![field.clone(), key(ANSWER_FIELD, "X-B")]),
                vec!["{ header = [\"X-A\", \"X-B\"] }"],
            ),
            (field.clone().and(key(ANSWER_FIELD, "X-B")), vec![]),
            (status.and(field.and(client)).negate(), vec![]),
        ] {
            let found = alternatives(&condition);
            let written: Vec<&str> =
                found.iter().filter_map(|one| one.response.as_deref()).collect();
            assert_eq!(written, expected, "{condition:?}");
        }
    }
}
