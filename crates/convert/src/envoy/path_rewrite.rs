//! `prefix_rewrite` and `regex_rewrite`: the new path of a rule, and the condition that it needs.

use crate::condition::{RuleCondition, escape_regex};
use crate::notes::{ConversionNotes, UnsupportedReason};
use crate::structured::node::ConfigNode;
use crate::value::{self, KeyValue};

use super::reader::{leave_out, take_text};
use super::route_match::{PathMatch, RouteMatch};
use super::strings::{is_plain_path, take_regex};

/// How the path of a request changes.
pub enum PathChange {
    None,
    /// The condition on the path, and keys of `rewrite`.
    Always(RewrittenPath),
    /// Requests that meet the further condition change, others do not.
    Where(RewrittenPath),
    /// The change cannot be written.
    Unwritable,
}

/// A condition on the path, and what becomes of the path.
pub struct RewrittenPath {
    pub when: RuleCondition,
    pub pairs: Vec<KeyValue>,
}

/// The change that the action wants of the path of a request.
pub fn read_change(
    action: &ConfigNode,
    matched: &RouteMatch,
    notes: &mut ConversionNotes,
) -> PathChange {
    if let Some(to) = take_text(action, "prefix_rewrite", notes).filter(|to| !to.is_empty()) {
        return match replace_prefix(to, matched) {
            Ok(rewritten) => PathChange::Always(rewritten),
            Err(why) => {
                if let Some(field) = action.get("prefix_rewrite") {
                    leave_out(field, &why.reason, &why.instead, notes);
                }
                PathChange::Unwritable
            }
        };
    }
    if let Some(field) = action.get("regex_rewrite") {
        let pattern =
            field.get("pattern").map(|regex| take_regex(regex, notes)).unwrap_or_default();
        let to = take_text(field, "substitution", notes).unwrap_or_default();
        return match replace_groups(&pattern, to) {
            Some(rewritten) => PathChange::Where(rewritten),
            None => {
                let reason = "a new path is put together from the groups of one expression, which begins with `^`";
                leave_out(field, reason, "`rewrite.path` with `path-regex`", notes);
                PathChange::Unwritable
            }
        };
    }
    if let Some(field) = action.get("path_rewrite_policy") {
        leave_out(field, "a new path has no template", "`rewrite.path` with `path-regex`", notes);
        return PathChange::Unwritable;
    }
    PathChange::None
}

/// Text that stands for itself in a new path.
fn plain_target(text: &str) -> String {
    text.replace('{', "%7B").replace('}', "%7D").replace('?', "%3F").replace('#', "%23")
}

/// Puts another beginning before what follows the matched prefix.
fn replace_prefix(to: &str, matched: &RouteMatch) -> Result<RewrittenPath, UnsupportedReason> {
    let target = plain_target(to);
    let pair = |value: String| vec![KeyValue::new("path", value::quote(&value))];
    match &matched.path {
        PathMatch::Exact(_) => {
            Ok(RewrittenPath { when: matched.path_condition(), pairs: pair(target) })
        }
        // `/a` becoming `/` would make `//x` of `/a/x`, which servers read in several ways.
        PathMatch::Prefix(from) if to == "/" && !from.ends_with('/') && from.len() > 1 => {
            Ok(RewrittenPath {
                when: matched.path_condition(),
                pairs: vec![KeyValue::new("strip", value::quote(from))],
            })
        }
        PathMatch::Prefix(from) if is_plain_path(from) && !matched.ignore_case => {
            Ok(RewrittenPath {
                when: RuleCondition::texts("path", &[format!("{from}*")]),
                pairs: pair(format!("{target}{{rest}}")),
            })
        }
        PathMatch::Prefix(from) => {
            let case = if matched.ignore_case { "(?i)" } else { "" };
            Ok(RewrittenPath {
                when: RuleCondition::texts(
                    "path-regex",
                    &[format!("{case}{}(.*)", escape_regex(from))],
                ),
                pairs: pair(format!("{target}{{1}}")),
            })
        }
        PathMatch::Separated(from) => {
            let case = if matched.ignore_case { "(?i)" } else { "" };
            // Without what follows, a target that ends with `/` would have two of them.
            let (rest, target) = match target.strip_suffix('/') {
                Some(bare) => ("(?:/(.*))?", format!("{bare}/{{1}}")),
                None => ("((?:/.*)?)", format!("{target}{{1}}")),
            };
            let regex = format!("{case}{}{rest}", escape_regex(from));
            Ok(RewrittenPath {
                when: RuleCondition::texts("path-regex", &[regex]),
                pairs: pair(target),
            })
        }
        PathMatch::Regex(_) | PathMatch::Other => Err(UnsupportedReason::new(
            "the route matches no prefix that could be replaced",
            "`rewrite.path`",
        )),
    }
}

/// A pattern from the path's beginning, and a text with `\1` for its groups.
fn replace_groups(pattern: &str, to: &str) -> Option<RewrittenPath> {
    let body = pattern.strip_prefix('^')?;
    let groups = count_groups(body)?;
    // What follows the match stays.
    let closed = body.strip_suffix('$').filter(|body| !body.ends_with('\\'));
    let is_whole = closed.is_some() || body.ends_with("(.*)");
    let body = closed.unwrap_or(body);
    let alternation = body.contains('|');
    let body = if alternation { format!("(?:{body})") } else { body.to_owned() };
    let (regex, rest) = if is_whole {
        (body, String::new())
    } else {
        (format!("{body}(.*)"), format!("{{{}}}", groups + 1))
    };
    let mut target = String::new();
    let mut chars = to.chars();
    while let Some(c) = chars.next() {
        match (c, c == '\\') {
            (_, true) => {
                let digit = chars.next()?.to_digit(10)?;
                if digit == 0 || digit as usize > groups {
                    return None;
                }
                target.push_str(&format!("{{{digit}}}"));
            }
            (c, false) => target.push_str(&plain_target(&c.to_string())),
        }
    }
    if groups > 8 || !target.starts_with(['/', '{']) {
        return None;
    }
    let pairs = vec![KeyValue::new("path", value::quote(&format!("{target}{rest}")))];
    Some(RewrittenPath { when: RuleCondition::texts("path-regex", &[regex]), pairs })
}

/// The number of groups of an expression. `None` for groups with names.
fn count_groups(regex: &str) -> Option<usize> {
    let mut count = 0;
    let mut in_class = false;
    let mut chars = regex.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                chars.next();
            }
            '[' => in_class = true,
            ']' => in_class = false,
            '(' if !in_class => match chars.peek() {
                Some('?') => {
                    chars.next();
                    if matches!(chars.peek(), Some('P' | '<')) {
                        return None;
                    }
                }
                _ => count += 1,
            },
            _ => {}
        }
    }
    Some(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_become_expressions_with_groups() {
        for (pattern, to, expected) in [
            ("^/a/(.*)$", "/b/\\1", Some("path-regex = \"/a/(.*)\" \"/b/{1}\"")),
            ("^/a", "/b", Some("path-regex = \"/a(.*)\" \"/b{1}\"")),
            ("^/(x|y)/z", "/\\1", Some("path-regex = \"(?:/(x|y)/z)(.*)\" \"/{1}{2}\"")),
            ("/a", "/b", None),
            ("^/a", "/\\3", None),
        ] {
            let found = replace_groups(pattern, to).map(|one| {
                let when = one.when.to_when().unwrap_or_default();
                format!("{} {}", when.trim_matches(['{', '}', ' ']), one.pairs[0].value)
            });
            assert_eq!(found.as_deref(), expected, "{pattern}");
        }
    }
}
