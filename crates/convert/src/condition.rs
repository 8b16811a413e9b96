//! Conditions of requests and connections as other dialects combine them, and their form in a rule's `when`.

use std::collections::HashSet;

use crate::notes::UnsupportedReason;
use crate::value::{self, KeyValue};

/// The most values that a key of a condition can have. More of them stand in several conditions.
fn most_values(key: &str) -> usize {
    if key == "client" { 1_024 } else { 64 }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleCondition {
    Is(bool),
    /// The connection uses TLS. Whether that holds depends on the listener.
    Tls,
    /// The condition cannot be expressed, for this reason. `at_least` or `at_most` replaces it before it is written.
    Unknown(UnsupportedReason),
    /// A key of `when` with its values in TOML. The condition holds when one of the values matches.
    Key(&'static str, Vec<String>),
    /// As `Key`, in any letter case.
    AnyCase(&'static str, Vec<String>),
    All(Vec<RuleCondition>),
    Any(Vec<RuleCondition>),
    Not(Box<RuleCondition>),
}

impl RuleCondition {
    /// A key of `when` with string values. What stands there twice is written once, since a rule takes it once.
    pub fn texts<S: AsRef<str>>(key: &'static str, texts: &[S]) -> RuleCondition {
        let mut seen = HashSet::new();
        let identity = |text: &str| match key {
            "host" => text.to_ascii_lowercase(),
            _ => text.to_owned(),
        };
        let mut values: Vec<String> = Vec::with_capacity(texts.len());
        for text in texts.iter().map(AsRef::as_ref) {
            if texts.len() == 1 || seen.insert(identity(text)) {
                values.push(value::quote(text));
            }
        }
        RuleCondition::Key(key, values)
    }

    pub fn negate(self) -> RuleCondition {
        match self {
            RuleCondition::Is(is) => RuleCondition::Is(!is),
            RuleCondition::Not(inner) => *inner,
            other => RuleCondition::Not(Box::new(other)),
        }
    }

    /// Both hold. A chain of them stays flat, because depth costs stack.
    pub fn and(self, other: RuleCondition) -> RuleCondition {
        match self {
            RuleCondition::Is(true) => other,
            RuleCondition::All(mut parts) => {
                parts.push(other);
                RuleCondition::All(parts)
            }
            first => RuleCondition::All(vec![first, other]),
        }
    }

    /// One of both holds. A chain of them stays flat, because depth costs stack.
    pub fn or(self, other: RuleCondition) -> RuleCondition {
        match self {
            RuleCondition::Any(mut parts) => {
                parts.push(other);
                RuleCondition::Any(parts)
            }
            first => RuleCondition::Any(vec![first, other]),
        }
    }

    /// The reason why a part of the condition cannot be expressed. `None` if the whole condition can be expressed.
    pub fn unknown(&self) -> Option<&UnsupportedReason> {
        match self {
            RuleCondition::Unknown(why) => Some(why),
            RuleCondition::Not(inner) => inner.unknown(),
            RuleCondition::All(parts) | RuleCondition::Any(parts) => {
                parts.iter().find_map(RuleCondition::unknown)
            }
            RuleCondition::Is(_)
            | RuleCondition::Tls
            | RuleCondition::Key(..)
            | RuleCondition::AnyCase(..) => None,
        }
    }

    /// The condition, if all of it can be expressed.
    ///
    /// # Errors
    /// The reason why a part cannot.
    pub fn known(self) -> Result<RuleCondition, UnsupportedReason> {
        match self.unknown() {
            Some(why) => Err(why.clone()),
            None => Ok(self),
        }
    }

    /// A condition that holds wherever this one may hold. For rules that deny, so that they deny too much rather than
    /// too little.
    pub fn at_least(self) -> RuleCondition {
        self.bound(true)
    }

    /// A condition that holds only where this one certainly holds. For rules that allow.
    pub fn at_most(self) -> RuleCondition {
        self.bound(false)
    }

    fn bound(self, upper: bool) -> RuleCondition {
        let each =
            |parts: Vec<RuleCondition>| parts.into_iter().map(|part| part.bound(upper)).collect();
        match self {
            RuleCondition::Unknown(_) => RuleCondition::Is(upper),
            // A wider condition needs a narrower negated part.
            RuleCondition::Not(inner) => inner.bound(!upper).negate(),
            RuleCondition::All(parts) => RuleCondition::All(each(parts)),
            RuleCondition::Any(parts) => RuleCondition::Any(each(parts)),
            known => known,
        }
    }

    /// Removes constants, for a listener with or without TLS.
    pub fn simplify(self, tls: bool) -> RuleCondition {
        match self {
            RuleCondition::Tls => RuleCondition::Is(tls),
            RuleCondition::Not(inner) => inner.simplify(tls).negate(),
            RuleCondition::All(parts) => RuleCondition::join(parts, tls, true),
            RuleCondition::Any(parts) => RuleCondition::join(parts, tls, false),
            other => other,
        }
    }

    /// Joins the parts. With `all`, a part that never holds decides the result. Otherwise a part that always holds
    /// decides it.
    fn join(parts: Vec<RuleCondition>, tls: bool, all: bool) -> RuleCondition {
        let mut out = Vec::new();
        for part in parts {
            match part.simplify(tls) {
                RuleCondition::Is(is) if is == all => {}
                RuleCondition::Is(_) => return RuleCondition::Is(!all),
                RuleCondition::All(inner) if all => out.extend(inner),
                RuleCondition::Any(inner) if !all => out.extend(inner),
                other => out.push(other),
            }
        }
        match (out.len(), out.pop()) {
            (_, None) => RuleCondition::Is(all),
            (1, Some(only)) => only,
            (_, Some(last)) => {
                out.push(last);
                if all { RuleCondition::All(out) } else { RuleCondition::Any(out) }
            }
        }
    }

    /// The value of `when` for a simplified condition. `None` if the condition always holds. A condition that never
    /// holds becomes a `when` that no client matches.
    pub fn to_when(&self) -> Option<String> {
        match self {
            RuleCondition::Is(true) => None,
            other => Some(value::table(&other.pairs())),
        }
    }

    fn pairs(&self) -> Vec<KeyValue> {
        match self {
            // The negation of all client networks never holds.
            RuleCondition::Is(_) | RuleCondition::Tls | RuleCondition::Unknown(_) => {
                let inner = value::table(&[KeyValue::new(
                    "client",
                    value::list([value::quote("0.0.0.0/0"), value::quote("::/0")]),
                )]);
                vec![KeyValue::new("not", inner)]
            }
            RuleCondition::Key(key, values) if values.len() > most_values(key) => {
                let part = |part: &[String]| RuleCondition::Key(key, part.to_vec());
                RuleCondition::Any(values.chunks(most_values(key)).map(part).collect()).pairs()
            }
            RuleCondition::AnyCase(key, values) if values.len() > most_values(key) => {
                let part = |part: &[String]| RuleCondition::AnyCase(key, part.to_vec());
                RuleCondition::Any(values.chunks(most_values(key)).map(part).collect()).pairs()
            }
            RuleCondition::Key(key, values) => vec![KeyValue::new(key, one_or_list(values))],
            RuleCondition::AnyCase(key, values) => {
                vec![
                    KeyValue::new(key, one_or_list(values)),
                    KeyValue::new("value-case", value::quote("ignore")),
                ]
            }
            RuleCondition::Not(inner) => vec![KeyValue::new("not", value::table(&inner.pairs()))],
            RuleCondition::Any(parts) => {
                vec![KeyValue::new(
                    "any",
                    value::list(parts.iter().map(|part| value::table(&part.pairs()))),
                )]
            }
            RuleCondition::All(parts) => join_pairs(parts),
        }
    }
}

/// A value, or a list of several.
fn one_or_list(values: &[String]) -> String {
    match values {
        [one] => one.clone(),
        several => value::list(several.iter().cloned()),
    }
}

/// The first occurrence of each key becomes a key of the table. Further occurrences go into `all`.
fn join_pairs(parts: &[RuleCondition]) -> Vec<KeyValue> {
    let mut side: Vec<KeyValue> = Vec::new();
    let mut rest = Vec::new();
    for part in parts {
        let pairs = part.pairs();
        match &pairs[..] {
            [only] if !side.iter().any(|known| known.key == only.key) => side.push(only.clone()),
            _ => rest.push(value::table(&pairs)),
        }
    }
    if !rest.is_empty() {
        side.push(KeyValue::new("all", value::list(rest)));
    }
    side
}

/// A regular expression that matches exactly this text.
pub fn escape_regex(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if "\\.+*?()|[]{}^$#&-~".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// Converts an unanchored search expression to one that matches the whole path.
pub fn whole_path(expression: &str, ignore_case: bool) -> String {
    let plain = !expression.contains('|');
    let (body, start) = match expression.strip_prefix('^').filter(|_| plain) {
        Some(body) => (body, ""),
        None => (expression, ".*"),
    };
    let (body, end) = match body.strip_suffix('$').filter(|body| plain && !body.ends_with('\\')) {
        Some(body) => (body, ""),
        None => (body, ".*"),
    };
    let body = if plain { body.to_owned() } else { format!("(?:{body})") };
    format!("{}{start}{body}{end}", if ignore_case { "(?i)" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> RuleCondition {
        RuleCondition::texts("path", &[text])
    }

    #[test]
    fn conditions_are_written_as_rules_read_them() {
        let host = RuleCondition::texts("host", &["a.example", "b.example"]);
        for (cond, tls, expected) in [
            (path("/a"), false, Some("{ path = \"/a\" }")),
            (
                path("/a").and(host.clone()),
                false,
                Some("{ path = \"/a\", host = [\"a.example\", \"b.example\"] }"),
            ),
            (
                path("/a").and(path("/b")),
                false,
                Some("{ path = \"/a\", all = [{ path = \"/b\" }] }"),
            ),
            (path("/a").negate(), false, Some("{ not = { path = \"/a\" } }")),
            (path("/a").negate().negate(), false, Some("{ path = \"/a\" }")),
            (
                RuleCondition::Any(vec![path("/a"), path("/b")]),
                false,
                Some("{ any = [{ path = \"/a\" }, { path = \"/b\" }] }"),
            ),
            (RuleCondition::Tls.and(path("/a")), true, Some("{ path = \"/a\" }")),
            (RuleCondition::Any(vec![RuleCondition::Tls, path("/a")]), true, None),
            (RuleCondition::All(vec![]), false, None),
            (RuleCondition::texts("host", &["a", "A"]), false, Some("{ host = \"a\" }")),
            (
                RuleCondition::texts("path", &["/a", "/A", "/a"]),
                false,
                Some("{ path = [\"/a\", \"/A\"] }"),
            ),
        ] {
            assert_eq!(cond.clone().simplify(tls).to_when().as_deref(), expected, "{cond:?}");
        }
        assert_eq!(RuleCondition::Tls.and(path("/a")).simplify(false), RuleCondition::Is(false));
    }

    #[test]
    fn many_values_are_written_in_parts() {
        let hosts: Vec<String> = (0..70).map(|at| format!("h{at}.example")).collect();
        let written = RuleCondition::texts("host", &hosts).to_when().unwrap_or_default();
        assert!(written.starts_with("{ any = [{ host = [\"h0.example\""), "{written}");
        assert_eq!(written.matches("host = [").count(), 2);

        let networks: Vec<String> =
            (0..2_100).map(|at| format!("10.0.{}.{}", at / 250, at % 250)).collect();
        let clients = RuleCondition::texts("client", &networks);
        for (cond, start) in [
            (clients.clone(), "{ any = [{ client = [\"10.0.0.0\""),
            (clients.clone().negate(), "{ not = { any = [{ client = ["),
            (path("/a").and(clients), "{ path = \"/a\", any = [{ client = ["),
        ] {
            let written = cond.simplify(false).to_when().unwrap_or_default();
            assert!(written.starts_with(start), "{}", &written[..60]);
            assert_eq!(written.matches("client = [").count(), 3);
            assert_eq!(written.matches("10.0.").count(), 2_100);
        }
    }

    #[test]
    fn what_cannot_be_expressed_widens_refusals_and_narrows_permissions() {
        let unknown = || RuleCondition::Unknown(UnsupportedReason::new("a list in a file", ""));
        let never = RuleCondition::Is(false);
        for (cond, refuses, permits) in [
            (unknown(), RuleCondition::Is(true), never.clone()),
            (unknown().negate(), RuleCondition::Is(true), never.clone()),
            (path("/a").and(unknown()), path("/a"), never.clone()),
            (RuleCondition::Any(vec![path("/a"), unknown()]), RuleCondition::Is(true), path("/a")),
            (
                RuleCondition::Any(vec![path("/a"), unknown()]).negate(),
                path("/a").negate(),
                never.clone(),
            ),
            (path("/a").and(unknown().negate()), path("/a"), never.clone()),
            (path("/a").and(unknown()).negate(), RuleCondition::Is(true), path("/a").negate()),
        ] {
            assert!(cond.unknown().is_some());
            assert_eq!(cond.clone().at_least().simplify(false), refuses, "{cond:?}");
            assert_eq!(cond.clone().at_most().simplify(false), permits, "{cond:?}");
        }
    }

    #[test]
    fn a_search_becomes_an_expression_of_the_whole_path() {
        for (search, whole) in [
            ("^/api", "/api.*"),
            ("^/api$", "/api"),
            ("jpg$", ".*jpg"),
            ("^/a|b$", ".*(?:^/a|b$).*"),
            ("x", ".*x.*"),
            ("^/a\\$", "/a\\$.*"),
        ] {
            assert_eq!(whole_path(search, false), whole);
        }
        assert_eq!(escape_regex("/a.b+c"), "/a\\.b\\+c");
    }
}
