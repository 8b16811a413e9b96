//! Requests that a rule accepted, which later rules of its kind do not see.

use std::collections::BTreeSet;

use crate::condition::RuleCondition;

use super::field_edit::FieldEdit;
use super::field_reads::add_condition_fields;
use super::header_edits::HeaderEdits;
use super::hidden_inputs::hide_fields;

/// The requests that one rule accepted.
#[derive(Clone, Debug)]
pub struct AcceptedRequests {
    when: RuleCondition,
    reads: BTreeSet<String>,
    /// How many changes of the proxy stand before the rule.
    edits_before: usize,
}

impl AcceptedRequests {
    pub fn new(when: RuleCondition, fields: &HeaderEdits) -> AcceptedRequests {
        let mut reads = BTreeSet::new();
        add_condition_fields(&when, &mut reads);
        AcceptedRequests { when, reads, edits_before: fields.edits.len() }
    }

    /// The condition at a later place, before which these changes stand. HAProxy judged before them, and a later rule
    /// judges anew: it does not know what a field was that was changed since.
    pub fn condition(&self, fields: &HeaderEdits) -> RuleCondition {
        if self.reads.is_empty() {
            return self.when.clone();
        }
        let since = fields.edits.get(self.edits_before..).unwrap_or(&[]);
        let changed = since.iter().map(FieldEdit::key).collect();
        fields.opaque.hide(hide_fields(self.when.clone(), &changed))
    }
}
