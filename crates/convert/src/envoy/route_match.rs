//! The match of a route, as a condition of a rule.

use crate::condition::{RuleCondition, escape_regex};
use crate::notes::ConversionNotes;
use crate::structured::node::ConfigNode;

use super::reader::{leave_out, take_flag, take_number, take_text};
use super::strings::{
    StringMatch, TextMatch, header_condition, is_plain_path, parameter_condition, take_regex,
    unsupported,
};

/// How a route compares the path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathMatch {
    Prefix(String),
    Exact(String),
    /// A prefix that ends at a `/` or at the path's end.
    Separated(String),
    Regex(String),
    Other,
}

/// The match of a route.
pub struct RouteMatch {
    pub path: PathMatch,
    /// The path is compared in any letter case.
    pub ignore_case: bool,
    /// What else has to hold.
    pub others: RuleCondition,
    /// Of so many requests in a hundred. `None`: of all.
    pub percent: Option<u64>,
}

impl RouteMatch {
    pub fn read(node: &ConfigNode, notes: &mut ConversionNotes) -> RouteMatch {
        let ignore_case = !take_flag(node, "case_sensitive", notes).unwrap_or(true);
        let path = path_match(node, notes);
        let mut parts = Vec::new();
        for item in node.get("headers").map(ConfigNode::items).unwrap_or_default() {
            parts.push(header_condition(item, notes));
        }
        for item in node.get("query_parameters").map(ConfigNode::items).unwrap_or_default() {
            parts.push(parameter_condition("query", item, notes));
        }
        for item in node.get("cookies").map(ConfigNode::items).unwrap_or_default() {
            parts.push(parameter_condition("cookie", item, notes));
        }
        if let Some(grpc) = node.get("grpc") {
            notes.converted(grpc.source);
            let types = ["content-type: application/grpc", "content-type: application/grpc+*"];
            parts.push(RuleCondition::texts("header", &types));
        }
        let percent = node.get("runtime_fraction").and_then(|field| fraction(field, notes));
        // What else is there cannot be written: the rule refuses.
        for field in node.unread_entries() {
            parts.push(RuleCondition::Unknown(unsupported(field.describe())));
            leave_out(field, "it cannot be a condition of a rule", "`when`", notes);
        }
        RouteMatch { path, ignore_case, others: RuleCondition::All(parts), percent }
    }

    /// The condition on the path.
    pub fn path_condition(&self) -> RuleCondition {
        let matcher = |text: TextMatch| StringMatch { text, ignore_case: self.ignore_case };
        match &self.path {
            PathMatch::Prefix(text) if !text.starts_with('/') && !text.is_empty() => {
                RuleCondition::Is(false)
            }
            PathMatch::Prefix(text) => matcher(TextMatch::Prefix(text.clone())).on_path(),
            PathMatch::Exact(text) => matcher(TextMatch::Exact(text.clone())).on_path(),
            PathMatch::Regex(text) => matcher(TextMatch::Regex(text.clone())).on_path(),
            PathMatch::Separated(text) if is_plain_path(text) && !self.ignore_case => {
                RuleCondition::texts("path", &[text.clone(), format!("{text}/*")])
            }
            PathMatch::Separated(text) => {
                let case = if self.ignore_case { "(?i)" } else { "" };
                RuleCondition::texts(
                    "path-regex",
                    &[format!("{case}{}(?:/.*)?", escape_regex(text))],
                )
            }
            PathMatch::Other => RuleCondition::Unknown(unsupported("this match of the path")),
        }
    }

    /// The condition on the path and on everything else.
    pub fn condition(&self) -> RuleCondition {
        self.path_condition().and(self.others.clone())
    }
}

fn path_match(node: &ConfigNode, notes: &mut ConversionNotes) -> PathMatch {
    if let Some(text) = take_text(node, "prefix", notes) {
        return PathMatch::Prefix(text.to_owned());
    }
    if let Some(text) = take_text(node, "path", notes) {
        return PathMatch::Exact(text.to_owned());
    }
    if let Some(text) = take_text(node, "path_separated_prefix", notes) {
        return PathMatch::Separated(text.to_owned());
    }
    match node.get("safe_regex") {
        Some(regex) => PathMatch::Regex(take_regex(regex, notes)),
        None => PathMatch::Other,
    }
}

/// The percentage of `{default_value: {numerator, denominator}}`. `None` if it is all requests.
pub fn fraction(field: &ConfigNode, notes: &mut ConversionNotes) -> Option<u64> {
    let value = field.get("default_value").unwrap_or(field);
    let numerator = take_number(value, "numerator", notes).unwrap_or(0);
    let denominator = match take_text(value, "denominator", notes).unwrap_or("HUNDRED") {
        "TEN_THOUSAND" | "1" => 10_000,
        "MILLION" | "2" => 1_000_000,
        _ => 100,
    };
    if let Some(key) = field.get("runtime_key") {
        leave_out(
            key,
            "there are no values that change while it runs",
            "`steelyard` and the file",
            notes,
        );
    }
    let percent = numerator.saturating_mul(100) / denominator;
    (percent < 100).then_some(percent)
}
