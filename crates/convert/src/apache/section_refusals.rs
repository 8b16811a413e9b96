//! Refusals of sections, and which later sections replace them.

use crate::condition::RuleCondition;
use crate::site_rule::SiteRule;
use crate::source::SourcePlace;
use crate::statement::ConfigStatement;
use crate::value::KeyValue;

use super::access::{AccessKinds, SectionAccess};

/// A section behind the one that is looked at.
pub struct LaterSection {
    pub when: RuleCondition,
    pub kinds: AccessKinds,
}

/// The conditions of the later sections that replace rules of access of these kinds.
pub fn replacing(later: &[LaterSection], kinds: AccessKinds) -> Vec<RuleCondition> {
    let replace = later.iter().filter(|section| kinds.is_replaced_by(section.kinds));
    replace.map(|section| section.when.clone()).collect()
}

/// The rule that refuses whoever a section does not let through.
pub fn refusal(
    path: &RuleCondition,
    elsewhere: &[RuleCondition],
    access: &SectionAccess,
    section: &ConfigStatement,
) -> SiteRule {
    let mut all = vec![path.clone()];
    all.extend(elsewhere.iter().cloned().map(RuleCondition::negate));
    all.push(access.allowed.clone().negate());
    let keys = match access.asks_identity {
        true => vec![KeyValue::new("answer", "401")],
        false => vec![KeyValue::new("deny", "true")],
    };
    let source: SourcePlace = section.source;
    SiteRule { when: RuleCondition::All(all), keys, source, text: section.text() }
}
