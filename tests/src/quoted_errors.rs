//! Reasons and problems in responses of the API are written in plain words, because they may quote an error of the
//! system or of a library.
//!
//! The rule finds fields of responses with these names that lack the serializer of `plain_text`. Those that never quote
//! an error are listed.

use crate::tree::{RuleBreach, SourceFile, SourceTree};

const TYPES: &str = "crates/api/src/types/";
const SERIALIZER: &str = "serialize_with = \"crate::plain_text::serialize\"";

/// Names of fields that say what is wrong.
const NAMES: [&str; 6] = ["pins", "problem", "problems", "reason", "unsaved", "warnings"];

/// Types whose reason is a closed text of ours, or an operator's own.
const OWN_TEXTS: [&str; 9] = [
    "BurnAlarm",
    "CapacityLimit",
    "Capture",
    "Draining",
    "NameCandidate",
    "PlannedMaintenance",
    "RequestExplained",
    "RuleMismatch",
    "ServerCandidate",
];

/// Fields that lack it.
pub fn offences(tree: &SourceTree) -> Vec<RuleBreach> {
    tree.files.iter().filter(|file| file.path.starts_with(TYPES)).flat_map(offences_of).collect()
}

fn offences_of(file: &SourceFile) -> Vec<RuleBreach> {
    let mut out = Vec::new();
    let mut type_name = "";
    let mut has_serializer = false;
    for (at, line) in file.text.lines().enumerate() {
        let line = line.trim();
        if let Some(rest) = line.strip_prefix("pub struct ") {
            type_name = rest.split([' ', '<', ';', '(']).next().unwrap_or_default();
        }
        if line.starts_with("#[") {
            has_serializer |= line.contains(SERIALIZER);
            continue;
        }
        let field = line.strip_prefix("pub ").and_then(|rest| rest.split_once(": "));
        let is_text = |kind: &str| ["String,", "Option<String>,", "Vec<String>,"].contains(&kind);
        let quotes = field.is_some_and(|(name, kind)| NAMES.contains(&name) && is_text(kind));
        if quotes && !has_serializer && !OWN_TEXTS.contains(&type_name) {
            let text = format!("`{type_name}` may quote an error: add `#[serde({SERIALIZER})]`");
            out.push(RuleBreach::new(&file.path, at + 1, text));
        }
        has_serializer = false;
    }
    out
}
