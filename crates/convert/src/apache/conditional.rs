//! What `<If>` refuses and redirects.

use crate::condition::RuleCondition;
use crate::site_rule::SiteRule;
use crate::statement::ConfigStatement;

use super::access;
use super::client_networks::ProxyTrust;
use super::expression;
use super::host::HostWriter;
use super::redirect;
use super::section_refusals::refusal;

/// Why `<If>` closes more than it did.
const EXPRESSION: &str = "expressions are not read: what the section may refuse is refused";

impl HostWriter<'_, '_> {
    /// What `<If>` refuses. Where its expression is not read, it refuses to all whom it may refuse.
    pub fn conditional_rule(
        &mut self,
        one: &ConfigStatement,
        around: &RuleCondition,
        trust: &ProxyTrust,
    ) -> Option<SiteRule> {
        let access = access::read_conditional(one.inner(), trust, self.notes)?;
        let words = one.words_from(0).join(" ");
        let is_alone = one.name == "if";
        let read = is_alone.then(|| expression::read(&words, self.port, trust)).flatten();
        match read {
            Some(_) => one.settle_converted(self.notes),
            None => one.leave_out(EXPRESSION, "`when` of a rule", self.notes),
        }
        let when = around.clone().and(read.unwrap_or(RuleCondition::Is(true)));
        Some(refusal(&when, &[], &access, one))
    }

    /// The redirects of `<If>`. Where its expression is not read, what it may redirect answers 502.
    pub fn conditional_redirects(
        &mut self,
        one: &ConfigStatement,
        around: &RuleCondition,
    ) -> Vec<SiteRule> {
        if !matches!(one.name.as_str(), "if" | "elseif" | "else") {
            return Vec::new();
        }
        let trust = ProxyTrust::read(&self.scope);
        let words = one.words_from(0).join(" ");
        let read = match one.name.as_str() {
            "if" => expression::read(&words, self.port, &trust),
            _ => None,
        };
        let mut out = Vec::new();
        for redirect in
            one.inner().iter().filter(|one| redirect::NAMES.contains(&one.name.as_str()))
        {
            one.settle_converted(self.notes);
            match &read {
                Some(read) => {
                    let when = around.clone().and(read.clone());
                    out.extend(redirect::section_rules(redirect, &when, self.notes));
                }
                None => {
                    redirect.leave_out(EXPRESSION, "`when` of a rule", self.notes);
                    let text = redirect.text();
                    out.push(SiteRule::answer(around.clone(), 502, redirect.source, &text));
                }
            }
        }
        out
    }
}
