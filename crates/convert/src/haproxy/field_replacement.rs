//! `replace-header` and `replace-value`: a field whose value fits an expression gets another value.

use crate::condition::{RuleCondition, whole_path};
use crate::notes::UnsupportedReason;

use super::field_edit::ChangedMessage;
use super::field_reads::ANSWER_FIELD;
use super::log_format;

/// Expressions that fit every value.
const EVERY_VALUE: [&str; 8] = [".*", "^.*", ".*$", "^.*$", "(.*)", "^(.*)", "(.*)$", "^(.*)$"];

/// The new value of a field.
#[derive(Debug)]
pub struct FieldReplacement {
    /// Where the field gets it.
    pub when: RuleCondition,
    /// `None`: it is made in a way that cannot be written.
    pub template: Option<String>,
}

impl FieldReplacement {
    /// Reads the words of an action: its name, the field, the expression and the text. `None`: it replaces nothing.
    pub fn read(message: ChangedMessage, action: &[String]) -> Option<FieldReplacement> {
        let word = |at: usize| action.get(at).map_or("", String::as_str);
        if !word(0).starts_with("replace-") {
            return None;
        }
        let name = word(1);
        let search = word(2);
        let is_request = message == ChangedMessage::Request;
        // One element of a list is enough for `replace-value`, and any value may have it.
        let every = EVERY_VALUE.contains(&search) || word(0) == "replace-value";
        let text = action.get(3..).unwrap_or(&[]).join(" ");
        let when = match (is_request, every) {
            (true, true) => RuleCondition::texts("header", &[name]),
            (true, false) => {
                let expression = format!("{name}: {}", whole_path(search, false));
                RuleCondition::texts("header-regex", &[expression])
            }
            (false, true) => RuleCondition::texts(ANSWER_FIELD, &[name]),
            (false, false) => RuleCondition::Unknown(UnsupportedReason::new(
                "values of fields of answers are not held against expressions",
                "do it at the servers",
            )),
        };
        // `replace-value` is about the elements of a list.
        let template = match word(0) {
            "replace-header" => template(name, &text, every, search.contains('('), is_request),
            _ => None,
        };
        Some(FieldReplacement { when, template })
    }
}

/// The text with what was found of the field. Only the whole value has a variable.
fn template(
    name: &str,
    text: &str,
    every: bool,
    has_group: bool,
    is_request: bool,
) -> Option<String> {
    let known = if name.eq_ignore_ascii_case("host") {
        "{host}".to_owned()
    } else {
        format!("{{header.{}}}", name.to_ascii_lowercase())
    };
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let group = rest.get(at + 1..at + 2)?;
        let is_whole = group == "0" || group == "1" && has_group;
        if group.starts_with(|c: char| c.is_ascii_digit()) {
            if !every || !is_whole || !is_request {
                return None;
            }
            out.push_str(&log_format::variables(&rest[..at])?);
            out.push_str(&known);
        } else {
            // The sign itself.
            out.push_str(&log_format::variables(&rest[..at])?);
            out.push_str(&log_format::variables(group)?);
        }
        rest = rest.get(at + 2..)?;
    }
    out.push_str(&log_format::message_variables(rest, is_request)?);
    Some(out)
}
