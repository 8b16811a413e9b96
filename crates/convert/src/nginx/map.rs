//! `map`: a variable whose value depends on the value of another one.
//!
//! nginx looks for the text itself first, then for wildcards from the longest to the shortest, then for expressions in
//! their order.

use std::borrow::Cow;
use std::cmp::Reverse;

use crate::condition::RuleCondition;

use super::compared_value::{ComparedValue, unknown};
use super::match_condition::match_condition;
use super::tree::Directive;
use super::value_branch::{ValueBranch, join_neighbours};
use super::variables::replace_variable;

/// From this number of texts on, paths are compared with regard to case, so that they need no expressions.
const EXPRESSIONS: usize = 200;

/// A `map` block with its entries in nginx's order of evaluation.
#[derive(Debug)]
pub struct MapTable<'t> {
    /// The value that is compared, with variables.
    pub source: &'t str,
    entries: Vec<MapEntry<'t>>,
    default: &'t str,
    /// Files whose entries are not known.
    is_incomplete: bool,
    texts: usize,
}

#[derive(Debug)]
struct MapEntry<'t> {
    rank: EntryRank,
    pattern: ComparedValue,
    value: Cow<'t, str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum EntryRank {
    Text,
    Below(Reverse<usize>),
    Begin(Reverse<usize>),
    Search,
}

impl<'t> MapTable<'t> {
    pub fn read(map: &'t Directive) -> MapTable<'t> {
        let mut table = MapTable {
            source: map.peek(0),
            entries: Vec::new(),
            default: "",
            is_incomplete: false,
            texts: 0,
        };
        let hosts = map.inner().iter().any(|one| one.name == "hostnames");
        for entry in map.inner() {
            let value = entry.peek(0);
            match entry.name.as_str() {
                "hostnames" | "volatile" => {}
                "default" => table.default = value,
                "include" => table.is_incomplete = true,
                name => table.add(name, value, hosts),
            }
        }
        table.entries.sort_by_key(|entry| entry.rank);
        table.texts = table.entries.iter().filter(|one| one.rank == EntryRank::Text).count();
        table.group_texts();
        table
    }

    fn add(&mut self, name: &'t str, value: &'t str, hosts: bool) {
        let value = Cow::Borrowed(value);
        let mut add = |rank, pattern, value: &Cow<'t, str>| {
            self.entries.push(MapEntry { rank, pattern, value: value.clone() })
        };
        let text = |text: &str| ComparedValue::Text { text: text.to_owned(), ignore_case: true };
        if let Some(expression) = name.strip_prefix('~') {
            let (expression, ignore_case) =
                expression.strip_prefix('*').map_or((expression, false), |rest| (rest, true));
            let expression = expression.to_owned();
            let value = numbered_groups(&expression, value);
            return add(
                EntryRank::Search,
                ComparedValue::Search { expression, ignore_case },
                &value,
            );
        }
        if hosts && let Some(domain) = name.strip_prefix("*.") {
            let rank = EntryRank::Below(Reverse(domain.len()));
            return add(rank, ComparedValue::HostsBelow(domain.to_owned()), &value);
        }
        if hosts && let Some(domain) = name.strip_prefix('.') {
            add(EntryRank::Text, text(domain), &value);
            let rank = EntryRank::Below(Reverse(domain.len()));
            return add(rank, ComparedValue::HostsBelow(domain.to_owned()), &value);
        }
        if hosts && let Some(begin) = name.strip_suffix(".*") {
            let rank = EntryRank::Begin(Reverse(begin.len()));
            return add(rank, ComparedValue::HostsBegin(begin.to_owned()), &value);
        }
        // A backslash before a text says that it is none of the special words.
        add(EntryRank::Text, text(name.strip_prefix('\\').unwrap_or(name)), &value);
    }

    /// Different texts exclude each other, so those of one value may stand together.
    fn group_texts(&mut self) {
        let mut first = std::collections::HashMap::new();
        for (at, entry) in self.entries.iter().enumerate() {
            first.entry(entry.value.clone()).or_insert(at);
        }
        let place = |entry: &MapEntry<'_>| first.get(&entry.value).copied().unwrap_or(0);
        self.entries[..self.texts].sort_by_key(place);
    }

    /// Whether letter case counts although it does not in nginx.
    pub fn compares_case(&self) -> bool {
        let has_case = |entry: &MapEntry<'_>| match &entry.pattern {
            ComparedValue::Text { text, .. } => text.bytes().any(|b| b.is_ascii_alphabetic()),
            _ => false,
        };
        self.texts > EXPRESSIONS
            && matches!(self.source, "$uri" | "$document_uri" | "$request_uri")
            && self.entries.iter().any(has_case)
    }

    /// The value for a known text. `None` if it is not known.
    pub fn value_of(&self, text: &str) -> Option<Cow<'t, str>> {
        if self.is_incomplete {
            return None;
        }
        for entry in &self.entries {
            if entry.pattern.matches(text)? {
                return Some(entry.value.clone());
            }
        }
        Some(Cow::Borrowed(self.default))
    }

    /// The values by a variable of the request. `variable`: its name without `$`.
    pub fn branches(&self, variable: &str) -> Vec<ValueBranch> {
        let mut out = Vec::new();
        if self.is_incomplete {
            out.push(ValueBranch { when: unknown("the file is not read"), value: None });
        }
        let compares_case = self.compares_case();
        for entry in &self.entries {
            let when = match &entry.pattern {
                ComparedValue::Text { text, .. } if compares_case => {
                    // Other spellings of the letters match in nginx, too.
                    let exact = match_condition(variable, &ComparedValue::exact(text));
                    RuleCondition::Any(vec![exact, unknown("letter case counts")])
                }
                pattern => match_condition(variable, pattern),
            };
            if when != RuleCondition::Is(false) {
                out.push(ValueBranch::new(when, &entry.value));
            }
        }
        let mut out = join_neighbours(out);
        out.push(ValueBranch::always(self.default));
        out
    }
}

/// The value with numbers for the named groups of its expression.
fn numbered_groups<'v>(expression: &str, value: Cow<'v, str>) -> Cow<'v, str> {
    if !value.contains('$') {
        return value;
    }
    let mut out = value.into_owned();
    let mut groups = 0;
    let mut rest = expression;
    while let Some(at) = rest.find(['(', '\\']) {
        let is_escape = rest.as_bytes().get(at) == Some(&b'\\');
        let behind = rest.get(at + 1..).unwrap_or_default();
        if is_escape {
            rest =
                behind.get(behind.chars().next().map_or(0, char::len_utf8)..).unwrap_or_default();
            continue;
        }
        rest = behind;
        let named = behind.strip_prefix("?<").or(behind.strip_prefix("?P<"));
        let name = named
            .filter(|name| !name.starts_with(['=', '!']))
            .and_then(|name| name.split_once('>'));
        if let Some((name, _)) = name {
            groups += 1;
            out = replace_variable(&out, name, &format!("${{{groups}}}"));
        } else if !behind.starts_with('?') {
            groups += 1;
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_groups_have_numbers() {
        for (expression, value, found) in [
            ("^/(a)/(?<b>x)$", "/$b/$1", "/${2}/$1"),
            ("^\\((?P<b>x)(?:y)", "$b", "${1}"),
            ("^/(?<b>x)$", "plain", "plain"),
        ] {
            assert_eq!(numbered_groups(expression, Cow::Borrowed(value)), found, "{expression}");
        }
    }
}
