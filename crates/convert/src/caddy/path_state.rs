//! What became of a request's path before a matcher looks at it, and path patterns in terms of the path that came.

use crate::condition::{RuleCondition, escape_regex};
use crate::notes::UnsupportedReason;

/// The path that matchers see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathState {
    /// The path as it came from the client.
    Original,
    /// Without this beginning, where it had it.
    Stripped(String),
    /// This path, whatever came.
    Fixed(String),
    /// Another one, which is not known here.
    Changed,
}

/// A pattern of a path, for the path that came.
fn original_pattern(pattern: &str) -> RuleCondition {
    let pattern = pattern.replace("**", "*");
    if pattern == "*" || pattern == "/*" {
        return RuleCondition::Is(true);
    }
    let bare = pattern.strip_suffix('*').unwrap_or(&pattern);
    if bare.contains('%') || bare.contains(['[', '{']) {
        let reason = format!("the pattern `{pattern}` cannot be written");
        return RuleCondition::Unknown(UnsupportedReason::new(reason, "`path-regex`"));
    }
    if bare.starts_with('/') && !bare.contains(['*', '?', '\\']) {
        return RuleCondition::texts("path", &[pattern]);
    }
    // `*` at both ends, or at the beginning, goes over slashes; elsewhere it does not.
    let inner = pattern.trim_matches('*');
    let ends_only = !inner.contains('*');
    let mut regex = String::new();
    for (at, c) in pattern.char_indices() {
        match c {
            '*' if ends_only && (at == 0 || at + 1 == pattern.len()) => regex.push_str(".*"),
            '*' => regex.push_str("[^/]*"),
            '?' => regex.push_str("[^/]"),
            c => regex.push_str(&escape_regex(&c.to_string())),
        }
    }
    RuleCondition::texts("path-regex", &[regex])
}

/// Whether a path fits a pattern without regard to letter case. `None` if that is not known here.
fn fits(path: &str, pattern: &str) -> Option<bool> {
    let path = path.to_ascii_lowercase();
    let pattern = pattern.to_ascii_lowercase();
    let inner = pattern.trim_matches('*');
    if inner.contains(['*', '?', '[', '\\', '%', '{']) || path.contains('{') {
        return None;
    }
    Some(match (pattern.starts_with('*'), pattern.ends_with('*')) {
        (true, true) => path.contains(inner),
        (true, false) => path.ends_with(inner),
        (false, true) => path.starts_with(inner),
        (false, false) => path == inner,
    })
}

/// The condition that the path, as it is at this point, fits one of the patterns.
pub fn path_condition(patterns: &[String], state: &PathState) -> RuleCondition {
    RuleCondition::Any(patterns.iter().map(|pattern| one_pattern(pattern, state)).collect())
}

fn unknown_path() -> RuleCondition {
    let reason = "the path was changed before, and rules look at the path that came";
    RuleCondition::Unknown(UnsupportedReason::new(reason, "a rule on the path that clients send"))
}

fn one_pattern(pattern: &str, state: &PathState) -> RuleCondition {
    match state {
        PathState::Original => original_pattern(pattern),
        PathState::Fixed(path) => fits(path, pattern).map_or_else(unknown_path, RuleCondition::Is),
        PathState::Changed => unknown_path(),
        PathState::Stripped(_) if pattern == "*" || pattern == "/*" => RuleCondition::Is(true),
        PathState::Stripped(prefix) if pattern.starts_with('/') => {
            let stripped = original_pattern(&format!("{prefix}{pattern}"));
            let begins = original_pattern(&format!("{prefix}*"));
            let other = original_pattern(pattern).and(begins.negate());
            RuleCondition::Any(vec![stripped, other])
        }
        PathState::Stripped(_) => unknown_path(),
    }
}

/// The condition that the path fits a regular expression somewhere.
pub fn regex_condition(expression: &str, state: &PathState) -> RuleCondition {
    match state {
        PathState::Original => {
            // Letter case counts in expressions, and does not in other patterns of paths.
            let whole = crate::condition::whole_path(expression, false);
            RuleCondition::texts("path-regex", &[format!("(?-i:{whole})")])
        }
        _ => unknown_path(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(pattern: &str, state: &PathState) -> String {
        let when = path_condition(&[pattern.to_owned()], state).simplify(false);
        match when {
            RuleCondition::Is(is) => is.to_string(),
            RuleCondition::Unknown(_) => "unknown".to_owned(),
            other => other.to_when().unwrap_or_default(),
        }
    }

    #[test]
    fn patterns_are_written_for_the_path_that_came() {
        let api = PathState::Stripped("/api".to_owned());
        let index = PathState::Fixed("/index.php".to_owned());
        for (pattern, state, expected) in [
            ("/a", &PathState::Original, "{ path = \"/a\" }"),
            ("/a/*", &PathState::Original, "{ path = \"/a/*\" }"),
            ("*.php", &PathState::Original, "{ path-regex = \".*\\\\.php\" }"),
            ("*/x/*", &PathState::Original, "{ path-regex = \".*/x/.*\" }"),
            ("/a/*/b", &PathState::Original, "{ path-regex = \"/a/[^/]*/b\" }"),
            ("*", &PathState::Original, "true"),
            (
                "/a",
                &api,
                "{ any = [{ path = \"/api/a\" }, { path = \"/a\", not = { path = \"/api*\" } }] }",
            ),
            ("*.php", &index, "true"),
            ("/x*", &index, "false"),
            ("/x", &PathState::Changed, "unknown"),
        ] {
            assert_eq!(written(pattern, state), expected, "{pattern} {state:?}");
        }
    }
}
