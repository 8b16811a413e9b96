//! `$request_uri` compared with a text or an expression: the path and the query together, as the client spelled them.
//!
//! Rules look at the path alone, so a condition often holds for more or for fewer requests. An `Unknown` in it says so.

use crate::condition::{RuleCondition, escape_regex};

use super::compared_value::{ComparedValue, expression_condition, path_text, unknown};
use super::constant::percent_encode;

/// Parts of expressions that a `?` can match.
const CROSSING: [&str; 7] = ["\\?", ".*", ".+", "[^", "\\S", "\\W", "\\D"];
const QUERY: &str = "the query does not count, nor how the path is spelled";

pub fn condition(pattern: &ComparedValue) -> RuleCondition {
    match pattern {
        ComparedValue::Text { text, .. } if !text.starts_with('/') => RuleCondition::Is(false),
        ComparedValue::Text { text, ignore_case } => {
            let (path, query) = text.split_once('?').unwrap_or((text, ""));
            let mut all = vec![spelled_path(path, *ignore_case)];
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

/// A path as the client spelled it. What it encodes without need is decoded where rules compare.
fn spelled_path(path: &str, ignore_case: bool) -> RuleCondition {
    if !path.contains('%') {
        return path_text(path, ignore_case);
    }
    RuleCondition::texts("path", &[percent_encode(path)]).and(unknown(QUERY))
}

fn is_parameter(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_=.".contains(&b)) && text != "="
}

/// The expression with each encoded character as rules see it, too: what needs no encoding is decoded there.
fn decoded_too(expression: &str) -> String {
    let mut parts = expression.split('%');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.get(..2).filter(|two| two.bytes().all(|b| b.is_ascii_hexdigit()));
        let byte = digits.and_then(|two| u8::from_str_radix(two, 16).ok());
        let rest = digits.and_then(|two| part.strip_prefix(two)).unwrap_or(part);
        match byte {
            Some(byte) if byte.is_ascii_graphic() && !b"%?#".contains(&byte) => {
                let plain = escape_regex(&char::from(byte).to_string());
                out.push_str(&format!("(?:%{byte:02X}|{plain}){rest}"));
            }
            Some(byte) => out.push_str(&format!("%{byte:02X}{rest}")),
            None => out.push_str(&format!("%{rest}")),
        }
    }
    out
}

fn search(expression: &str, ignore_case: bool) -> RuleCondition {
    let both = decoded_too(expression);
    let found = expression_condition("path-regex", "", &both, ignore_case);
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
            (
                "^/a%3c%0a",
                "{ path-regex = \".*(?:^/a(?:%3C|<)%0A).*\" }",
                "{ path-regex = \".*(?:^/a(?:%3C|<)%0A).*\" }",
            ),
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
