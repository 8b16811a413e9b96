//! Closes what rules that cannot be written would leave to rules behind them: their requests must not reach a server that
//! the original would not ask.

use crate::condition::RuleCondition;
use crate::draft_check::{DraftChecker, RouterLayer};
use crate::notes::ConversionNotes;
use crate::site_rule::SiteRule;
use crate::value::KeyValue;

/// The rules of a site with refusals in the place of what cannot be written.
pub fn close_gaps(
    rules: Vec<SiteRule>,
    tls: bool,
    checker: &mut DraftChecker,
    notes: &mut ConversionNotes,
) -> Vec<SiteRule> {
    let mut out = Vec::with_capacity(rules.len());
    // From the last rule on, because it matters which servers the rules behind can reach.
    let mut reaches_server = false;
    for mut rule in rules.into_iter().rev() {
        refuse_rejected(&mut rule, tls, checker, notes);
        if let Some(why) = rule.when.unknown().cloned().filter(|_| !rule.is_refusal()) {
            let certain = rule.when.clone().at_most();
            if reaches_server {
                let reason = format!("{}: requests that it may mean are refused", why.reason);
                notes.left_out(rule.source, &rule.text, &reason, &why.instead);
                let when = rule.when.clone().at_least();
                let keys = vec![KeyValue::new("deny", "true")];
                let text = rule.text.clone();
                out.push(SiteRule { when, keys, source: rule.source, text });
                rule.when = certain.clone();
            }
            reaches_server |= rule.has_pool() && certain.simplify(tls) != RuleCondition::Is(false);
        } else {
            reaches_server |= rule.has_pool();
        }
        out.push(rule);
    }
    out.reverse();
    out
}

/// A rule that the configuration's parser rejects would be taken out later, and its requests would go on.
fn refuse_rejected(
    rule: &mut SiteRule,
    tls: bool,
    checker: &mut DraftChecker,
    notes: &mut ConversionNotes,
) {
    if rule.is_refusal() {
        return;
    }
    let mut keys = rule.keys.clone();
    let when = rule.when.clone().at_most().simplify(tls);
    if when == RuleCondition::Is(false) {
        return;
    }
    keys.extend(when.to_when().map(|when| KeyValue::new("when", when)));
    if let Some(why) = checker.rejection(RouterLayer::Http, &keys) {
        let reason = format!("{why}: its requests are refused");
        notes.left_out(rule.source, &rule.text, &reason, "");
        rule.keys = vec![KeyValue::new("deny", "true")];
    }
}
