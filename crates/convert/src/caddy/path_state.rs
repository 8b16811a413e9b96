//! What became of a request's path before a matcher looks at it, and path patterns in terms of the path that came.

use crate::condition::{RuleCondition, escape_regex};
use crate::notes::UnsupportedReason;
use crate::path_expression::path_expression;

/// The path that matchers see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathState {
    /// The path as it came from the client.
    Original,
    /// Without this beginning, which it had.
    Stripped(String),
    /// This path, whatever came. Empty: nothing was left of it.
    Fixed(String),
    /// Another one, which is not known here.
    Changed,
}

/// The form of a pattern.
enum PatternForm<'p> {
    Exact,
    /// `*` at the end alone.
    Prefix(&'p str),
    /// `*` at the beginning alone.
    Suffix(&'p str),
    /// `*` at both ends alone.
    Part(&'p str),
    /// `*` and `?` stand for characters of one segment.
    Glob,
}

fn form(pattern: &str) -> PatternForm<'_> {
    let stars = pattern.matches('*').count();
    match (stars, pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (0, _, _) if !pattern.contains(['?', '\\']) => PatternForm::Exact,
        (1, _, Some(start)) => PatternForm::Prefix(start),
        (1, Some(end), _) => PatternForm::Suffix(end),
        (2, Some(rest), Some(_)) => PatternForm::Part(rest.trim_end_matches('*')),
        _ => PatternForm::Glob,
    }
}

/// An expression of whole paths. `None`: the pattern cannot be written.
fn expression(pattern: &str) -> Option<String> {
    if pattern.contains(['%', '[', '{']) || pattern.contains("//") {
        return None;
    }
    Some(match form(pattern) {
        PatternForm::Exact => escape_regex(pattern),
        PatternForm::Prefix(text) => format!("{}.*", escape_regex(text)),
        PatternForm::Suffix(text) => format!(".*{}", escape_regex(text)),
        PatternForm::Part(text) => format!(".*{}.*", escape_regex(text)),
        PatternForm::Glob if pattern.contains('\\') => return None,
        PatternForm::Glob => {
            let one = |c: char| match c {
                '*' => "[^/]*".to_owned(),
                '?' => "[^/]".to_owned(),
                c => escape_regex(&c.to_string()),
            };
            pattern.chars().map(one).collect()
        }
    })
}

/// A pattern of what is behind `prefix` in a path, for the path that came.
fn original_pattern(prefix: &str, pattern: &str) -> RuleCondition {
    let Some(expression) = expression(pattern) else {
        let reason = format!("the pattern `{pattern}` cannot be written");
        return RuleCondition::Unknown(UnsupportedReason::new(reason, "`path-regex`"));
    };
    match form(pattern) {
        PatternForm::Exact | PatternForm::Prefix(_)
            if pattern.starts_with('/') && !pattern.contains(['?', '\\']) =>
        {
            RuleCondition::texts("path", &[format!("{prefix}{pattern}")])
        }
        _ => RuleCondition::texts("path-regex", &[format!("{}{expression}", escape_regex(prefix))]),
    }
}

/// Whether a path fits a pattern without regard to letter case. `None` if that is not known here.
fn fits(path: &str, pattern: &str) -> Option<bool> {
    let path = path.to_ascii_lowercase();
    let pattern = pattern.to_ascii_lowercase();
    if path.contains(['{', '%', '\\']) || path.contains("//") || path.contains("/.") {
        return None;
    }
    expression(&pattern)?;
    Some(match form(&pattern) {
        _ if path.is_empty() => return pattern.starts_with('/').then_some(false),
        PatternForm::Exact => path == pattern,
        PatternForm::Prefix(text) => path.starts_with(text),
        PatternForm::Suffix(text) => path.ends_with(text),
        PatternForm::Part(text) => path.contains(text),
        PatternForm::Glob => return None,
    })
}

/// The condition that the path, as it is at this point, fits one of the patterns.
pub fn path_condition(patterns: &[String], state: &PathState) -> RuleCondition {
    RuleCondition::Any(patterns.iter().map(|pattern| one_pattern(pattern, state)).collect())
}

/// The condition that the path, as it is at this point, is below a prefix, or is the prefix.
pub fn below(prefix: &str, state: &PathState) -> RuleCondition {
    let each = [prefix.to_owned(), format!("{prefix}/*")].map(|one| one_pattern(&one, state));
    match each {
        [RuleCondition::Key("path", mut own), RuleCondition::Key("path", below)] => {
            own.extend(below);
            RuleCondition::Key("path", own)
        }
        each => RuleCondition::Any(each.to_vec()),
    }
}

fn unknown_path() -> RuleCondition {
    let reason = "the path was changed before, and rules look at the path that came";
    RuleCondition::Unknown(UnsupportedReason::new(reason, "a rule on the path that clients send"))
}

fn one_pattern(pattern: &str, state: &PathState) -> RuleCondition {
    match state {
        _ if pattern == "*" => RuleCondition::Is(true),
        PathState::Original if pattern == "/*" => RuleCondition::Is(true),
        PathState::Original => original_pattern("", pattern),
        PathState::Fixed(path) => fits(path, pattern).map_or_else(unknown_path, RuleCondition::Is),
        PathState::Changed => unknown_path(),
        PathState::Stripped(prefix) => original_pattern(prefix, pattern),
    }
}

/// The condition that the path fits a regular expression somewhere.
pub fn regex_condition(expression: &str, state: &PathState) -> RuleCondition {
    match state {
        PathState::Original => {
            // Letter case counts in expressions, and does not in other patterns of paths.
            let whole = path_expression(expression, false);
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
        let nothing = PathState::Fixed(String::new());
        for (pattern, state, expected) in [
            ("/a", &PathState::Original, "{ path = \"/a\" }"),
            ("/a/*", &PathState::Original, "{ path = \"/a/*\" }"),
            ("*.php", &PathState::Original, "{ path-regex = \".*\\\\.php\" }"),
            ("*/x/*", &PathState::Original, "{ path-regex = \".*/x/.*\" }"),
            ("/a/*/b", &PathState::Original, "{ path-regex = \"/a/[^/]*/b\" }"),
            // Two stars are no more than one, and neither goes over a slash.
            ("/a/**", &PathState::Original, "{ path-regex = \"/a/[^/]*[^/]*\" }"),
            ("/a?b", &PathState::Original, "{ path-regex = \"/a[^/]b\" }"),
            // Beside one star at an end other characters stand for themselves.
            ("/a?b*", &PathState::Original, "{ path-regex = \"/a\\\\?b.*\" }"),
            ("/a//b", &PathState::Original, "unknown"),
            ("*", &PathState::Original, "true"),
            ("/*", &PathState::Original, "true"),
            ("/a", &api, "{ path = \"/api/a\" }"),
            ("/*", &api, "{ path = \"/api/*\" }"),
            ("*", &api, "true"),
            ("*.php", &api, "{ path-regex = \"/api.*\\\\.php\" }"),
            ("*.php", &index, "true"),
            ("/x*", &index, "false"),
            ("/*", &nothing, "false"),
            ("*x", &nothing, "unknown"),
            ("*", &nothing, "true"),
            ("/x", &PathState::Changed, "unknown"),
        ] {
            assert_eq!(written(pattern, state), expected, "{pattern} {state:?}");
        }
    }
}
