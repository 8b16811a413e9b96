//! What rules do not see as Apache does: characters that stay encoded in paths, fields that change before, and
//! conditions that cannot be written.

use crate::condition::RuleCondition;
use crate::nginx::path_expression::EncodedSight;
use crate::nginx::path_refusal::sights_of;
use crate::notes::UnsupportedReason;
use crate::site_rule::SiteRule;
use crate::statement::ConfigStatement;
use crate::value::KeyValue;

use super::host::HostWriter;

impl HostWriter<'_, '_> {
    /// Closes what the rules of a virtual host may mean otherwise than Apache.
    pub fn close_hidden(&mut self, rules: Vec<SiteRule>, host: &ConfigStatement) -> Vec<SiteRule> {
        let early = self.early_fields();
        let mut out = Vec::with_capacity(rules.len());
        let mut sights = Vec::new();
        for mut rule in rules {
            if !early.is_empty() {
                rule.when = hide_fields(rule.when, &early);
            }
            sights.extend(sights_of(&rule.when));
            // Whom a rule that is not certain would take must not come to a later one.
            let closed = (rule.when.unknown().is_some() && !rule.is_refusal())
                .then(|| SiteRule::answer(rule.when.clone(), 502, rule.source, &rule.text));
            out.push(rule);
            out.extend(closed);
        }
        let hidden = if sights.contains(&EncodedSight::None) {
            let reason = "expressions on paths have `\\b`, or flags within, that mean something else where characters are encoded: paths with such a character are refused";
            host.leave_out(reason, "classes of characters in place of `\\b`", self.notes);
            ".*%.*"
        } else if sights.contains(&EncodedSight::NoLineFeed) {
            ".*%0A.*"
        } else {
            return out;
        };
        let when = RuleCondition::texts("path-regex", &[hidden]);
        let keys = vec![KeyValue::new("deny", "true")];
        let text = "what expressions do not see of paths".to_owned();
        out.insert(0, SiteRule { when, keys, source: host.source, text });
        out
    }

    /// The fields of requests that `RequestHeader … early` changes before rules look at them, in small letters.
    fn early_fields(&self) -> Vec<String> {
        let all = self.scope.all(&["requestheader"]);
        let early = all
            .iter()
            .filter(|one| one.words_from(2).iter().any(|word| word.eq_ignore_ascii_case("early")));
        early.map(|one| one.peek(1).trim_end_matches(':').to_ascii_lowercase()).collect()
    }
}

/// The condition with each part unknown that looks at one of these fields.
fn hide_fields(when: RuleCondition, names: &[String]) -> RuleCondition {
    let each = |parts: Vec<RuleCondition>| {
        parts.into_iter().map(|part| hide_fields(part, names)).collect()
    };
    let is_hidden = |values: &[String]| {
        values.iter().any(|value| {
            let text = value.trim_start_matches('"').to_ascii_lowercase();
            let name = text.split([':', '"']).next().unwrap_or_default();
            names.iter().any(|one| one == name)
        })
    };
    match when {
        RuleCondition::Key(key, values) | RuleCondition::AnyCase(key, values)
            if key.starts_with("header") && is_hidden(&values) =>
        {
            let reason = "`RequestHeader … early` changes the field before Apache looks at it";
            RuleCondition::Unknown(UnsupportedReason::new(reason, "`edit` of the service"))
        }
        RuleCondition::All(parts) => RuleCondition::All(each(parts)),
        RuleCondition::Any(parts) => RuleCondition::Any(each(parts)),
        RuleCondition::Not(inner) => RuleCondition::Not(Box::new(hide_fields(*inner, names))),
        other => other,
    }
}
