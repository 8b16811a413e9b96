//! Locations in nginx's order of evaluation, each as a condition on the path.
//!
//! nginx uses an exact match first. Otherwise it remembers the longest prefix. The first matching regular expression
//! has priority over that prefix, unless the prefix has `^~`. Steelyard uses the first matching rule, so the rules are
//! written in that order.

use crate::condition::{RuleCondition, whole_path};
use crate::notes::ConversionNotes;

use super::constant::without_lookahead;
use super::tree::Directive;

/// How a location's path is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LocationMatch {
    Exact,
    Prefix,
    Final,
    Regex { ignore_case: bool },
}

/// A location with its condition.
#[derive(Clone, Debug)]
pub struct LocationBlock<'t> {
    pub directive: &'t Directive,
    /// The enclosing locations, the outermost first. The location inherits their directives.
    pub outer: Vec<&'t Directive>,
    /// The condition, provided that no earlier location matched.
    pub when: RuleCondition,
    /// The prefix that `proxy_pass` may replace.
    pub prefix: Option<&'t str>,
    /// The location matches one exact path.
    pub exact: bool,
}

/// A location with its parsed arguments.
#[derive(Clone)]
struct FoundLocation<'t> {
    kind: LocationMatch,
    path: &'t str,
    directive: &'t Directive,
    outer: Vec<&'t Directive>,
    /// The condition of the surrounding locations, if the location's own path does not imply it.
    within: Option<RuleCondition>,
}

impl<'t> FoundLocation<'t> {
    fn block(&self, when: RuleCondition) -> LocationBlock<'t> {
        let prefix = matches!(self.kind, LocationMatch::Prefix | LocationMatch::Final);
        LocationBlock {
            directive: self.directive,
            outer: self.outer.clone(),
            when: match &self.within {
                Some(within) => within.clone().and(when),
                None => when,
            },
            prefix: prefix.then_some(self.path),
            exact: self.kind == LocationMatch::Exact,
        }
    }

    /// The location's own condition, regardless of earlier locations.
    fn condition(&self) -> RuleCondition {
        match self.kind {
            LocationMatch::Exact => exact_path(self.path),
            LocationMatch::Prefix | LocationMatch::Final => path_prefix(self.path),
            LocationMatch::Regex { ignore_case } => {
                let plain = without_lookahead(self.path);
                let expression = plain.as_deref().unwrap_or(self.path);
                RuleCondition::texts("path-regex", &[whole_path(expression, ignore_case)])
            }
        }
    }
}

/// Collects the locations of a level and their nested locations, nested ones first.
fn collect<'t>(
    level: &'t [Directive],
    outer: Option<&FoundLocation<'t>>,
    notes: &mut ConversionNotes,
) -> Vec<FoundLocation<'t>> {
    let mut out = Vec::new();
    for directive in level.iter().filter(|one| one.name == "location") {
        let (kind, path) = match (directive.word(0), directive.word(1)) {
            ("=", path) => (LocationMatch::Exact, path),
            ("^~", path) => (LocationMatch::Final, path),
            ("~", path) => (LocationMatch::Regex { ignore_case: false }, path),
            ("~*", path) => (LocationMatch::Regex { ignore_case: true }, path),
            (named, _) if named.starts_with('@') => {
                if !is_reached(level, named) && !directive.is_settled() {
                    let reason = "there are no internal redirects";
                    let instead = "a rule for what should go there";
                    notes.left_out(directive.source, &directive.text(), reason, instead);
                }
                continue;
            }
            (path, _) => (LocationMatch::Prefix, path),
        };
        let mut found = FoundLocation { kind, path, directive, outer: Vec::new(), within: None };
        if let Some(outer) = outer {
            found.outer = [&outer.outer[..], &[outer.directive]].concat();
            // A prefix in a prefix location implies the outer condition. Other kinds do not.
            let longer = path.starts_with(outer.path) && outer.within.is_none();
            let implied = longer
                && matches!(outer.kind, LocationMatch::Prefix | LocationMatch::Final)
                && !matches!(kind, LocationMatch::Regex { .. });
            found.within = (!implied).then(|| match &outer.within {
                Some(within) => within.clone().and(outer.condition()),
                None => outer.condition(),
            });
        }
        out.extend(collect(directive.inner(), Some(&found), notes));
        out.push(found);
    }
    out
}

/// Named locations, which requests reach only from other locations: `location @app`.
pub fn named_locations(server: &[Directive]) -> Vec<&Directive> {
    let named = |one: &&Directive| one.name == "location" && one.word(0).starts_with('@');
    server.iter().filter(named).collect()
}

/// The named location to which `try_files` of a level falls back. `None` if the last argument is not a named location.
pub fn fallback(level: &[Directive]) -> Option<&str> {
    let files = level.iter().find(|one| one.name == "try_files")?;
    files.args().last().map(String::as_str).filter(|last| last.starts_with('@'))
}

/// Whether a location of this level, or of a level within, falls back to this named location.
fn is_reached(level: &[Directive], name: &str) -> bool {
    level.iter().any(|one| {
        one.name == "location"
            && (fallback(one.inner()) == Some(name) || is_reached(one.inner(), name))
    })
}

/// All locations of a server, in the order of their rules.
pub fn ordered_locations<'t>(
    server: &'t [Directive],
    notes: &mut ConversionNotes,
) -> Vec<LocationBlock<'t>> {
    let found = collect(server, None, notes);
    let is_regex = |one: &FoundLocation<'_>| {
        // A location within a regular expression is checked as early as the enclosing location.
        matches!(one.kind, LocationMatch::Regex { .. }) || one.within.is_some()
    };
    let mut prefixes: Vec<&FoundLocation<'_>> =
        found.iter().filter(|one| !is_regex(one) && one.kind != LocationMatch::Exact).collect();
    prefixes.sort_by_key(|one| std::cmp::Reverse(one.path.len()));
    let mut out = Vec::new();
    for one in found.iter().filter(|one| one.kind == LocationMatch::Exact && !is_regex(one)) {
        out.push(one.block(one.condition()));
    }
    if found.iter().any(is_regex) {
        for last in prefixes.iter().filter(|one| one.kind == LocationMatch::Final) {
            let longer = prefixes.iter().filter(|other| {
                other.kind == LocationMatch::Prefix
                    && other.path.len() > last.path.len()
                    && other.path.starts_with(last.path)
            });
            let mut all = vec![last.condition()];
            all.extend(longer.map(|other| other.condition().negate()));
            out.push(last.block(RuleCondition::All(all)));
        }
    }
    for one in found.iter().filter(|one| is_regex(one)) {
        out.push(one.block(one.condition()));
    }
    for one in &prefixes {
        out.push(one.block(one.condition()));
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
