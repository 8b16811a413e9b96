//! One change of a header field by a rule of HAProxy, and what depends on its order.

use std::collections::BTreeSet;

use crate::condition::RuleCondition;
use crate::source::SourcePlace;

use super::field_reads::{add_condition_fields, field_key, template_fields};

/// The message that is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangedMessage {
    Request,
    /// Answers that servers gave to requests.
    Answer,
    /// Answers of servers and of the balancer itself.
    EveryAnswer,
}

/// In the order in which one `rewrite` makes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EditAction {
    Remove,
    Set,
    Add,
}

/// A change with its condition.
#[derive(Clone, Debug)]
pub struct FieldEdit {
    pub message: ChangedMessage,
    pub action: EditAction,
    pub name: String,
    /// A template; empty for a removal.
    pub value: String,
    pub when: RuleCondition,
    /// It takes out what clients send, in place of a change that cannot be written.
    pub is_closing: bool,
    /// How many changes of its proxy stand before it.
    pub position: usize,
    pub source: SourcePlace,
    pub text: String,
}

impl FieldEdit {
    pub fn key(&self) -> String {
        field_key(&self.name)
    }

    pub fn is_of_request(&self) -> bool {
        self.message == ChangedMessage::Request
    }

    /// Whether it is made to every message.
    pub fn is_always(&self) -> bool {
        self.when == RuleCondition::Is(true)
    }

    /// Whether nothing is left of what the field was before.
    pub fn replaces(&self) -> bool {
        self.is_always() && self.action != EditAction::Add
    }

    /// The fields that its condition and its value look at.
    pub fn reads(&self) -> BTreeSet<String> {
        let mut fields = self.value_reads();
        add_condition_fields(&self.when, &mut fields);
        fields
    }

    /// The fields of the request that stand in its value.
    pub fn value_reads(&self) -> BTreeSet<String> {
        match self.is_of_request() {
            true => template_fields(&self.value),
            false => BTreeSet::new(),
        }
    }
}
