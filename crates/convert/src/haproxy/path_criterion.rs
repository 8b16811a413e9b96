//! Criteria of HAProxy about the path of a request.

use crate::condition::{RuleCondition, escape_regex, whole_path};
use crate::notes::UnsupportedReason;

use super::criterion_parts::{CriterionParts, MatchMethod};

/// Whether a test of the whole target says the same of its path: its values begin a target and stop
/// before a query.
pub fn compares_paths(parts: &CriterionParts<'_>) -> bool {
    parts.how == MatchMethod::Prefix && parts.values.iter().all(|value| !value.contains('?'))
}

pub fn path_condition(parts: &CriterionParts<'_>) -> Result<RuleCondition, UnsupportedReason> {
    let plain = |value: &str| !value.contains(['*', '?', '#']) && !parts.ignore_case;
    let mut globs = Vec::new();
    let mut expressions = Vec::new();
    let case = if parts.ignore_case { "(?i)" } else { "" };
    for value in parts.values.iter().map(|value| upper_escapes(value)) {
        let value = value.as_str();
        let own = escape_regex(value);
        match parts.how {
            MatchMethod::Exact if plain(value) => globs.push(value.to_owned()),
            MatchMethod::Exact => expressions.push(format!("{case}{own}")),
            MatchMethod::Prefix if plain(value) => globs.push(format!("{value}*")),
            MatchMethod::Prefix => expressions.push(format!("{case}{own}.*")),
            MatchMethod::Suffix if plain(value) && !value.starts_with('/') => {
                globs.push(format!("/**{value}"))
            }
            MatchMethod::Suffix => expressions.push(format!("{case}.*{own}")),
            MatchMethod::Contains => expressions.push(format!("{case}.*{own}.*")),
            MatchMethod::Directory => {
                let word = escape_regex(value.trim_matches(['/', '?']));
                expressions.push(format!("{case}(?:.*/)?{word}(?:/.*)?"));
            }
            MatchMethod::Domain => {
                let word = escape_regex(value.trim_matches(['/', '?', '.', ':']));
                expressions.push(format!("{case}(?:.*[/.:])?{word}(?:[/.:].*)?"));
            }
            MatchMethod::Regex => expressions.push(whole_path(value, parts.ignore_case)),
            MatchMethod::Present => return Ok(RuleCondition::Is(true)),
        }
    }
    if parts.how == MatchMethod::Present {
        return Ok(RuleCondition::Is(true));
    }
    let mut any = Vec::new();
    if !globs.is_empty() {
        any.push(RuleCondition::texts("path", &globs));
    }
    if !expressions.is_empty() {
        any.push(RuleCondition::texts("path-regex", &expressions));
    }
    Ok(if any.len() == 1 { any.remove(0) } else { RuleCondition::Any(any) })
}

/// The text with capital letters in its percent-escapes, as paths are compared.
fn upper_escapes(text: &str) -> String {
    let bytes = text.as_bytes();
    let is_escape = |at: usize| {
        let digits = bytes.get(at + 1..at + 3);
        bytes[at] == b'%' && digits.is_some_and(|two| two.iter().all(u8::is_ascii_hexdigit))
    };
    let in_escape = |at: usize| (1..=2).any(|back| at >= back && is_escape(at - back));
    let upper = |(at, c): (usize, char)| if in_escape(at) { c.to_ascii_uppercase() } else { c };
    text.char_indices().map(upper).collect()
}
