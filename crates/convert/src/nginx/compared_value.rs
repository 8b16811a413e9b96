//! Texts and expressions that variables are compared with.

use crate::condition::{RuleCondition, escape_regex, whole_path};
use crate::expression_search::search;
use crate::notes::UnsupportedReason;
use crate::path_expression::path_expression;

use super::constant;
use super::path_text::{compared_form, encode_path};

/// What a variable is compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ComparedValue {
    Text {
        text: String,
        ignore_case: bool,
    },
    /// An expression that is found anywhere in the value.
    Search {
        expression: String,
        ignore_case: bool,
    },
    /// `*.shop.example`, as the domain alone.
    HostsBelow(String),
    /// `www.shop.*`, without the last dot.
    HostsBegin(String),
}

impl ComparedValue {
    pub fn exact(text: &str) -> ComparedValue {
        ComparedValue::Text { text: text.to_owned(), ignore_case: false }
    }

    /// Whether a known value matches. `None` if the expression cannot be read.
    pub fn matches(&self, value: &str) -> Option<bool> {
        let lower = value.to_ascii_lowercase();
        match self {
            ComparedValue::Text { text, ignore_case: true } => {
                Some(text.eq_ignore_ascii_case(value))
            }
            ComparedValue::Text { text, ignore_case: false } => Some(text == value),
            ComparedValue::Search { expression, ignore_case } => {
                search(expression, *ignore_case, value)
            }
            ComparedValue::HostsBelow(domain) => Some(
                lower
                    .strip_suffix(&domain.to_ascii_lowercase())
                    .is_some_and(|head| head.len() > 1 && head.ends_with('.')),
            ),
            ComparedValue::HostsBegin(begin) => {
                let rest = lower.strip_prefix(&begin.to_ascii_lowercase());
                Some(rest.is_some_and(|rest| rest.len() > 1 && rest.starts_with('.')))
            }
        }
    }
}

/// An expression that is searched in the decoded path, or `Unknown`.
pub fn path_search(expression: &str, ignore_case: bool) -> RuleCondition {
    let plain = constant::without_lookahead(expression);
    let whole = path_expression(plain.as_deref().unwrap_or(expression), ignore_case);
    if search(&whole, false, "").is_none() {
        return unknown("the expression is one that only PCRE reads, or too long");
    }
    RuleCondition::texts("path-regex", &[whole])
}

/// A condition that cannot be expressed, for this reason.
pub fn unknown(reason: &str) -> RuleCondition {
    RuleCondition::Unknown(UnsupportedReason::new(reason, "a rule with `when`"))
}

/// An exact path. Without regard to case it is an expression, since `path` knows none.
pub fn path_text(text: &str, ignore_case: bool) -> RuleCondition {
    let has_case = ignore_case && text.bytes().any(|b| b.is_ascii_alphabetic());
    let expression = escape_regex(&compared_form(text));
    match (has_case, text.contains('*')) {
        (true, _) => RuleCondition::texts("path-regex", &[format!("(?i){expression}")]),
        (false, true) => RuleCondition::texts("path-regex", &[expression]),
        (false, false) => RuleCondition::texts("path", &[encode_path(text)]),
    }
}

/// An expression that our rules can read, or `Unknown`.
pub fn expression_condition(
    key: &'static str,
    begin: &str,
    expression: &str,
    ignore_case: bool,
) -> RuleCondition {
    let plain = constant::without_lookahead(expression);
    let expression = plain.as_deref().unwrap_or(expression);
    if search(expression, ignore_case, "").is_none() {
        return unknown("the expression is one that only PCRE reads, or too long");
    }
    RuleCondition::texts(key, &[format!("{begin}{}", whole_path(expression, ignore_case))])
}
