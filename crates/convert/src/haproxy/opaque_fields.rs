//! Fields whose values rules cannot know, because a change of them is not written as HAProxy makes it.
//!
//! HAProxy judges by the changed field. Here the change is left out or the field is removed, so that every later test
//! of it counts as one that cannot be written.

use std::collections::BTreeSet;

use crate::condition::RuleCondition;
use crate::notes::UnsupportedReason;

use super::field_edit::FieldEdit;
use super::field_reads::{ANSWER_FIELD, looks_at, template_fields};
use super::hidden_inputs::hide_parts;

/// The fields at one place of the file.
#[derive(Clone, Debug, Default)]
pub struct OpaqueFields {
    requests: BTreeSet<String>,
    answers: BTreeSet<String>,
    /// A rule gave requests another client's address.
    has_other_client: bool,
}

impl OpaqueFields {
    /// Notes that a change of this field is not written as it is.
    pub fn insert(&mut self, key: String, of_request: bool) {
        match of_request {
            true => self.requests.insert(key),
            false => self.answers.insert(key),
        };
    }

    /// Notes a change that is written.
    pub fn settle(&mut self, edit: &FieldEdit) {
        if edit.replaces() {
            match edit.is_of_request() {
                true => self.requests.remove(&edit.key()),
                false => self.answers.remove(&edit.key()),
            };
        }
    }

    /// Notes that requests get another client's address, which no rule and no value knows.
    pub fn change_client(&mut self) {
        self.has_other_client = true;
    }

    /// Whether a rule gave requests another client's address.
    pub fn has_other_client(&self) -> bool {
        self.has_other_client
    }

    /// The condition, with every test of these fields as an unknown part.
    pub fn hide(&self, condition: RuleCondition) -> RuleCondition {
        let condition = match self.has_other_client {
            true => hide_parts(condition, &other_client(), &is_of_client),
            false => condition,
        };
        if self.requests.is_empty() && self.answers.is_empty() {
            return condition;
        }
        let is_hidden = |part: &RuleCondition| match part {
            RuleCondition::Key(ANSWER_FIELD, _) | RuleCondition::AnyCase(ANSWER_FIELD, _) => {
                looks_at(part, &self.answers)
            }
            _ => looks_at(part, &self.requests),
        };
        hide_parts(condition, &reason(), &is_hidden)
    }

    /// Why a value that is made of a request cannot be; `None`: it names none of these fields.
    pub fn hides_value(&self, template: &str) -> Option<UnsupportedReason> {
        let bare = template.replace("{{", "");
        if self.has_other_client
            && ["{client}", "{client-port}"].iter().any(|one| bare.contains(one))
        {
            return Some(other_client());
        }
        (!template_fields(template).is_disjoint(&self.requests)).then(reason)
    }
}

/// Whether a condition is about the client's address or port.
pub fn is_of_client(part: &RuleCondition) -> bool {
    matches!(part, RuleCondition::Key("client" | "client-port", _))
}

fn other_client() -> UnsupportedReason {
    UnsupportedReason::new(
        "`set-src` gives requests another address, which rules do not see",
        "`trust` of the proxies whose X-Forwarded-For is believed",
    )
}

fn reason() -> UnsupportedReason {
    UnsupportedReason::new(
        "it looks at a field that is changed before it in a way that cannot be written",
        "a change of the field that can be written, or a rule about what the change looks at",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_of_fields_that_nobody_knows_are_unknown() {
        let mut fields = OpaqueFields::default();
        fields.insert("x-a".to_owned(), true);
        fields.insert("x-b".to_owned(), false);
        let hides = |key, text| fields.hide(RuleCondition::texts(key, &[text])).unknown().is_some();
        for (key, text, expected) in [
            ("header", "X-A", true),
            ("header-list", "x_a: b", true),
            ("header", "X-B", false),
            (ANSWER_FIELD, "X-A", false),
            (ANSWER_FIELD, "X-B: c", true),
            ("path", "/x-a", false),
        ] {
            assert_eq!(hides(key, text), expected, "{key} {text}");
        }
        assert!(fields.hides_value("a {header.x-a}").is_some());
        assert!(fields.hides_value("a {header.x-b}").is_none());
    }
}
