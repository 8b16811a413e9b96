//! Refusals of paths that expressions of nginx read otherwise than rules do.

use crate::condition::RuleCondition;
use crate::notes::ConversionNotes;
use crate::path_expression::{EncodedSight, encoded_sight};
use crate::source::SourcePlace;

use super::rule::NginxRule;

/// The rule in front of a service's rules. `source`: its first server.
pub fn refuse_hidden_paths(
    rules: &[NginxRule],
    source: SourcePlace,
    notes: &mut ConversionNotes,
) -> Option<NginxRule> {
    let sights: Vec<EncodedSight> = rules.iter().flat_map(|rule| sights_of(&rule.when)).collect();
    if sights.contains(&EncodedSight::None) {
        let reason = "expressions on paths have `\\b`, or flags within, that mean something else where characters are encoded; so that nothing is open that was closed, paths with such a character are refused";
        notes.left_out(source, "server", reason, "classes of characters in place of `\\b`");
        return Some(refuse(".*%.*", source));
    }
    // nginx finds `$` before a line feed at the end, and `.` matches none.
    sights.contains(&EncodedSight::NoLineFeed).then(|| refuse(".*%0A.*", source))
}

fn refuse(expression: &str, source: SourcePlace) -> NginxRule {
    let when = RuleCondition::texts("path-regex", &[expression]);
    NginxRule::single_key(when, "deny", "true", source, "what expressions do not see of paths")
}

/// How the expressions of a condition read encoded characters.
pub fn sights_of(when: &RuleCondition) -> Vec<EncodedSight> {
    match when {
        RuleCondition::Key("path-regex", quoted) => {
            quoted.iter().map(|one| encoded_sight(&unquote(one))).collect()
        }
        RuleCondition::Not(inner) => sights_of(inner),
        RuleCondition::All(parts) | RuleCondition::Any(parts) => {
            parts.iter().flat_map(sights_of).collect()
        }
        _ => Vec::new(),
    }
}

/// A text of TOML without its quotes.
fn unquote(quoted: &str) -> String {
    let inner = quoted.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    let mut out = String::new();
    let mut chars = inner.unwrap_or(quoted).chars();
    while let Some(c) = chars.next() {
        out.push(if c == '\\' { chars.next().unwrap_or(c) } else { c });
    }
    out
}
