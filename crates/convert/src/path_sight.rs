//! Paths that expressions of the original read otherwise than rules do, which are refused.

use crate::condition::RuleCondition;
use crate::path_expression::{EncodedSight, encoded_sight};

/// What the rule says that refuses them, where its directive would stand.
pub const DIRECTIVE: &str = "what expressions do not see of paths";

/// Paths to refuse.
pub struct RefusedPaths {
    /// Which ones: `path-regex`.
    pub expression: &'static str,
    /// Why, if the page about conversions does not say it of all files.
    pub reason: Option<&'static str>,
}

impl RefusedPaths {
    pub fn condition(&self) -> RuleCondition {
        RuleCondition::texts("path-regex", &[self.expression])
    }
}

/// The paths that are refused because of what these conditions look at. `None`: there are none.
pub fn refused_paths<'c>(
    conditions: impl Iterator<Item = &'c RuleCondition>,
) -> Option<RefusedPaths> {
    let sights: Vec<EncodedSight> = conditions.flat_map(sights_of).collect();
    if sights.contains(&EncodedSight::None) {
        let reason = "expressions on paths have `\\b`, or flags within, that mean something else where characters are encoded; so that nothing is open that was closed, paths with such a character are refused";
        return Some(RefusedPaths { expression: ".*%.*", reason: Some(reason) });
    }
    // `$` is found before a line feed at the end, and `.` matches none.
    let is_hidden = sights.contains(&EncodedSight::NoLineFeed);
    is_hidden.then_some(RefusedPaths { expression: ".*%0A.*", reason: None })
}

/// What to write in place of such expressions.
pub const INSTEAD: &str = "classes of characters in place of `\\b`";

/// How the expressions of a condition read encoded characters.
fn sights_of(when: &RuleCondition) -> Vec<EncodedSight> {
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
