//! Conditions on fields of requests that change before they are looked at.

use crate::condition::RuleCondition;
use crate::notes::UnsupportedReason;

/// The condition with each part unknown that looks at a hidden field. `is_hidden` is asked with names in small letters.
pub fn hide_fields(
    when: RuleCondition,
    is_hidden: &dyn Fn(&str) -> bool,
    reason: &str,
) -> RuleCondition {
    let each = |parts: Vec<RuleCondition>| {
        parts.into_iter().map(|part| hide_fields(part, is_hidden, reason)).collect()
    };
    let looks = |values: &[String]| {
        values.iter().any(|value| {
            let text = value.trim_start_matches(['"', '\'']).to_ascii_lowercase();
            is_hidden(text.split([':', '"', '\'']).next().unwrap_or_default())
        })
    };
    match when {
        RuleCondition::Key(key, values) | RuleCondition::AnyCase(key, values)
            if key.starts_with("header") && looks(&values) =>
        {
            RuleCondition::Unknown(UnsupportedReason::new(reason, "`edit` of the service"))
        }
        RuleCondition::All(parts) => RuleCondition::All(each(parts)),
        RuleCondition::Any(parts) => RuleCondition::Any(each(parts)),
        RuleCondition::Not(inner) => hide_fields(*inner, is_hidden, reason).negate(),
        other => other,
    }
}
