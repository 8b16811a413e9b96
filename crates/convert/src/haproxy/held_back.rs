//! Which rules about answers replace errors alone: without them, clients see no content that was held back.

use crate::condition::RuleCondition;

use super::answer_criterion::ANSWER_STATUS;

/// Whether a condition holds for answers with error statuses alone.
pub fn is_of_errors(condition: &RuleCondition) -> bool {
    match condition {
        RuleCondition::Key(ANSWER_STATUS, ranges) => {
            ranges.iter().all(|range| range.trim_matches('"') >= "400")
        }
        RuleCondition::All(parts) => parts.iter().any(is_of_errors),
        RuleCondition::Any(parts) => !parts.is_empty() && parts.iter().all(is_of_errors),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_told_from_content() {
        let status = |ranges: &[&str]| RuleCondition::texts(ANSWER_STATUS, ranges);
        let path = RuleCondition::texts("path", &["/a"]);
        for (condition, expected) in [
            (status(&["403", "500-599"]), true),
            (status(&["200", "404"]), false),
            (status(&["404"]).and(path.clone()), true),
            (RuleCondition::Any(vec![status(&["404"]), path.clone()]), false),
            (status(&["404"]).negate(), false),
            (path, false),
        ] {
            assert_eq!(is_of_errors(&condition), expected, "{condition:?}");
        }
    }
}
