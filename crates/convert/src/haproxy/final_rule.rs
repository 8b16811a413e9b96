//! A rule with an action that ends the processing of a request: a refusal, a redirect or an answer.

use std::collections::BTreeSet;

use crate::condition::RuleCondition;
use crate::rule_fallback::answer_status;
use crate::source::SourcePlace;

use super::field_reads::add_condition_fields;
use super::path_change;

/// A rule with an action that ends the processing of a request.
#[derive(Clone, Debug)]
pub struct FinalRule {
    pub when: RuleCondition,
    /// `deny`, `redirect` or `answer`.
    pub key: &'static str,
    pub value: String,
    /// How many changes of fields stand before it.
    pub edits_before: usize,
    pub source: SourcePlace,
    pub text: String,
}

impl FinalRule {
    /// The fields that its condition and its answer look at.
    pub fn reads(&self) -> BTreeSet<String> {
        let mut fields = BTreeSet::new();
        add_condition_fields(&self.when, &mut fields);
        if self.key == "redirect" {
            fields.insert("host".to_owned());
        }
        fields
    }

    /// Whether its condition or its answer looks at the path.
    pub fn reads_path(&self) -> bool {
        self.key == "redirect" || path_change::reads_path(&self.when)
    }

    /// Whether the rule refuses what it takes.
    pub fn is_refusal(&self) -> bool {
        match self.key {
            "deny" => true,
            "answer" => answer_status(&self.value).is_none_or(|status| status >= 400),
            _ => false,
        }
    }
}
