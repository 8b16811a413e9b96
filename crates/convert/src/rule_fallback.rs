//! What is written in place of a rule that the configuration's parser rejects: less, and never more open.

use crate::document::{TomlTable, TomlValue};
use crate::source::SourcePlace;

/// A step from a rejected rule to one that may pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleFallback {
    /// Without this key, which neither chooses nor protects.
    Without(&'static str),
    /// `deny` under the same condition.
    Deny,
    /// A refusal under the condition without this key: it refuses all that the key could have told apart.
    DenyWider(String),
    /// `deny` of everything, because the condition cannot be written.
    DenyAll,
    /// 502 under the same condition: servers trust the fields that the rule was to set or remove, and no server may get
    /// what was to be redirected.
    Answer502,
}

/// Keys of a rule without which its requests go where they should, and are limited as they should.
const SECONDARY: [&str; 7] =
    ["name", "timeout", "retries", "retry", "buffer", "mirror", "priority"];

impl RuleFallback {
    /// For a rule with a rejected key. `path`: that of the rejected value. `None`: the table is no rule.
    pub fn for_entry(table: &TomlTable, which: usize, path: &str) -> Option<RuleFallback> {
        let entry = table.entries.get(which)?;
        if !is_rule(table) {
            return None;
        }
        Some(match (entry.key, is_refusal(table)) {
            (key, _) if SECONDARY.contains(&key) => RuleFallback::Without(key),
            ("rewrite", true) => RuleFallback::Without("rewrite"),
            ("when", _) => match condition_key(path) {
                Some(key) => RuleFallback::DenyWider(key.to_owned()),
                None => RuleFallback::DenyAll,
            },
            ("rewrite" | "redirect", false) => RuleFallback::Answer502,
            _ => RuleFallback::Deny,
        })
    }

    /// For a rule that is rejected as a whole. `None`: it is no rule, or the least refusal.
    pub fn for_table(table: &TomlTable) -> Option<RuleFallback> {
        if !is_rule(table) {
            return None;
        }
        let is_least = |key: &str| matches!(key, "when" | "deny");
        match is_refusal(table) && table.entries.iter().all(|entry| is_least(entry.key)) {
            false => Some(RuleFallback::Deny),
            true => table.has("when").then_some(RuleFallback::DenyAll),
        }
    }

    /// Whether it refuses what the rule was to let through.
    pub fn closes(&self, table: &TomlTable) -> bool {
        !is_refusal(table) && !matches!(self, RuleFallback::Without(_))
    }

    pub fn apply(&self, table: &mut TomlTable) {
        let mut keep = |wanted: fn(&str) -> bool| table.entries.retain(|entry| wanted(entry.key));
        match self {
            RuleFallback::Without(key) => table.entries.retain(|entry| entry.key != *key),
            RuleFallback::Deny => {
                keep(|key| key == "when");
                table.set("deny", "true", SourcePlace::NONE);
            }
            RuleFallback::DenyWider(key) => {
                if !is_refusal(table) {
                    table.entries.retain(|entry| entry.key == "when");
                    table.set("deny", "true", SourcePlace::NONE);
                }
                widen_condition(table, key);
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

/// The key of `when` that a path leads to or into: `path` in `service.a.rule[0].when.path[1]`. All keys of a condition
/// hold together, so that it is wider without one of them.
fn condition_key(path: &str) -> Option<&str> {
    let (_, rest) = path.split_once(".when.")?;
    let key = rest.split(['.', '[']).next()?;
    // Without it, values are compared more narrowly.
    (key != "value-case" && !key.is_empty()).then_some(key)
}

/// Takes a key out of the rule's condition, and the whole condition if it was the only one.
fn widen_condition(table: &mut TomlTable, key: &str) {
    let written = table.get("when").and_then(|when| when.parse::<toml_edit::Value>().ok());
    let mut condition = match written {
        Some(toml_edit::Value::InlineTable(condition)) => condition,
        _ => toml_edit::InlineTable::new(),
    };
    let expression = condition.remove(key).filter(|_| key == "path-regex");
    if let Some(wider) = expression.as_ref().and_then(without_look_around) {
        condition.insert("path-regex", wider.into());
    } else if let Some(prefix) = expression.as_ref().and_then(literal_prefix)
        && !condition.contains_key("path")
    {
        condition.insert("path", prefix.into());
    }
    if !condition.iter().any(|(key, _)| PLAIN.contains(&key) || key.contains("header")) {
        condition.remove("value-case");
    }
    condition.fmt();
    let wider = condition.to_string().trim().to_owned();
    match table.entries.iter_mut().find(|entry| entry.key == "when") {
        Some(entry) if !condition.is_empty() => entry.value = TomlValue::Single(wider),
        _ => table.entries.retain(|entry| entry.key != "when"),
    }
}

/// The expression without its look-arounds, which only narrow it; `None`: it has none, or one that is counted.
fn without_look_around(expression: &toml_edit::Value) -> Option<String> {
    let text = expression.as_str()?;
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if LOOK_AROUND.iter().any(|open| rest.starts_with(open)) {
            rest = rest.get(group_length(rest)?..)?;
            if rest.starts_with('{') {
                return None;
            }
            continue;
        }
        let length = atom_length(rest).unwrap_or(c.len_utf8());
        out.push_str(rest.get(..length)?);
        rest = rest.get(length..)?;
    }
    (out != text).then_some(out)
}

const LOOK_AROUND: [&str; 4] = ["(?=", "(?!", "(?<=", "(?<!"];

/// Bytes of the group that an expression begins with; `None`: it does not end.
fn group_length(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(c) = text.get(at..)?.chars().next() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        at += atom_length(text.get(at..)?).unwrap_or(c.len_utf8());
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// Bytes of the escape or the class of characters that an expression begins with, in which a parenthesis is a character.
fn atom_length(text: &str) -> Option<usize> {
    if let Some(escaped) = text.strip_prefix('\\') {
        return Some(1 + escaped.chars().next().map_or(0, char::len_utf8));
    }
    let inner = text.strip_prefix('[')?;
    let negated = usize::from(inner.starts_with('^'));
    // A bracket at the beginning of a class is one of its characters.
    let mut at = negated + usize::from(inner.get(negated..)?.starts_with(']'));
    while let Some(c) = inner.get(at..)?.chars().next() {
        match c {
            ']' => return Some(at + 2),
            '\\' => at += atom_length(inner.get(at..)?)?,
            _ => at += c.len_utf8(),
        }
    }
    None
}

/// A path that begins as every path does that a rejected expression may have meant; `None`: they have no common beginning.
fn literal_prefix(expression: &toml_edit::Value) -> Option<String> {
    let text = expression.as_str().filter(|text| text.starts_with('/') && !text.contains('|'))?;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '-' | '_');
    let end = text.find(|c| !plain(c)).unwrap_or(text.len());
    let (prefix, rest) = text.split_at(end);
    // What is repeated may not be there at all.
    let prefix = match rest.starts_with(['*', '?', '{']) {
        true => &prefix[..prefix.len() - 1],
        false => prefix,
    };
    (prefix.len() > 1).then(|| format!("{prefix}*"))
}

/// Keys beside those of fields whose values have a letter case.
const PLAIN: [&str; 2] = ["cookie", "query"];

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

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(when: &str, action: &'static str, value: &str) -> TomlTable {
        let mut table = TomlTable::one_of("service.a.rule", SourcePlace::NONE, "");
        table.set("when", when, SourcePlace::NONE);
        table.set(action, value, SourcePlace::NONE);
        table
    }

    fn written(table: &TomlTable) -> String {
        let line = |key: &str| table.get(key).map(|value| format!("{key} = {value};"));
        ["when", "pool", "answer", "deny"].into_iter().filter_map(line).collect()
    }

    #[test]
    fn a_rejected_condition_refuses_all_that_it_may_have_meant() {
        let both = "{ host = \"a\", path = \"b\", value-case = \"ignore\" }";
        for (when, action, value, path, expected) in [
            (
                both,
                "pool",
                "\"p\"",
                "service.a.rule[0].when.path",
                "when = { host = \"a\" };deny = true;",
            ),
            (
                both,
                "pool",
                "\"p\"",
                "service.a.rule[0].when.path[1]",
                "when = { host = \"a\" };deny = true;",
            ),
            (
                both,
                "answer",
                "404",
                "service.a.rule[0].when.host",
                "when = { path = \"b\" };answer = 404;",
            ),
            (both, "pool", "\"p\"", "service.a.rule[0].when.value-case", "deny = true;"),
            (
                "{ not = { path = \"b\" } }",
                "pool",
                "\"p\"",
                "service.a.rule[0].when.not.path",
                "deny = true;",
            ),
        ] {
            let mut table = rule(when, action, value);
            let fallback = RuleFallback::for_entry(&table, 0, path).unwrap();
            fallback.apply(&mut table);
            assert_eq!(written(&table), expected, "{when} {path}");
        }
        for (expression, expected) in [
            ("/a(?=y).*", "when = { path-regex = \"/a.*\" };deny = true;"),
            ("/(?!admin)(x|y)", "when = { path-regex = \"/(x|y)\" };deny = true;"),
            ("/a[(?=]b(?<!c(d)[)])e", "when = { path-regex = \"/a[(?=]be\" };deny = true;"),
            ("/ab(?=c){2}d", "when = { path = \"/ab*\" };deny = true;"),
            ("/ab(?=c", "when = { path = \"/ab*\" };deny = true;"),
            ("(.)(?=c", "deny = true;"),
        ] {
            let mut table = rule(&format!("{{ path-regex = '{expression}' }}"), "pool", "\"p\"");
            let path = "service.a.rule[0].when.path-regex";
            RuleFallback::for_entry(&table, 0, path).unwrap().apply(&mut table);
            assert_eq!(written(&table), expected, "{expression}");
        }
        let mut table = rule(both, "pool", "3");
        RuleFallback::for_entry(&table, 1, "service.a.rule[0].pool").unwrap().apply(&mut table);
        assert!(table.has("deny") && table.has("when") && !table.has("pool"));
    }
}
