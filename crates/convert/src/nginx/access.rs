//! `allow` and `deny`, and passwords, as rules that refuse.

use crate::condition::RuleCondition;
use crate::notes::ConversionNotes;

use super::rule::NginxRule;
use super::scope::DirectiveScope;
use super::tree::Directive;

/// Rules that refuse whom nginx would refuse. The first line that fits counts, as there.
pub fn rules(scope: &DirectiveScope<'_>, notes: &mut ConversionNotes) -> Vec<NginxRule> {
    let mut out = Vec::new();
    let mut allowed: Vec<RuleCondition> = Vec::new();
    for directive in lists(scope) {
        let place = (directive.line, directive.text());
        let who = match directive.word(0) {
            "all" => RuleCondition::Is(true),
            text if text.starts_with("unix") => continue,
            text => RuleCondition::texts("client", &[text]),
        };
        if directive.name == "allow" {
            allowed.push(who);
            continue;
        }
        let mut all = vec![who];
        all.extend(allowed.iter().cloned().map(RuleCondition::negate));
        out.push(NginxRule::single_key(
            RuleCondition::All(all),
            "deny",
            "true",
            (place.0, &place.1),
        ));
    }
    if let Some(auth) = scope.get("auth_basic").filter(|auth| auth.word(0) != "off") {
        let reason = "requests are not authenticated; so that nothing is open that was closed, a rule refuses what this protected";
        let instead =
            "authenticate at the servers or with `tls.client`, then take the rule with `deny` out";
        notes.left_out(auth.line, &auth.text(), reason, instead);
        out.push(NginxRule::single_key(
            RuleCondition::Is(true),
            "deny",
            "true",
            (auth.line, &auth.text()),
        ));
    }
    out
}

/// `allow` and `deny` of the innermost level that has either, in their order.
fn lists<'t>(scope: &DirectiveScope<'t>) -> Vec<&'t Directive> {
    scope.all_of(&["allow", "deny"])
}
