//! `$request_uri` compared with a text or an expression: the path and the query together, as the client spelled them.
//!
//! Rules look at the path alone, so a condition often holds for more or for fewer requests. An `Unknown` in it says so.

use crate::condition::RuleCondition;

use super::compared_value::{ComparedValue, expression_condition, path_text, unknown};

/// Parts of expressions that a `?` can match.
const CROSSING: [&str; 7] = ["\\?", ".*", ".+", "[^", "\\S", "\\W", "\\D"];
const QUERY: &str = "the query does not count, nor how the path is spelled";

pub fn condition(pattern: &ComparedValue) -> RuleCondition {
    match pattern {
        ComparedValue::Text { text, .. } if !text.starts_with('/') => RuleCondition::Is(false),
        ComparedValue::Text { text, ignore_case } => {
            let (path, query) = text.split_once('?').unwrap_or((text, ""));
            let mut all = vec![path_text(path, *ignore_case)];
            let parameters: Vec<&str> = query.split('&').filter(|one| !one.is_empty()).collect();
            if !parameters.iter().all(|one| is_parameter(one)) {
                return all.remove(0).and(unknown(QUERY));
            }
            all.extend(parameters.iter().map(|one| RuleCondition::texts("query", &[one])));
            all.push(unknown(QUERY));
            RuleCondition::All(all)
        }
        ComparedValue::Search { expression, ignore_case } => search(expression, *ignore_case),
        ComparedValue::HostsBelow(_) | ComparedValue::HostsBegin(_) => RuleCondition::Is(false),
    }
}

fn is_parameter(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_=.".contains(&b)) && text != "="
}

fn search(expression: &str, ignore_case: bool) -> RuleCondition {
    let found = expression_condition("path-regex", "", expression, ignore_case);
    if found.unknown().is_some() {
        return found;
    }
    let begins = expression.starts_with('^') && !expression.contains('|');
    let ends = expression.ends_with('$') && !expression.ends_with("\\$");
    // What can match a `?` reaches into the query.
    let may_cross = |text: &str| CROSSING.iter().any(|one| text.contains(one));
    let crosses = may_cross(expression);
    let open_end = [".*", ".*$", "(.*)", "(.*)$"];
    let stem = open_end.iter().find_map(|end| expression.strip_suffix(end));
    let stem_is_plain = stem.is_some_and(|stem| !may_cross(stem));
    match (begins, ends, crosses) {
        (true, false, false) => found,
        (true, _, true) if stem_is_plain => found,
        (true, true, false) => found.and(unknown(QUERY)),
        (_, _, _) if expression.contains("\\?") => unknown("the query is not searched"),
        _ => RuleCondition::Any(vec![found, unknown(QUERY)]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_say_whether_the_query_could_decide() {
        let searched = |text: &str| {
            condition(&ComparedValue::Search { expression: text.to_owned(), ignore_case: false })
        };
        for (text, wide, narrow) in [
            ("^/a/", "{ path-regex = \"/a/.*\" }", "{ path-regex = \"/a/.*\" }"),
            ("^/a/(.*)$", "{ path-regex = \"/a/(.*)\" }", "{ path-regex = \"/a/(.*)\" }"),
            ("^/a$", "{ path-regex = \"/a\" }", "never"),
            ("\\.php$", "always", "{ path-regex = \".*\\\\.php\" }"),
            ("\\?x", "always", "never"),
        ] {
            let written = |condition: RuleCondition| match condition.simplify(false) {
                RuleCondition::Is(true) => "always".to_owned(),
                RuleCondition::Is(false) => "never".to_owned(),
                other => other.to_when().unwrap_or_default(),
            };
            assert_eq!(written(searched(text).at_least()), wide, "{text}");
            assert_eq!(written(searched(text).at_most()), narrow, "{text}");
        }
    }

    #[test]
    fn a_query_of_a_text_becomes_parameters() {
        let text = condition(&ComparedValue::exact("/a?b=c&d=e")).at_least().simplify(false);
        assert_eq!(
            text.to_when().as_deref(),
            Some("{ path = \"/a\", query = \"b=c\", all = [{ query = \"d=e\" }] }")
        );
    }
}
