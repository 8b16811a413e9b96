//! What requests a rule may take, as far as hosts, paths and methods tell it, and whether two rules may take the same.

use super::rule_syntax::{MatcherCall, RuleExpression};

/// The requests that a rule may take, at least. A kind that says nothing takes all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuleReach {
    /// Names in small letters, which are compared whole.
    pub hosts: Option<Vec<String>>,
    paths: Option<Vec<PathReach>>,
    methods: Option<Vec<String>>,
}

/// Paths that a matcher takes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct PathReach {
    path: String,
    /// And every path that begins with it.
    is_prefix: bool,
}

impl PathReach {
    fn meets(&self, other: &PathReach) -> bool {
        match (self.is_prefix, other.is_prefix) {
            (false, false) => self.path == other.path,
            (true, false) => other.path.starts_with(&self.path),
            (false, true) => self.path.starts_with(&other.path),
            (true, true) => {
                self.path.starts_with(&other.path) || other.path.starts_with(&self.path)
            }
        }
    }
}

impl RuleReach {
    /// The reach of a rule. What is not read (expressions, fields, addresses, `!`) narrows nothing.
    pub fn of(rule: &RuleExpression) -> RuleReach {
        match rule {
            RuleExpression::Match(call) => RuleReach::of_matcher(call),
            RuleExpression::Not(_) => RuleReach::default(),
            // One condition of a kind is enough: the others only narrow it further.
            RuleExpression::All(parts) => {
                parts.iter().map(RuleReach::of).fold(RuleReach::default(), |all, one| RuleReach {
                    hosts: all.hosts.or(one.hosts),
                    paths: all.paths.or(one.paths),
                    methods: all.methods.or(one.methods),
                })
            }
            RuleExpression::Any(parts) => {
                let mut parts = parts.iter().map(RuleReach::of);
                let first = parts.next().unwrap_or_default();
                parts.fold(first, |any, one| RuleReach {
                    hosts: join(any.hosts, one.hosts),
                    paths: join(any.paths, one.paths),
                    methods: join(any.methods, one.methods),
                })
            }
        }
    }

    fn of_matcher(call: &MatcherCall) -> RuleReach {
        let texts = &call.arguments;
        // Version 2 writes expressions in braces, version 3.5 wildcards of hosts as stars.
        let plain = !texts.iter().any(|text| text.contains(['{', '}', '*']));
        let paths = |is_prefix| {
            let each = texts.iter().map(|text| PathReach { path: text.clone(), is_prefix });
            RuleReach { paths: Some(each.collect()), ..RuleReach::default() }
        };
        match call.name.as_str() {
            "host" | "hostsni" if plain => RuleReach {
                hosts: Some(texts.iter().map(|text| text.to_ascii_lowercase()).collect()),
                ..RuleReach::default()
            },
            "path" if plain => paths(false),
            "pathprefix" if plain => paths(true),
            "method" => RuleReach {
                methods: Some(texts.iter().map(|text| text.to_ascii_uppercase()).collect()),
                ..RuleReach::default()
            },
            _ => RuleReach::default(),
        }
    }

    /// Whether a request may be taken by both.
    pub fn meets(&self, other: &RuleReach) -> bool {
        may_share(&self.hosts, &other.hosts, |one, other| one == other)
            && may_share(&self.paths, &other.paths, PathReach::meets)
            && may_share(&self.methods, &other.methods, |one, other| one == other)
    }
}

fn join<T>(one: Option<Vec<T>>, other: Option<Vec<T>>) -> Option<Vec<T>> {
    let mut all = one?;
    all.extend(other?);
    Some(all)
}

fn may_share<T>(
    these: &Option<Vec<T>>,
    those: &Option<Vec<T>>,
    meets: impl Fn(&T, &T) -> bool,
) -> bool {
    let (Some(these), Some(those)) = (these, those) else { return true };
    these.iter().any(|one| those.iter().any(|other| meets(one, other)))
}

#[cfg(test)]
mod tests {
    use super::super::rule_syntax::parse_rule;
    use super::*;

    #[test]
    fn rules_that_may_take_the_same_request_meet() {
        for (one, other, expected) in [
            ("Path(`/status`)", "PathPrefix(`/`)", true),
            ("Path(`/status`)", "Path(`/upload`)", false),
            ("PathPrefix(`/a`)", "PathPrefix(`/ab`)", true),
            ("PathPrefix(`/a`)", "PathPrefix(`/b`)", false),
            ("Path(`/a`)", "PathPrefix(`/ab`)", false),
            ("Host(`a.example`)", "Host(`A.example`)", true),
            ("Host(`a.example`)", "Host(`b.example`)", false),
            ("Host(`a.example`)", "PathPrefix(`/`)", true),
            ("Host(`a.example`, `b.example`)", "Host(`b.example`)", true),
            ("Host(`a.example`) || Host(`b.example`)", "Host(`b.example`)", true),
            ("Host(`a.example`) || Host(`b.example`)", "Host(`c.example`)", false),
            ("Host(`a.example`) || Path(`/x`)", "Host(`c.example`)", true),
            ("Host(`a.example`) && Path(`/x`)", "Host(`a.example`) && Path(`/y`)", false),
            ("!Host(`a.example`)", "Host(`a.example`)", true),
            ("Host(`*.example`)", "Host(`a.example`)", true),
            ("Path(`/{x:[a-z]}`)", "Path(`/a`)", true),
            ("HostRegexp(`.+`)", "Host(`a.example`)", true),
            ("Method(`get`)", "Method(`POST`)", false),
            ("Method(`get`)", "Method(`GET`)", true),
            ("HostSNI(`a.example`)", "HostSNI(`b.example`)", false),
            ("HostSNI(`*`)", "HostSNI(`b.example`)", true),
        ] {
            let [first, second] =
                [one, other].map(|text| RuleReach::of(&parse_rule(text).unwrap()));
            assert_eq!(first.meets(&second), expected, "{one} and {other}");
            assert_eq!(second.meets(&first), expected, "{other} and {one}");
        }
    }
}
