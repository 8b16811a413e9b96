//! The keys and words that had other names before, for patches of files that still have them.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::file_root::ROOT;
use super::schema::{TableSchema, ValueKind};

/// A key and the names that it had before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenamedKey {
    /// The table, with `NAME` for chosen names: `pool.NAME.probe`.
    pub path: String,
    pub name: &'static str,
    pub former_names: &'static [&'static str],
}

/// A word of a key with a closed list, and the names that it had before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenamedWord {
    /// The key, with `NAME` for chosen names: `pool.NAME.agent.kind`.
    pub path: String,
    pub name: &'static str,
    pub former_names: &'static [&'static str],
}

/// All renamed words of values of keys.
pub fn renamed_words() -> Vec<RenamedWord> {
    let mut out = Vec::new();
    walk_tables(&ROOT, "", &mut Vec::new(), &mut |path, table| {
        for key in table.keys {
            let (ValueKind::Keyword(words) | ValueKind::KeywordList(words)) = &key.kind else {
                continue;
            };
            for word in words.iter().filter(|word| !word.former_names.is_empty()) {
                let path = format!("{path}.{}", key.name);
                out.push(RenamedWord { path, name: word.name, former_names: word.former_names });
            }
        }
    });
    out
}

/// All renamed keys, those of outer tables first.
pub fn renamed_keys() -> Vec<RenamedKey> {
    let mut out = Vec::new();
    walk_tables(&ROOT, "", &mut Vec::new(), &mut |path, table| {
        for key in table.keys.iter().filter(|key| !key.former_names.is_empty()) {
            let path = path.to_owned();
            out.push(RenamedKey { path, name: key.name, former_names: key.former_names });
        }
    });
    out
}

/// The names that keys of this name had before.
pub fn former_names(name: &str) -> &'static [&'static str] {
    static BY_NAME: OnceLock<HashMap<&'static str, &'static [&'static str]>> = OnceLock::new();
    let by_name = BY_NAME
        .get_or_init(|| renamed_keys().iter().map(|key| (key.name, key.former_names)).collect());
    by_name.get(name).copied().unwrap_or_default()
}

/// Visits every table with its path, outer ones first.
fn walk_tables(
    table: &'static TableSchema,
    path: &str,
    above: &mut Vec<&'static TableSchema>,
    visit: &mut impl FnMut(&str, &'static TableSchema),
) {
    // A table inside itself is described once.
    if above.iter().any(|other| std::ptr::eq(*other, table)) {
        return;
    }
    above.push(table);
    visit(path, table);
    for key in table.keys {
        let join = if path.is_empty() { "" } else { "." };
        let inner = format!("{path}{join}{}", key.name);
        match &key.kind {
            ValueKind::Named { table, .. } => {
                walk_tables(table, &format!("{inner}.NAME"), above, visit);
            }
            ValueKind::Table { table, .. } | ValueKind::List { table, .. } => {
                walk_tables(table, &inner, above, visit);
            }
            _ => {}
        }
    }
    above.pop();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_their_former_names_and_none_is_a_key_beside_them() {
        assert!(former_names("fast-interval").contains(&"doubt"));
        assert!(former_names("rise").is_empty());
        let keys = renamed_keys();
        let mut probe = keys.iter().filter(|key| key.path == "pool.NAME.probe");
        assert!(probe.any(|key| key.former_names == ["doubt"]), "{keys:?}");
    }
}
