//! `prefix_rewrite` and `regex_rewrite`: the new path of a rule, and the condition that it needs.

use crate::condition::{RuleCondition, escape_regex};
use crate::notes::ConversionNotes;
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

/// A condition on the path, and keys of `rewrite`.
pub struct RewrittenPath {
    pub when: RuleCondition,
    pub pairs: Vec<KeyValue>,
}

/// A condition on the path, and a new path that may take parts of the old one.
pub struct PathTemplate {
    pub when: RuleCondition,
    pub path: String,
}

impl PathTemplate {
    fn rewritten(self) -> RewrittenPath {
        let pairs = vec![KeyValue::new("path", value::quote(&self.path))];
        RewrittenPath { when: self.when, pairs }
    }
}

/// Why an expression and its groups cannot become a new path.
pub const GROUPS_REASON: &str =
    "a new path is put together from the groups of one expression, which begins with `^`";

/// The change that the action wants of the path of a request.
pub fn read_change(
    action: &ConfigNode,
    matched: &RouteMatch,
    notes: &mut ConversionNotes,
) -> PathChange {
    if let Some(to) = take_text(action, "prefix_rewrite", notes).filter(|to| !to.is_empty()) {
        let is_path = !to.contains(['?', '#']);
        if let Some(rewritten) = replace_prefix(to, matched).filter(|_| is_path) {
            return PathChange::Always(rewritten);
        }
        if let Some(field) = action.get("prefix_rewrite") {
            let reason = if is_path {
                "the route matches no prefix that could be replaced"
            } else {
                "a new path has no query of its own"
            };
            leave_out(field, reason, "`rewrite.path`", notes);
        }
        return PathChange::Unwritable;
    }
    if let Some(field) = action.get("regex_rewrite") {
        return match read_groups(field, notes) {
            Some(target) => PathChange::Where(target.rewritten()),
            None => {
                leave_out(field, GROUPS_REASON, "`rewrite.path` with `path-regex`", notes);
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

/// `regex_rewrite`, a pattern and what is put in its place.
pub fn read_groups(field: &ConfigNode, notes: &mut ConversionNotes) -> Option<PathTemplate> {
    let pattern = field.get("pattern").map(|regex| take_regex(regex, notes)).unwrap_or_default();
    let to = take_text(field, "substitution", notes).unwrap_or_default();
    replace_groups(&pattern, to)
}

/// Text that stands for itself in a new path.
fn plain_target(text: &str) -> String {
    text.replace('{', "%7B").replace('}', "%7D").replace('?', "%3F").replace('#', "%23")
}

fn replace_prefix(to: &str, matched: &RouteMatch) -> Option<RewrittenPath> {
    match &matched.path {
        // `/a` becoming `/` would make `//x` of `/a/x`, which servers read in several ways.
        PathMatch::Prefix(from)
            if to == "/" && !from.ends_with('/') && from.len() > 1 && !matched.ignore_case =>
        {
            Some(RewrittenPath {
                when: matched.path_condition(),
                pairs: vec![KeyValue::new("strip", value::quote(from))],
            })
        }
        _ => prefix_template(to, matched).map(PathTemplate::rewritten),
    }
}

/// Another beginning before what follows the matched prefix. A path that is matched as a whole is replaced as a whole.
/// `None` if the route matches no path.
fn prefix_template(to: &str, matched: &RouteMatch) -> Option<PathTemplate> {
    let target = plain_target(to);
    let case = if matched.ignore_case { "(?i)" } else { "" };
    let regex = |regex: String| RuleCondition::texts("path-regex", &[format!("{case}{regex}")]);
    Some(match &matched.path {
        PathMatch::Exact(_) | PathMatch::Regex(_) => {
            PathTemplate { when: matched.path_condition(), path: target }
        }
        PathMatch::Prefix(from) if is_plain_path(from) && !matched.ignore_case => PathTemplate {
            when: RuleCondition::texts("path", &[format!("{from}*")]),
            path: format!("{target}{{rest}}"),
        },
        PathMatch::Prefix(from) => PathTemplate {
            when: regex(format!("{}(.*)", escape_regex(from))),
            path: format!("{target}{{1}}"),
        },
        PathMatch::Separated(from) => {
            // Without what follows, a target that ends with `/` would have two of them.
            let (rest, path) = match target.strip_suffix('/') {
                Some(bare) => ("(?:/(.*))?", format!("{bare}/{{1}}")),
                None => ("((?:/.*)?)", format!("{target}{{1}}")),
            };
            PathTemplate { when: regex(format!("{}{rest}", escape_regex(from))), path }
        }
        PathMatch::Other => return None,
    })
}

/// As `prefix_template`, for a redirect. An empty `{rest}` would take the slash before it along, and a group does not.
pub fn redirect_template(to: &str, matched: &RouteMatch) -> Option<PathTemplate> {
    if to.contains(['?', '#']) {
        return None;
    }
    match &matched.path {
        PathMatch::Prefix(from) if to.ends_with('/') => {
            let case = if matched.ignore_case { "(?i)" } else { "" };
            let regex = format!("{case}{}(.*)", escape_regex(from));
            Some(PathTemplate {
                when: RuleCondition::texts("path-regex", &[regex]),
                path: format!("{}{{1}}", plain_target(to)),
            })
        }
        _ => prefix_template(to, matched),
    }
}

/// A pattern from the path's beginning, and a text with `\1` for its groups.
fn replace_groups(pattern: &str, to: &str) -> Option<PathTemplate> {
    let body = pattern.strip_prefix('^').filter(|_| !to.contains(['?', '#']))?;
    let outline = outline_regex(body)?;
    // The `^` belongs to the first alternative only.
    if outline.has_alternatives {
        return None;
    }
    let groups = outline.groups;
    // What follows the match stays.
    let closed = body.strip_suffix('$').filter(|body| !body.ends_with('\\'));
    let is_whole = closed.is_some() || body.ends_with("(.*)");
    let body = closed.unwrap_or(body);
    let (regex, rest) = if is_whole {
        (body.to_owned(), String::new())
    } else {
        (format!("{body}(.*)"), format!("{{{}}}", groups + 1))
    };
    let mut target = String::new();
    let mut chars = to.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            target.push_str(&plain_target(&c.to_string()));
            continue;
        }
        let digit = chars.next()?.to_digit(10)?;
        if digit == 0 || digit as usize > groups {
            return None;
        }
        target.push_str(&format!("{{{digit}}}"));
    }
    if groups > 8 || !target.starts_with(['/', '{']) {
        return None;
    }
    let path = format!("{target}{rest}");
    Some(PathTemplate { when: RuleCondition::texts("path-regex", &[regex]), path })
}

/// What stands in an expression.
struct RegexOutline {
    groups: usize,
    /// Alternatives that are not within a group.
    has_alternatives: bool,
}

/// The groups and the alternatives of an expression. `None` for groups with names.
fn outline_regex(regex: &str) -> Option<RegexOutline> {
    let mut outline = RegexOutline { groups: 0, has_alternatives: false };
    let mut in_class = false;
    let mut depth = 0usize;
    let mut chars = regex.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                chars.next();
            }
            '[' => in_class = true,
            ']' => in_class = false,
            '|' if !in_class && depth == 0 => outline.has_alternatives = true,
            ')' if !in_class => depth = depth.saturating_sub(1),
            '(' if !in_class => {
                depth += 1;
                match chars.peek() {
                    Some('?') => {
                        chars.next();
                        if matches!(chars.peek(), Some('P' | '<')) {
                            return None;
                        }
                    }
                    _ => outline.groups += 1,
                }
            }
            _ => {}
        }
    }
    Some(outline)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_become_expressions_with_groups() {
        for (pattern, to, expected) in [
            ("^/a/(.*)$", "/b/\\1", Some("path-regex = \"/a/(.*)\" /b/{1}")),
            ("^/a", "/b", Some("path-regex = \"/a(.*)\" /b{1}")),
            ("^/(x|y)/z", "/\\1", Some("path-regex = \"/(x|y)/z(.*)\" /{1}{2}")),
            ("^/[(|]/z", "/b", Some("path-regex = \"/[(|]/z(.*)\" /b{1}")),
            // Only the first alternative begins at the path's beginning.
            ("^/a|/b", "/c", None),
            ("/a", "/b", None),
            ("^/a", "/\\3", None),
        ] {
            let found = replace_groups(pattern, to).map(|one| {
                let when = one.when.to_when().unwrap_or_default();
                format!("{} {}", when.trim_matches(['{', '}', ' ']), one.path)
            });
            assert_eq!(found.as_deref(), expected, "{pattern}");
        }
    }
}
