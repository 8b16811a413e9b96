//! Finds the rules that may fit a host and a path without looking at the others.
//!
//! Each rule lies under the names and paths that its conditions ask for: exact ones, names below a name, beginnings of
//! paths. What cannot be told so lies under "any". A lookup gives the candidates in the order of the rules; whether
//! they fit is `check`'s matter. Beginnings of paths are sorted, each with the longest other one that it begins with: the
//! last one that is not above a path leads to all that the path begins with.

use std::collections::HashMap;

use crate::config::{Condition, HostPattern, PathCase, PathPattern};
use crate::path::comparison_form;

/// Places under which one rule may lie; with more it lies under "any".
const MAX_INDEX_ENTRIES: usize = 256;

/// Lists that are merged without a heap.
const LISTS: usize = 16;

/// What a rule asks of name and path.
#[derive(Clone, Debug, Default)]
pub struct RuleKeys {
    names: Option<Vec<HostPattern>>,
    paths: Option<Vec<PathKey>>,
}

/// A path, or what it begins with, in the form in which paths are looked up.
#[derive(Clone, Debug)]
enum PathKey {
    Exact(Box<[u8]>),
    Prefix(Box<[u8]>),
}

impl RuleKeys {
    pub fn from_condition(condition: &Condition, case: PathCase) -> RuleKeys {
        let mut keys = RuleKeys::default();
        keys.gather(condition, case);
        let count = |list: Option<usize>| list.unwrap_or(1);
        let places =
            count(keys.names.as_ref().map(Vec::len)) * count(keys.paths.as_ref().map(Vec::len));
        if places > MAX_INDEX_ENTRIES { RuleKeys::default() } else { keys }
    }

    fn gather(&mut self, condition: &Condition, case: PathCase) {
        match condition {
            Condition::All(all) => all.iter().for_each(|one| self.gather(one, case)),
            // Of a request, a rule that also asks for `sni` is checked in full.
            Condition::Host(names) => self.names = Some(names.clone()),
            Condition::Path(paths) => {
                self.paths =
                    Some(paths.iter().map(|path| PathKey::from_pattern(path, case)).collect());
            }
            _ => {}
        }
    }

    /// The same for connections, whose name is the one that TLS asks for.
    pub fn from_connection_condition(condition: &Condition) -> RuleKeys {
        let mut keys = RuleKeys::default();
        if let Condition::All(all) = condition {
            for one in all {
                if let Condition::Sni(names) = one {
                    keys.names = Some(names.clone());
                }
            }
        }
        if keys.names.as_ref().is_some_and(|names| names.len() > MAX_INDEX_ENTRIES) {
            keys.names = None;
        }
        keys
    }
}

impl PathKey {
    fn from_pattern(pattern: &PathPattern, case: PathCase) -> PathKey {
        let text = lookup_form(comparison_form(pattern.literal_prefix().as_bytes()), case).into();
        match pattern {
            PathPattern::Exact(_) => PathKey::Exact(text),
            PathPattern::Prefix(_) | PathPattern::Glob(_) => PathKey::Prefix(text),
        }
    }
}

/// A path in the form in which it is looked up.
pub fn lookup_form(mut path: Vec<u8>, case: PathCase) -> Vec<u8> {
    if case == PathCase::Ignore {
        path.make_ascii_lowercase();
    }
    path
}

/// Rules by name and path.
#[derive(Debug, Default)]
pub struct RuleIndex {
    exact: HashMap<Box<[u8]>, PathIndex>,
    by_parent_domain: HashMap<Box<[u8]>, PathIndex>,
    any: PathIndex,
}

#[derive(Debug, Default)]
struct PathIndex {
    exact: HashMap<Box<[u8]>, Vec<u32>>,
    prefixes: Vec<PathPrefixNode>,
    /// The first bytes of each, as a number: most of a search looks at nothing else.
    prefix_keys: Vec<u64>,
    any: Vec<u32>,
}

#[derive(Debug)]
struct PathPrefixNode {
    text: Box<[u8]>,
    rules: Vec<u32>,
    /// The longest other one that it begins with.
    parent: Option<u32>,
}

impl RuleIndex {
    /// Of the rules' keys, in their order.
    pub fn new(keys: &[RuleKeys]) -> RuleIndex {
        let mut index = RuleIndex::default();
        for (at, keys) in keys.iter().enumerate() {
            let at = at as u32;
            match &keys.names {
                None => index.any.add(at, keys.paths.as_deref()),
                Some(names) => {
                    for name in names {
                        let paths = match name {
                            HostPattern::Exact(name) => {
                                index.exact.entry(name.as_bytes().into()).or_default()
                            }
                            HostPattern::Below(name) => {
                                index.by_parent_domain.entry(name.as_bytes().into()).or_default()
                            }
                        };
                        paths.add(at, keys.paths.as_deref());
                    }
                }
            }
        }
        let below = index.by_parent_domain.values_mut();
        index
            .exact
            .values_mut()
            .chain(below)
            .chain([&mut index.any])
            .for_each(PathIndex::build_prefixes);
        index
    }

    /// The rules that may fit, in their order.
    pub fn candidates<'i>(&'i self, name: &[u8], path: &[u8]) -> RuleCandidates<'i> {
        let mut found = RuleCandidates::default();
        self.any.find(path, &mut found);
        if !self.exact.is_empty()
            && let Some(paths) = self.exact.get(name)
        {
            paths.find(path, &mut found);
        }
        if !self.by_parent_domain.is_empty() {
            let dots = name.iter().enumerate().filter(|(_, b)| **b == b'.');
            for (at, _) in dots {
                if let Some(paths) = self.by_parent_domain.get(&name[at..]) {
                    paths.find(path, &mut found);
                }
            }
        }
        found
    }
}

impl PathIndex {
    fn add(&mut self, rule: u32, paths: Option<&[PathKey]>) {
        let Some(paths) = paths else { return push(&mut self.any, rule) };
        for path in paths {
            match path.clone() {
                PathKey::Exact(text) => push(self.exact.entry(text).or_default(), rule),
                PathKey::Prefix(text) if text.is_empty() => push(&mut self.any, rule),
                PathKey::Prefix(text) => {
                    self.prefixes.push(PathPrefixNode { text, rules: vec![rule], parent: None });
                }
            }
        }
    }

    /// Sorts the beginnings, joins equal ones and finds their parents.
    fn build_prefixes(&mut self) {
        self.prefixes.sort_by(|a, b| a.text.cmp(&b.text).then(a.rules.cmp(&b.rules)));
        self.prefixes.dedup_by(|later, kept| {
            let same = later.text == kept.text;
            if same {
                later.rules.iter().for_each(|rule| push(&mut kept.rules, *rule));
            }
            same
        });
        self.prefix_keys = self.prefixes.iter().map(|prefix| head(&prefix.text)).collect();
        let mut open: Vec<u32> = Vec::new();
        for at in 0..self.prefixes.len() {
            while let Some(last) = open.last() {
                let ancestor = &self.prefixes[*last as usize].text;
                if self.prefixes[at].text.starts_with(ancestor) {
                    break;
                }
                open.pop();
            }
            self.prefixes[at].parent = open.last().copied();
            open.push(at as u32);
        }
    }

    fn find<'i>(&'i self, path: &[u8], found: &mut RuleCandidates<'i>) {
        found.add(&self.any);
        if !self.exact.is_empty()
            && let Some(rules) = self.exact.get(path)
        {
            found.add(rules);
        }
        let mut at = self.count_not_above(path).checked_sub(1);
        while let Some(prefix) = at.and_then(|at| self.prefixes.get(at)) {
            if path.starts_with(&prefix.text) {
                found.add(&prefix.rules);
            }
            at = prefix.parent.map(|parent| parent as usize);
        }
    }
}

impl PathIndex {
    /// How many beginnings are not above a path.
    fn count_not_above(&self, path: &[u8]) -> usize {
        let wanted = head(path);
        let below = self.prefix_keys.partition_point(|head| *head < wanted);
        let same = self.prefix_keys[below..].partition_point(|head| *head == wanted);
        let among = &self.prefixes[below..below + same];
        below + among.partition_point(|prefix| *prefix.text <= *path)
    }
}

/// The first eight bytes as a number that sorts as they do; what is shorter counts as if zeros followed.
fn head(text: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let n = text.len().min(8);
    bytes[..n].copy_from_slice(&text[..n]);
    u64::from_be_bytes(bytes)
}

/// Once each, since rules come in their order.
fn push(list: &mut Vec<u32>, rule: u32) {
    if list.last() != Some(&rule) {
        list.push(rule);
    }
}

/// Lists of rules, merged in the order of the rules.
#[derive(Debug, Default)]
pub struct RuleCandidates<'i> {
    lists: [&'i [u32]; LISTS],
    count: usize,
    more: Vec<&'i [u32]>,
}

impl<'i> RuleCandidates<'i> {
    fn add(&mut self, rules: &'i [u32]) {
        if rules.is_empty() {
            return;
        }
        match self.lists.get_mut(self.count) {
            Some(room) => {
                *room = rules;
                self.count += 1;
            }
            None => self.more.push(rules),
        }
    }
}

impl Iterator for RuleCandidates<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        let lists = self.lists[..self.count].iter().chain(&self.more);
        let next = lists.filter_map(|list| list.first().copied()).min()?;
        for list in self.lists[..self.count].iter_mut().chain(&mut self.more) {
            if let [first, rest @ ..] = list
                && *first == next
            {
                *list = rest;
            }
        }
        Some(next)
    }
}
