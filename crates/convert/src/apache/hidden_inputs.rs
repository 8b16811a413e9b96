//! What rules do not see as Apache does: characters that stay encoded in paths, fields that change before, and
//! conditions that cannot be written.

use crate::condition::RuleCondition;
use crate::field_sight::hide_fields;
use crate::nginx::path_refusal::sights_of;
use crate::path_expression::EncodedSight;
use crate::site_rule::SiteRule;
use crate::statement::ConfigStatement;
use crate::value::KeyValue;

use super::host::HostWriter;

/// Why tests of a field are not written.
const EARLY: &str = "`RequestHeader … early` changes the field before Apache looks at it";

impl HostWriter<'_, '_> {
    /// Closes what the rules of a virtual host may mean otherwise than Apache.
    pub fn close_hidden(&mut self, rules: Vec<SiteRule>, host: &ConfigStatement) -> Vec<SiteRule> {
        let early = self.early_fields();
        let mut out = Vec::with_capacity(rules.len());
        let mut sights = Vec::new();
        for mut rule in rules {
            if !early.is_empty() {
                let is_hidden = |name: &str| early.iter().any(|one| one == name);
                rule.when = hide_fields(rule.when, &is_hidden, EARLY);
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
