//! How many rules a virtual host may make, and how much they may have in common.

use crate::condition::RuleCondition;
use crate::site_rule::SiteRule;
use crate::statement::ConfigStatement;

use super::host::HostWriter;

/// The most rules of one virtual host. Each section that changes fields may double those of the paths around it.
pub const RULES: usize = 2_000;

/// The most conditions and fields that rules of one virtual host have in common, counted in each of these rules.
pub const CARRIED: usize = 50_000;

/// Directives that make at least one rule each, or a condition of other rules.
const RULE_MAKERS: [&str; 9] = [
    "proxypass",
    "proxypassmatch",
    "rewriterule",
    "location",
    "locationmatch",
    "redirect",
    "redirectmatch",
    "redirectpermanent",
    "redirecttemp",
];

/// The most fields in all rules of a virtual host, which each rule has for itself.
const FIELDS: usize = 1_000_000;

impl HostWriter<'_, '_> {
    /// Whether its directives alone make more rules than a virtual host may have.
    pub fn makes_too_many_rules(&self) -> bool {
        self.scope.all(&RULE_MAKERS).len() > RULES
    }

    /// Whether its fields, put into each of its rules, are too many.
    pub fn carries_too_many_fields(&self, sections: usize) -> bool {
        let fields = self.scope.all(&["proxypassreverse", "header", "requestheader"]).len();
        let forwards = self.scope.all(&["proxypass", "proxypassmatch", "rewriterule"]).len();
        fields.saturating_mul(forwards + sections) > FIELDS
    }

    /// The one rule of a virtual host that has too many.
    pub fn too_large(&mut self, statement: &ConfigStatement) -> Vec<SiteRule> {
        let reason = "its sections make more rules than one virtual host may have: it answers 502";
        statement.leave_out(reason, "fewer sections that change fields", self.notes);
        vec![SiteRule::answer(RuleCondition::Is(true), 502, statement.source, "")]
    }
}
