//! Locations in the order in which nginx looks at them, each as a condition on the path.
//!
//! nginx takes the exact one; else it remembers the longest prefix; unless that says `^~` the first expression that
//! fits goes before it. First match wins with us, so that order is written out.

use crate::condition::{Cond, whole_path};
use crate::notes::Notes;

use super::tree::Directive;

/// How a location is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Exact,
    Prefix,
    Final,
    Expression { ignore_case: bool },
}

/// A location, and when it is taken.
#[derive(Clone, Debug)]
pub struct Place<'t> {
    /// It.
    pub directive: &'t Directive,
    /// When, as far as earlier ones were not.
    pub when: Cond,
    /// The prefix that `proxy_pass` may replace.
    pub prefix: Option<&'t str>,
    /// It is the whole path.
    pub exact: bool,
}

/// All of a server's, in the order of rules.
pub fn ordered<'t>(server: &'t [Directive], notes: &mut Notes) -> Vec<Place<'t>> {
    let mut found: Vec<(Kind, &'t str, &'t Directive)> = Vec::new();
    for directive in server.iter().filter(|one| one.name == "location") {
        let (kind, path) = match (directive.word(0), directive.word(1)) {
            ("=", path) => (Kind::Exact, path),
            ("^~", path) => (Kind::Final, path),
            ("~", path) => (Kind::Expression { ignore_case: false }, path),
            ("~*", path) => (Kind::Expression { ignore_case: true }, path),
            (named, _) if named.starts_with('@') => {
                notes.left(
                    directive.line,
                    &directive.text(),
                    "there are no internal redirects",
                    "a rule for what should go there",
                );
                continue;
            }
            (path, _) => (Kind::Prefix, path),
        };
        for nested in directive.inner().iter().filter(|one| one.name == "location") {
            notes.left(
                nested.line,
                &nested.text(),
                "locations within locations are not read",
                "write it beside the outer one",
            );
        }
        found.push((kind, path, directive));
    }
    let of = |wanted: fn(Kind) -> bool| found.iter().filter(move |(kind, ..)| wanted(*kind));
    let mut prefixes: Vec<_> = of(|kind| matches!(kind, Kind::Prefix | Kind::Final)).collect();
    prefixes.sort_by_key(|(_, path, _)| std::cmp::Reverse(path.len()));
    let mut out = Vec::new();
    for (_, path, directive) in of(|kind| kind == Kind::Exact) {
        out.push(Place { directive, when: exact(path), prefix: None, exact: true });
    }
    let expressions = of(|kind| matches!(kind, Kind::Expression { .. })).count();
    if expressions > 0 {
        for (_, path, directive) in prefixes.iter().filter(|(kind, ..)| *kind == Kind::Final) {
            let longer = prefixes.iter().filter(|(kind, other, _)| {
                *kind == Kind::Prefix && other.len() > path.len() && other.starts_with(path)
            });
            let mut all = vec![prefix(path)];
            all.extend(longer.map(|(_, other, _)| prefix(other).negated()));
            let when = Cond::All(all);
            out.push(Place { directive, when, prefix: Some(path), exact: false });
        }
    }
    for (kind, path, directive) in of(|kind| matches!(kind, Kind::Expression { .. })) {
        let ignore_case = *kind == Kind::Expression { ignore_case: true };
        let when = Cond::texts("path-regex", &[whole_path(path, ignore_case)]);
        out.push(Place { directive, when, prefix: None, exact: false });
    }
    for (_, path, directive) in &prefixes {
        out.push(Place { directive, when: prefix(path), prefix: Some(path), exact: false });
    }
    out
}

fn exact(path: &str) -> Cond {
    if path.contains(['*', '?']) {
        return Cond::texts("path-regex", &[crate::condition::escaped(path)]);
    }
    Cond::texts("path", &[path])
}

fn prefix(path: &str) -> Cond {
    match path {
        "/" => Cond::Is(true),
        path if path.contains(['*', '?']) => {
            Cond::texts("path-regex", &[format!("{}.*", crate::condition::escaped(path))])
        }
        path => Cond::texts("path", &[format!("{path}*")]),
    }
}
