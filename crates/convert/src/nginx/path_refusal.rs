//! The rule that refuses paths which expressions of nginx read otherwise than rules do.

use crate::notes::ConversionNotes;
use crate::path_sight::{self, refused_paths};
use crate::source::SourcePlace;

use super::rule::NginxRule;

/// The rule in front of a service's rules. `source`: its first server.
pub fn refuse_hidden_paths(
    rules: &[NginxRule],
    source: SourcePlace,
    notes: &mut ConversionNotes,
) -> Option<NginxRule> {
    let refused = refused_paths(rules.iter().map(|rule| &rule.when))?;
    if let Some(reason) = refused.reason {
        notes.left_out(source, "server", reason, path_sight::INSTEAD);
    }
    let when = refused.condition();
    Some(NginxRule::single_key(when, "deny", "true", source, path_sight::DIRECTIVE))
}
