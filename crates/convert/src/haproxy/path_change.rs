//! HAProxy's changes of paths that a rule of ours makes in the same way. Others refuse their requests.
//!
//! A rule changes the path after all conditions are evaluated. So nothing behind the change may look at the path.

use crate::condition::{RuleCondition, escape_regex};
use crate::draft_check::{DraftChecker, RouterLayer};
use crate::value::{self, KeyValue};

use super::lex::ConfigLine;

/// A change of the path of requests that meet a condition.
#[derive(Clone, Debug)]
pub struct PathReplacement {
    pub when: RuleCondition,
    /// How many final rules of its proxy stand before it.
    pub rules_before: usize,
    pub edits_before: usize,
    pub line: ConfigLine,
    rewritten: PathSubstitute,
}

/// The new path, from parts of the old one.
#[derive(Clone, Debug, PartialEq, Eq)]
struct PathSubstitute {
    /// The whole path, with groups; `None`: any path.
    expression: Option<String>,
    template: String,
}

impl PathReplacement {
    /// The change of an action; `None`: a rule cannot make it.
    pub fn read(
        action: &[String],
        when: RuleCondition,
        line: &ConfigLine,
        rules_before: usize,
        edits_before: usize,
    ) -> Option<PathReplacement> {
        let words: Vec<&str> = action.iter().map(String::as_str).collect();
        let rewritten = match words[..] {
            ["replace-path", expression, format] => replace(expression, format)?,
            ["set-path", format] => set(format)?,
            _ => return None,
        };
        let line = line.clone();
        let change = PathReplacement {
            when: when.known().ok()?,
            rules_before,
            edits_before,
            line,
            rewritten,
        };
        let mut keys = vec![KeyValue::new("pool", value::quote("x"))];
        keys.push(KeyValue::new("rewrite", value::table(&[change.rewrite()])));
        keys.extend(change.condition().to_when().map(|when| KeyValue::new("when", when)));
        DraftChecker::default().rejection(RouterLayer::Http, &keys).is_none().then_some(change)
    }

    /// The paths that are changed.
    fn condition(&self) -> RuleCondition {
        match &self.rewritten.expression {
            Some(expression) => RuleCondition::texts("path-regex", &[expression]),
            None => RuleCondition::Is(true),
        }
    }

    /// The condition of the rule that makes the change on the way to a backend. The expression comes first, since the
    /// groups of the first one count.
    pub fn rule_condition(&self, branch: &RuleCondition) -> RuleCondition {
        RuleCondition::All(vec![self.condition(), branch.clone(), self.when.clone()])
    }

    /// The key of `rewrite`.
    pub fn rewrite(&self) -> KeyValue {
        KeyValue::new("path", value::quote(&self.rewritten.template))
    }
}

/// Whether a condition looks at the path.
pub fn reads_path(condition: &RuleCondition) -> bool {
    match condition {
        RuleCondition::Key(key, _) | RuleCondition::AnyCase(key, _) => key.starts_with("path"),
        RuleCondition::Not(inner) => reads_path(inner),
        RuleCondition::All(parts) | RuleCondition::Any(parts) => parts.iter().any(reads_path),
        RuleCondition::Is(_) | RuleCondition::Tls | RuleCondition::Unknown(_) => false,
    }
}

/// `replace-path`: the whole path becomes the text, with groups of a search.
fn replace(search: &str, format: &str) -> Option<PathSubstitute> {
    if search.starts_with("(?") {
        return None;
    }
    let plain = !search.contains('|');
    let anchored = search.strip_prefix('^').filter(|_| plain);
    // The leftmost match counts, so that what stands before it is as short as can be.
    let begin = if anchored.is_some() { "" } else { "(?:.*?)" };
    let body = anchored.unwrap_or(search);
    let end = body.strip_suffix('$').filter(|body| plain && !body.ends_with('\\'));
    let tail = if end.is_some() { "" } else { ".*" };
    let body = end.unwrap_or(body);
    let body = if plain { body.to_owned() } else { format!("(?:{body})") };
    let template = template_of(format)?;
    Some(PathSubstitute { expression: Some(format!("{begin}{body}{tail}")), template })
}

/// `set-path` with a fixed path, with something before the path, or with another beginning.
fn set(format: &str) -> Option<PathSubstitute> {
    if let Some(before) = format.strip_suffix("%[path]") {
        let template = format!("{}{{path}}", template_of(before)?);
        return Some(PathSubstitute { expression: None, template });
    }
    let Some(inner) =
        format.strip_prefix("%[path,regsub(^").and_then(|rest| rest.strip_suffix(")]"))
    else {
        let template = template_of(format)?;
        return Some(PathSubstitute { expression: None, template });
    };
    let (from, to) = inner.split_once(',')?;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '-' | '_');
    if !from.starts_with('/') || !from.chars().chain(to.chars()).all(plain) {
        return None;
    }
    let expression = Some(format!("{}(.*)", escape_regex(from)));
    let template = if to.is_empty() { "/{1}".to_owned() } else { format!("{to}{{1}}") };
    template.starts_with('/').then_some(PathSubstitute { expression, template })
}

/// A text with groups (`\1`) as a template of a path.
fn template_of(format: &str) -> Option<String> {
    let mut out = String::new();
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                let group = chars.next().filter(|group| matches!(group, '1'..='9'))?;
                // A slash before a group and one at its beginning become one.
                if out.is_empty() {
                    out.push('/');
                }
                out.push_str(&format!("{{{group}}}"));
            }
            c if c.is_ascii_alphanumeric() || "/-_.~".contains(c) => out.push(c),
            _ => return None,
        }
    }
    out.starts_with('/').then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_that_rules_can_make_are_told_from_others() {
        for (action, expected) in [
            ("replace-path (.*) /foo\\1", Some("(?:.*?)(.*).* -> /foo{1}")),
            ("replace-path ^/foo/(.*)$ /\\1", Some("/foo/(.*) -> /{1}")),
            ("replace-path /ui(/.*) \\1", Some("(?:.*?)/ui(/.*).* -> /{1}")),
            ("replace-path ^/a|^/b /c", Some("(?:.*?)(?:^/a|^/b).* -> /c")),
            ("replace-path ^/a /c?d", None),
            ("replace-path ^/a /\\0", None),
            ("replace-path ^/a /%[src]", None),
            ("replace-path ^/a(?=b) /c", None),
            ("replace-path ^/a /\\1", None),
            ("set-path /x%[path]", Some("- -> /x{path}")),
            ("set-path /x", Some("- -> /x")),
            ("set-path %[path,regsub(^/v1/,/)]", Some("/v1/(.*) -> /{1}")),
            ("set-path %[path,regsub(^/v1,)]", Some("/v1(.*) -> /{1}")),
            ("set-path %[path,regsub(v1,v2,g)]", None),
            ("set-path %[query]", None),
            ("replace-uri ^/a /b", None),
        ] {
            let words: Vec<String> = action.split(' ').map(str::to_owned).collect();
            let always = RuleCondition::Is(true);
            let change = PathReplacement::read(&words, always, &ConfigLine::default(), 0, 0);
            let written = change.map(|change| {
                let expression = change.rewritten.expression.unwrap_or("-".to_owned());
                format!("{expression} -> {}", change.rewritten.template)
            });
            assert_eq!(written.as_deref(), expected, "{action}");
        }
    }
}
