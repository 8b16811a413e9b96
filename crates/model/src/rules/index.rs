//! Finds the rules that may match a host and a path without evaluating the others.
//!
//! Each rule is indexed under the names and paths that its conditions require: exact ones, names below a name, path
//! prefixes. Rules without such a condition are indexed under "any". A lookup yields the candidates in the order of the
//! rules; whether they match is evaluated afterwards. Prefixes are sorted, each with the longest other one that it
//! begins with. The last prefix that is not above a path leads to all prefixes of the path.

use std::collections::HashMap;

use crate::config::{Condition, HostPattern, PathCase, PathPattern};
use crate::path::comparison_form;

/// Index entries of one rule; a rule with more is indexed under "any". Bounds the size of the index.
const MAX_INDEX_ENTRIES: usize = 256;

/// Lists that are merged without a heap.
const LISTS: usize = 16;

/// The names and paths that a rule requires.
#[derive(Clone, Debug, Default)]
pub struct RuleKeys {
    names: Option<Vec<HostPattern>>,
    paths: Option<Vec<PathKey>>,
}

/// A path, or a path prefix, in the form in which paths are looked up.
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
            Condition::All(all) => all.iter().for_each(|condition| self.gather(condition, case)),
            // For a request, a rule that also requires `sni` is evaluated in full.
            Condition::Host(names) => self.names = Some(names.clone()),
            Condition::Path(paths) => {
                self.paths =
                    Some(paths.iter().map(|path| PathKey::from_pattern(path, case)).collect());
            }
            _ => {}
        }
    }

    /// The same for connections, whose name is the TLS server name.
    pub fn from_connection_condition(condition: &Condition) -> RuleKeys {
        let mut keys = RuleKeys::default();
        if let Condition::All(all) = condition {
            for condition in all {
                if let Condition::Sni(names) = condition {
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
    /// The first bytes of each, as a number: most of a search reads nothing else.
    prefix_keys: Vec<u64>,
    any: Vec<u32>,
}

#[derive(Debug)]
struct PathPrefixNode {
    text: Box<[u8]>,
    rules: Vec<u32>,
    /// The longest other prefix that it begins with.
    parent: Option<u32>,
}

impl RuleIndex {
    /// Indexes the rules by their keys, in their order.
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

    /// The rules that may match, in their order.
    pub fn candidates<'i>(&'i self, name: &[u8], path: &[u8]) -> RuleCandidates<'i> {
        let mut candidates = RuleCandidates::default();
        self.any.find(path, &mut candidates);
        if !self.exact.is_empty()
            && let Some(paths) = self.exact.get(name)
        {
            paths.find(path, &mut candidates);
        }
        if !self.by_parent_domain.is_empty() {
            let dots = name.iter().enumerate().filter(|(_, b)| **b == b'.');
            for (at, _) in dots {
                if let Some(paths) = self.by_parent_domain.get(&name[at..]) {
                    paths.find(path, &mut candidates);
                }
            }
        }
        candidates
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

    /// Sorts the prefixes, joins equal ones and finds their parents.
    fn build_prefixes(&mut self) {
        self.prefixes.sort_by(|a, b| a.text.cmp(&b.text).then(a.rules.cmp(&b.rules)));
        self.prefixes.dedup_by(|later, earlier| {
            let same = later.text == earlier.text;
            if same {
                later.rules.iter().for_each(|rule| push(&mut earlier.rules, *rule));
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

    fn find<'i>(&'i self, path: &[u8], candidates: &mut RuleCandidates<'i>) {
        candidates.add(&self.any);
        if !self.exact.is_empty()
            && let Some(rules) = self.exact.get(path)
        {
            candidates.add(rules);
        }
        let mut at = self.count_not_above(path).checked_sub(1);
        while let Some(prefix) = at.and_then(|at| self.prefixes.get(at)) {
            if path.starts_with(&prefix.text) {
                candidates.add(&prefix.rules);
            }
            at = prefix.parent.map(|parent| parent as usize);
        }
    }
}

impl PathIndex {
    /// How many prefixes are not above a path.
    fn count_not_above(&self, path: &[u8]) -> usize {
        let wanted = head(path);
        let below = self.prefix_keys.partition_point(|head| *head < wanted);
        let same = self.prefix_keys[below..].partition_point(|head| *head == wanted);
        let among = &self.prefixes[below..below + same];
        below + among.partition_point(|prefix| *prefix.text <= *path)
    }
}

/// The first eight bytes as a number that sorts as they do; shorter texts are padded with zeros.
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
