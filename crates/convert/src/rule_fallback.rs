//! What is written in place of a rule that the configuration's parser rejects: less, and never more open.

use crate::document::{TomlTable, TomlValue};
use crate::source::SourcePlace;

/// A step from a rejected rule to one that may pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleFallback {
    /// Without this key, which neither chooses nor protects.
    Without(&'static str),
    /// `deny` under the same condition.
    Deny,
    /// `deny` of everything, because the condition cannot be written.
    DenyAll,
    /// 502 under the same condition: servers trust the fields that the rule was to set or remove, and no server may get
    /// what was to be redirected.
    Answer502,
}

impl RuleFallback {
    /// For a rule with a rejected key. `None`: the table is no rule, or the whole rule has to go.
    pub fn for_entry(table: &TomlTable, which: usize) -> Option<RuleFallback> {
        let entry = table.entries.get(which)?;
        if !is_rule(table) {
            return None;
        }
        match (entry.key, is_refusal(table)) {
            ("name", _) | ("rewrite", true) => Some(RuleFallback::Without(entry.key)),
            ("when", true) => Some(RuleFallback::DenyAll),
            (_, true) => Some(RuleFallback::Deny),
            ("rewrite" | "redirect", false) => Some(RuleFallback::Answer502),
            (_, false) => None,
        }
    }

    /// For a rule that is rejected as a whole. `None`: it is no refusal, or the least one.
    pub fn for_table(table: &TomlTable) -> Option<RuleFallback> {
        if !is_rule(table) || !is_refusal(table) {
            return None;
        }
        let is_least = |key: &str| matches!(key, "when" | "deny");
        match table.entries.iter().all(|entry| is_least(entry.key)) {
            false => Some(RuleFallback::Deny),
            true => table.has("when").then_some(RuleFallback::DenyAll),
        }
    }

    pub fn apply(self, table: &mut TomlTable) {
        let mut keep = |wanted: fn(&str) -> bool| table.entries.retain(|entry| wanted(entry.key));
        match self {
            RuleFallback::Without(key) => table.entries.retain(|entry| entry.key != key),
            RuleFallback::Deny => {
                keep(|key| key == "when");
                table.set("deny", "true", SourcePlace::NONE);
            }
            RuleFallback::DenyAll => {
                keep(|_| false);
                table.set("deny", "true", SourcePlace::NONE);
            }
            RuleFallback::Answer502 => {
                keep(|key| key == "when");
                table.set("answer", "502", SourcePlace::NONE);
            }
        }
    }
}

fn is_rule(table: &TomlTable) -> bool {
    table.atomic && table.path.ends_with(".rule")
}

/// Whether a rule refuses: `deny`, or `answer` with a status from 400 on.
pub fn is_refusal(table: &TomlTable) -> bool {
    let refuses = |entry: &crate::document::TomlEntry| match (entry.key, &entry.value) {
        ("deny", _) => true,
        // A status that is no number is not known to let anything through.
        ("answer", TomlValue::Single(value)) => {
            answer_status(value).is_none_or(|status| status >= 400)
        }
        _ => false,
    };
    is_rule(table) && table.entries.iter().any(refuses)
}

/// The status of an `answer`, a number or a table that begins with it.
pub fn answer_status(value: &str) -> Option<u16> {
    let digits = value.trim_start_matches("{ status = ");
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse().ok()
}
