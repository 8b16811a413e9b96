//! The variables that a file defines with `map`, `geo`, `split_clients` and `set`, and the values of texts with them.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::condition::RuleCondition;

use super::compared_value::unknown;
use super::geo::GeoTable;
use super::map::MapTable;
use super::split::{self, SplitBranch};
use super::tree::Directive;
use super::value_branch::ValueBranch;
use super::variables::{only_variable, replace_variable, variable_names};

/// How deep maps of maps are followed.
const DEEP: usize = 5;
/// The most values of one text.
pub const VALUES: usize = 8_192;
/// The most values in one conversion.
const BUDGET: usize = 400_000;

/// The blocks of one `http` or `stream` that define variables, by the name without `$`.
#[derive(Debug)]
pub struct DefinedVariables<'t> {
    blocks: HashMap<&'t str, &'t Directive>,
    left: Cell<usize>,
    used: RefCell<BTreeSet<String>>,
}

/// What is known of variables at one place.
#[derive(Clone, Copy, Debug)]
pub struct VariablePlace<'p> {
    pub tls: bool,
    /// The server's first name.
    pub server_name: Option<&'p str>,
    /// The port that clients reached, if it is known.
    pub port: Option<u16>,
    /// `$remote_addr` comes from a field of the request.
    pub real_ip: bool,
    /// The values that `set` gave.
    pub assigned: &'p BTreeMap<String, Vec<ValueBranch>>,
    /// The values of the rule that is being written.
    pub fixed: &'p BTreeMap<String, String>,
}

impl<'t> DefinedVariables<'t> {
    pub fn new(block: &'t [Directive]) -> DefinedVariables<'t> {
        let mut blocks = HashMap::new();
        for directive in block {
            let last = match directive.name.as_str() {
                "map" | "split_clients" => directive.peek(1),
                "geo" if directive.peek(1).is_empty() => directive.peek(0),
                "geo" => directive.peek(1),
                _ => continue,
            };
            if let Some(name) = last.strip_prefix('$') {
                blocks.insert(name, directive);
            }
        }
        DefinedVariables { blocks, left: Cell::new(BUDGET), used: RefCell::default() }
    }

    /// The blocks with their variables' names.
    pub fn blocks(&self) -> impl Iterator<Item = (&'t str, &'t Directive)> {
        self.blocks.iter().map(|(name, block)| (*name, *block))
    }

    pub fn block(&self, name: &str) -> Option<&'t Directive> {
        self.blocks.get(name).copied()
    }

    /// Whether values of this block are part of what is written.
    pub fn is_used(&self, name: &str) -> bool {
        self.used.borrow().contains(name)
    }

    /// Remembers that the values of this variable are part of what is written.
    pub fn mark_used(&self, name: &str) {
        self.mark_used_within(name, 0);
    }

    fn mark_used_within(&self, name: &str, depth: usize) {
        let Some((name, block)) = self.blocks.get_key_value(name).filter(|_| depth <= DEEP) else {
            return;
        };
        if !self.used.borrow_mut().insert((*name).to_owned()) {
            return;
        }
        let texts = block.inner().iter().map(|entry| entry.peek(0)).chain([block.peek(0)]);
        for other in texts.flat_map(variable_names) {
            self.mark_used_within(other, depth + 1);
        }
    }

    /// Whether the variable has more than one value that is known here.
    pub fn has_branches(&self, name: &str, place: VariablePlace<'_>) -> bool {
        place.assigned.contains_key(name) || self.blocks.contains_key(name) && !self.is_share(name)
    }

    /// The values of a text. Variables of requests stay in it. `None` if they are too many.
    pub fn expand(&self, text: &str, place: VariablePlace<'_>) -> Option<Vec<ValueBranch>> {
        self.expand_within(text, place, 0)
    }

    fn expand_within(
        &self,
        text: &str,
        place: VariablePlace<'_>,
        depth: usize,
    ) -> Option<Vec<ValueBranch>> {
        if depth > DEEP {
            return None;
        }
        let names = variable_names(text);
        let mut out = vec![ValueBranch::always(text)];
        let mut known: Vec<&str> = Vec::new();
        for name in names {
            if known.contains(&name) {
                continue;
            }
            known.push(name);
            let values = match place.fixed.get(name) {
                Some(value) => vec![ValueBranch::always(value)],
                None if self.has_branches(name, place) => self.branches_of(name, place, depth)?,
                None => continue,
            };
            out = self.combine(out, &values, |text, value| replace_variable(text, name, value))?;
        }
        Some(out)
    }

    /// Each value of the first list with each of the second. Within one, the order of the second stays.
    fn combine(
        &self,
        first: Vec<ValueBranch>,
        second: &[ValueBranch],
        join: impl Fn(&str, &str) -> String,
    ) -> Option<Vec<ValueBranch>> {
        let count = first.len().saturating_mul(second.len());
        let left = self.left.get().checked_sub(count).filter(|_| count <= VALUES)?;
        self.left.set(left);
        let mut out = Vec::with_capacity(count);
        for one in &first {
            for other in second {
                let value = match (&one.value, &other.value) {
                    (Some(text), Some(value)) => Some(join(text, value)),
                    _ => None,
                };
                out.push(ValueBranch { when: both(&one.when, &other.when), value });
            }
        }
        Some(out)
    }

    /// The values of one variable.
    fn branches_of(
        &self,
        name: &str,
        place: VariablePlace<'_>,
        depth: usize,
    ) -> Option<Vec<ValueBranch>> {
        if let Some(assigned) = place.assigned.get(name) {
            return Some(assigned.clone());
        }
        let block = self.blocks.get(name)?;
        if block.name == "geo" {
            let table = GeoTable::read(block);
            let mut branches = table.branches();
            if place.real_ip && table.source == "$remote_addr" {
                let when = unknown("the client's address stands in a field of the request");
                branches.insert(0, ValueBranch { when, value: None });
            }
            return Some(branches);
        }
        let table = MapTable::read(block);
        let mut out = Vec::new();
        for source in self.expand_within(table.source, place, depth + 1)? {
            for found in map_branches(&table, source.value.as_deref(), place) {
                let values = match found.value.as_deref() {
                    Some(text) if text.contains('$') => {
                        self.expand_within(text, place, depth + 1)?
                    }
                    _ => vec![ValueBranch { when: RuleCondition::Is(true), value: found.value }],
                };
                let when = both(&source.when, &found.when);
                out.extend(values.into_iter().map(|value| ValueBranch {
                    when: both(&when, &value.when),
                    value: value.value,
                }));
                if out.len() > VALUES {
                    return None;
                }
            }
        }
        self.left.set(self.left.get().checked_sub(out.len())?);
        Some(out)
    }

    /// How many blocks refer to each other behind a variable.
    pub fn depth(&self, name: &str) -> usize {
        self.depth_within(name, 0)
    }

    fn depth_within(&self, name: &str, depth: usize) -> usize {
        let Some(block) = self.blocks.get(name).filter(|_| depth <= DEEP) else { return depth };
        let sources = variable_names(block.peek(0)).into_iter().filter(|other| *other != name);
        sources.map(|other| self.depth_within(other, depth + 1)).max().unwrap_or(depth)
    }

    /// Whether the variable is a share of clients, or looked up by one.
    pub fn is_share(&self, name: &str) -> bool {
        self.is_share_within(name, 0)
    }

    fn is_share_within(&self, name: &str, depth: usize) -> bool {
        let Some(block) = self.blocks.get(name).filter(|_| depth <= DEEP) else { return false };
        match block.name.as_str() {
            "split_clients" => true,
            "map" => only_variable(block.peek(0))
                .is_some_and(|source| self.is_share_within(source, depth + 1)),
            _ => false,
        }
    }

    /// The shares of a variable for which `is_share` holds.
    pub fn shares(&self, name: &str) -> Option<Vec<SplitBranch<'t>>> {
        let block = self.blocks.get(name)?;
        if block.name == "split_clients" {
            return split::shares(block);
        }
        let table = MapTable::read(block);
        let mut shares = self.shares(only_variable(table.source)?)?;
        for share in &mut shares {
            share.value = table.value_of(&share.value)?;
        }
        Some(shares)
    }
}

/// Both conditions, without constants.
pub fn both(one: &RuleCondition, other: &RuleCondition) -> RuleCondition {
    match (one, other) {
        (RuleCondition::Is(true), known) | (known, RuleCondition::Is(true)) => known.clone(),
        (RuleCondition::Is(false), _) | (_, RuleCondition::Is(false)) => RuleCondition::Is(false),
        _ => one.clone().and(other.clone()),
    }
}

/// The values of a map for a text of which variables of requests are left.
fn map_branches(
    table: &MapTable<'_>,
    source: Option<&str>,
    place: VariablePlace<'_>,
) -> Vec<ValueBranch> {
    let not_known = |reason: &str| {
        vec![
            ValueBranch { when: unknown(reason), value: None },
            ValueBranch { when: RuleCondition::Is(true), value: None },
        ]
    };
    let Some(source) = source.map(|text| place.fill_constants(text)) else {
        return not_known("the compared value is not known");
    };
    if !source.contains('$') {
        return match table.value_of(&source) {
            Some(value) => vec![ValueBranch::always(&value)],
            None => not_known("an expression cannot be read"),
        };
    }
    let Some(variable) = place.compared_variable(&source) else {
        return not_known("a value that is put together is not compared");
    };
    let mut out = table.branches(variable);
    for branch in &mut out {
        let value = branch.value.clone().unwrap_or_default();
        let has_group = (b'1'..=b'9').any(|digit| {
            let digit = char::from(digit);
            value.contains(&format!("${digit}")) || value.contains(&format!("${{{digit}}}"))
        });
        match variable {
            "uri" | "document_uri" => {}
            // The query belongs to what the last group found.
            "request_uri" if has_group => branch.value = Some(format!("{value}$is_args$args")),
            _ if has_group => branch.value = None,
            _ => {}
        }
    }
    out
}

impl VariablePlace<'_> {
    /// The text with the variables whose values are the same for all requests.
    pub fn fill_constants(&self, text: &str) -> String {
        let port = self.port.map(|port| port.to_string());
        let constants = [
            ("scheme", Some(if self.tls { "https" } else { "http" })),
            ("https", Some(if self.tls { "on" } else { "" })),
            ("server_name", self.server_name),
            ("server_port", port.as_deref()),
        ];
        let mut out = text.to_owned();
        for (name, value) in constants {
            if let Some(value) = value.filter(|_| out.contains('$')) {
                out = replace_variable(&out, name, value);
            }
        }
        out
    }

    /// The variable that a text compares, under the name by which `match_condition` knows it.
    pub fn compared_variable<'s>(&self, text: &'s str) -> Option<&'s str> {
        match text {
            "$host$uri" | "$host$request_uri" => return Some("host_uri"),
            "$http_host$uri" | "$http_host$request_uri" => return Some("http_host_uri"),
            _ => {}
        }
        let name = only_variable(text)?;
        // A client's address from a field is not the one that rules see.
        let is_client = matches!(name, "remote_addr" | "binary_remote_addr");
        (!is_client || !self.real_ip).then_some(name)
    }
}
