//! Locations in the order in which nginx looks at them, each as a condition on the path.
//!
//! nginx takes the exact one; else it remembers the longest prefix; unless that says `^~` the first expression that
//! fits goes before it. First match wins with us, so that order is written out.

use crate::condition::{RuleCondition, whole_path};
use crate::notes::ConversionNotes;

use super::tree::Directive;

/// How a location is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LocationMatch {
    Exact,
    Prefix,
    Final,
    Regex { ignore_case: bool },
}

/// A location, and when it is taken.
#[derive(Clone, Debug)]
pub struct LocationBlock<'t> {
    pub directive: &'t Directive,
    /// When, as far as earlier ones were not.
    pub when: RuleCondition,
    /// The prefix that `proxy_pass` may replace.
    pub prefix: Option<&'t str>,
    /// It is the whole path.
    pub exact: bool,
}

/// All of a server's, in the order of rules.
pub fn ordered_locations<'t>(
    server: &'t [Directive],
    notes: &mut ConversionNotes,
) -> Vec<LocationBlock<'t>> {
    let mut found: Vec<(LocationMatch, &'t str, &'t Directive)> = Vec::new();
    for directive in server.iter().filter(|one| one.name == "location") {
        let (kind, path) = match (directive.word(0), directive.word(1)) {
            ("=", path) => (LocationMatch::Exact, path),
            ("^~", path) => (LocationMatch::Final, path),
            ("~", path) => (LocationMatch::Regex { ignore_case: false }, path),
            ("~*", path) => (LocationMatch::Regex { ignore_case: true }, path),
            (named, _) if named.starts_with('@') => {
                let reason = "there are no internal redirects";
                let instead = "a rule for what should go there";
                notes.left_out(directive.line, &directive.text(), reason, instead);
                continue;
            }
            (path, _) => (LocationMatch::Prefix, path),
        };
        for nested in directive.inner().iter().filter(|one| one.name == "location") {
            let reason = "locations within locations are not read";
            notes.left_out(nested.line, &nested.text(), reason, "write it beside the outer one");
        }
        found.push((kind, path, directive));
    }
    let of =
        |wanted: fn(LocationMatch) -> bool| found.iter().filter(move |(kind, ..)| wanted(*kind));
    let mut prefixes: Vec<_> =
        of(|kind| matches!(kind, LocationMatch::Prefix | LocationMatch::Final)).collect();
    prefixes.sort_by_key(|(_, path, _)| std::cmp::Reverse(path.len()));
    let mut out = Vec::new();
    for (_, path, directive) in of(|kind| kind == LocationMatch::Exact) {
        out.push(LocationBlock { directive, when: exact_path(path), prefix: None, exact: true });
    }
    let expressions = of(|kind| matches!(kind, LocationMatch::Regex { .. })).count();
    if expressions > 0 {
        for (_, path, directive) in
            prefixes.iter().filter(|(kind, ..)| *kind == LocationMatch::Final)
        {
            let longer = prefixes.iter().filter(|(kind, other, _)| {
                *kind == LocationMatch::Prefix
                    && other.len() > path.len()
                    && other.starts_with(path)
            });
            let mut all = vec![path_prefix(path)];
            all.extend(longer.map(|(_, other, _)| path_prefix(other).negate()));
            let when = RuleCondition::All(all);
            out.push(LocationBlock { directive, when, prefix: Some(path), exact: false });
        }
    }
    for (kind, path, directive) in of(|kind| matches!(kind, LocationMatch::Regex { .. })) {
        let ignore_case = *kind == LocationMatch::Regex { ignore_case: true };
        let when = RuleCondition::texts("path-regex", &[whole_path(path, ignore_case)]);
        out.push(LocationBlock { directive, when, prefix: None, exact: false });
    }
    for (_, path, directive) in &prefixes {
        out.push(LocationBlock {
            directive,
            when: path_prefix(path),
            prefix: Some(path),
            exact: false,
        });
    }
    out
}

fn exact_path(path: &str) -> RuleCondition {
    if path.contains(['*', '?']) {
        return RuleCondition::texts("path-regex", &[crate::condition::escape_regex(path)]);
    }
    RuleCondition::texts("path", &[path])
}

fn path_prefix(path: &str) -> RuleCondition {
    match path {
        "/" => RuleCondition::Is(true),
        path if path.contains(['*', '?']) => RuleCondition::texts(
            "path-regex",
            &[format!("{}.*", crate::condition::escape_regex(path))],
        ),
        path => RuleCondition::texts("path", &[format!("{path}*")]),
    }
}
