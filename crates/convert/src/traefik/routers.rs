//! Routers and the entry points that they are attached to.

use crate::condition::RuleCondition;
use crate::draft_check::{DraftChecker, RouterLayer};
use crate::notes::{ConversionNotes, UnsupportedReason};

use super::entry_points::EntryPoint;
use super::matchers::{is_bound_by_names, rule_condition, rule_names};
use super::option_tree::{OptionNode, PlacedText};
use super::rule_reach::RuleReach;
use super::rule_syntax::parse_rule;

/// A router of HTTP or TCP.
pub struct TrafficRouter<'t> {
    pub node: &'t OptionNode,
    /// The rule; unknown parts have their reasons.
    pub condition: RuleCondition,
    /// The names of hosts in the rule.
    pub names: Vec<String>,
    /// The rule takes nothing but these hosts.
    pub is_bound: bool,
    /// What the rule may take.
    pub reach: RuleReach,
    /// Traefik asks the routers with the highest priority first.
    pub priority: i64,
    entry_points: Vec<PlacedText>,
    pub tls: Option<&'t OptionNode>,
}

impl<'t> TrafficRouter<'t> {
    pub fn name(&self) -> &'t str {
        &self.node.key
    }

    /// The router's service. `None` if none is named.
    pub fn service(&self) -> Option<&'t OptionNode> {
        self.node.get("service")
    }

    /// Whether the router names this entry point itself.
    pub fn names_entry_point(&self, name: &str) -> bool {
        self.entry_points.iter().any(|one| one.text == name)
    }

    /// Whether the router is attached to an entry point. A router that names none is attached to all default ones.
    pub fn is_attached(&self, entry_point: &EntryPoint<'_>) -> bool {
        if self.has_parents() {
            return false;
        }
        match self.entry_points.is_empty() {
            true => entry_point.is_default,
            false => self.names_entry_point(&entry_point.name),
        }
    }

    /// Whether the router gets its requests from other routers, with what their middlewares let through.
    pub fn has_parents(&self) -> bool {
        self.node.get("parentRefs").is_some()
    }

    /// Whether connections reach the router over TLS at this entry point.
    pub fn uses_tls(&self, entry_point: &EntryPoint<'_>) -> bool {
        self.tls.is_some() || entry_point.tls.is_some()
    }

    /// Whether TLS goes on to the servers.
    pub fn passes_tls(&self) -> bool {
        self.tls.is_some_and(|tls| tls.is_on("passthrough"))
    }

    /// Settles what a written router says about itself.
    pub fn settle(&self, notes: &mut ConversionNotes) {
        for key in ["rule", "priority", "entryPoints", "service"] {
            self.node.convert_key(key, notes);
        }
        if let Some(syntax) = self.node.get("ruleSyntax") {
            syntax.not_needed(notes, "both syntaxes are read");
        }
        if let Some(node) = self.node.get("observability") {
            node.changed(
                notes,
                "logs and metrics are those of the whole process",
                "`global.access-log`",
            );
        }
        if let Some(tls) = self.tls.filter(|tls| tls.as_text().is_some()) {
            tls.converted(notes);
        }
    }
}

/// The routers of a table, those with the highest priority first. Of equal ones the first in the file is asked first.
pub fn read_routers<'t>(
    table: Option<&'t OptionNode>,
    layer: RouterLayer,
    checker: &mut DraftChecker,
) -> Vec<TrafficRouter<'t>> {
    let nodes = table.map(OptionNode::entries).unwrap_or_default();
    let mut out: Vec<TrafficRouter<'t>> =
        nodes.iter().map(|node| read_router(node, layer, checker)).collect();
    out.sort_by_key(|router| std::cmp::Reverse(router.priority));
    out
}

fn read_router<'t>(
    node: &'t OptionNode,
    layer: RouterLayer,
    checker: &mut DraftChecker,
) -> TrafficRouter<'t> {
    let text = node.text_of("rule").unwrap_or_default();
    let mut names = Vec::new();
    let mut reach = RuleReach::default();
    let mut is_bound = false;
    let condition = match parse_rule(text) {
        Ok(expression) => {
            names = rule_names(&expression);
            reach = RuleReach::of(&expression);
            is_bound = is_bound_by_names(&expression);
            checker.check_condition(rule_condition(&expression, layer), layer)
        }
        Err(reason) => RuleCondition::Unknown(UnsupportedReason::new(reason, "")),
    };
    let length = i64::try_from(text.len()).unwrap_or(i64::MAX);
    let tls = node.get("tls").filter(|tls| {
        // Labels and arguments write `tls=true`.
        tls.as_text().is_none_or(|text| !text.eq_ignore_ascii_case("false"))
    });
    TrafficRouter {
        node,
        condition,
        names,
        is_bound,
        reach,
        priority: node.number_of("priority").filter(|priority| *priority != 0).unwrap_or(length),
        entry_points: node.texts_of("entryPoints"),
        tls,
    }
}
