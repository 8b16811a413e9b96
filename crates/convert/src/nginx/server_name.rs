//! Names of servers, and the order in which nginx looks for them.

use crate::expression_search;
use std::cmp::Reverse;
use std::collections::HashMap;

use crate::condition::{RuleCondition, escape_regex, whole_path};

use super::compared_value::unknown;

/// The kind of a server name. nginx looks for exact names first, then for wildcards from the longest to the shortest, then
/// for expressions in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NameRank {
    Exact,
    /// `*.shop.example`, by its length.
    LeadingWildcard(Reverse<usize>),
    /// `www.shop.*`, by its length.
    TrailingWildcard(Reverse<usize>),
    Expression,
}

/// A server name and its position in nginx's order of evaluation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankedName {
    pub rank: NameRank,
    /// The place of its server among the servers of the file.
    pub place: usize,
    /// The condition's key.
    pub key: &'static str,
    /// The condition's text. `None`: it is an expression that cannot be read.
    pub text: Option<String>,
}

/// Reads one word of `server_name`. A word with a dot at its beginning means two names.
pub fn read(name: &str, place: usize) -> Vec<RankedName> {
    let named = |rank, text: String| RankedName { rank, place, key: "host", text: Some(text) };
    let longest = Reverse(name.len());
    match name {
        "" | "_" | "$hostname" | "\"\"" => Vec::new(),
        name if name.starts_with('~') => {
            let expression = &name[1..];
            let is_readable = expression_search::search(expression, true, "").is_some();
            let text = is_readable.then(|| whole_path(expression, false));
            vec![RankedName { rank: NameRank::Expression, place, key: "host-regex", text }]
        }
        name if name.starts_with("*.") => {
            vec![named(NameRank::LeadingWildcard(longest), name.to_owned())]
        }
        name if name.starts_with('.') => vec![
            named(NameRank::Exact, name[1..].to_owned()),
            named(NameRank::LeadingWildcard(longest), format!("*{name}")),
        ],
        name if name.ends_with(".*") => {
            let text = format!("{}.+", escape_regex(name.trim_end_matches('*')));
            let rank = NameRank::TrailingWildcard(longest);
            vec![RankedName { rank, place, key: "host-regex", text: Some(text) }]
        }
        name => vec![named(NameRank::Exact, name.to_owned())],
    }
}

/// Names of one server that follow each other, with their condition.
#[derive(Debug)]
pub struct ServerNameGroup {
    /// The server's place among the servers of the file.
    pub place: usize,
    /// `Unknown`: nothing behind this name is known to belong to another server.
    pub when: RuleCondition,
}

/// The names of the servers on one address in nginx's order. Of equal names the first one of the file counts. Those of the
/// `default` server are left out where it gets them anyway.
pub fn ordered_names(mut names: Vec<RankedName>, default: usize) -> Vec<ServerNameGroup> {
    names.sort_by_key(|name| (name.rank, name.place));
    let mut owners: HashMap<String, usize> = HashMap::new();
    names.retain(|name| {
        let text = format!("{} {}", name.key, name.text.as_deref().unwrap_or_default());
        let lower = text.to_ascii_lowercase();
        let owner = *owners.entry(lower).or_insert(name.place);
        owner == name.place || name.text.is_none()
    });
    // Patterns of other servers would take names of the default server.
    let is_wild = |name: &RankedName| name.rank != NameRank::Exact && name.place != default;
    if !names.iter().any(is_wild) {
        names.retain(|name| name.place != default);
    }
    let mut out: Vec<ServerNameGroup> = Vec::new();
    let mut rest = names.into_iter().peekable();
    while let Some(first) = rest.next() {
        let Some(text) = first.text else {
            let when = unknown("its name cannot be compared");
            out.push(ServerNameGroup { place: first.place, when });
            continue;
        };
        let mut texts = vec![text];
        while let Some(name) = rest.next_if(|name| {
            let is_same = name.place == first.place && name.key == first.key;
            is_same && name.rank == first.rank && name.text.is_some()
        }) {
            texts.extend(name.text);
        }
        let when = RuleCondition::texts(first.key, &texts);
        out.push(ServerNameGroup { place: first.place, when });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_asked_for_in_the_order_of_nginx() {
        let servers = [
            vec!["~^b(?<x>.)$", "*.example"],
            vec!["b.example", "a.*"],
            vec!["~^(?!x)", ".a.example", "b.example"],
            vec!["d.example"],
        ];
        let names = servers.iter().enumerate();
        let names =
            names.flat_map(|(place, names)| names.iter().flat_map(move |one| read(one, place)));
        let order: Vec<String> = ordered_names(names.collect(), 3)
            .into_iter()
            .map(|ServerNameGroup { place, when }| match when.unknown() {
                Some(_) => format!("{place} unknown"),
                None => format!("{place} {}", when.to_when().unwrap_or_default()),
            })
            .collect();
        assert_eq!(
            order,
            [
                "1 { host = \"b.example\" }",
                "2 { host = \"a.example\" }",
                "3 { host = \"d.example\" }",
                "2 { host = \"*.a.example\" }",
                "0 { host = \"*.example\" }",
                "1 { host-regex = \"a\\\\..+\" }",
                "0 { host-regex = \"b(?<x>.)\" }",
                "2 unknown",
            ]
        );
    }

    #[test]
    fn names_of_the_default_server_stand_where_patterns_would_take_them() {
        let ordered = |other: &str| {
            let names = [read("d.example", 0), read(other, 1)].concat();
            ordered_names(names, 0).iter().map(|one| one.place).collect::<Vec<_>>()
        };
        assert_eq!(ordered("a.example"), [1]);
        assert_eq!(ordered("*.example"), [0, 1]);
        assert_eq!(ordered("d.example"), Vec::<usize>::new());
    }
}
