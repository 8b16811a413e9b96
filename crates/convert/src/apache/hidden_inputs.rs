//! What rules do not see as Apache does: characters that stay encoded in paths, fields that change before, and
//! conditions that cannot be written.

use crate::field_sight::hide_fields;
use crate::path_sight::{self, refused_paths};
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
        for mut rule in rules {
            if !early.is_empty() {
                let is_hidden = |name: &str| early.iter().any(|one| one == name);
                rule.when = hide_fields(rule.when, &is_hidden, EARLY);
            }
            // Whom a rule that is not certain would take must not come to a later one.
            let closed = (rule.when.unknown().is_some() && !rule.is_refusal())
                .then(|| SiteRule::answer(rule.when.clone(), 502, rule.source, &rule.text));
            out.push(rule);
            out.extend(closed);
        }
        let Some(refused) = refused_paths(out.iter().map(|rule| &rule.when)) else { return out };
        if let Some(reason) = refused.reason {
            host.leave_out(reason, path_sight::INSTEAD, self.notes);
        }
        let when = refused.condition();
        let keys = vec![KeyValue::new("deny", "true")];
        let text = path_sight::DIRECTIVE.to_owned();
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
