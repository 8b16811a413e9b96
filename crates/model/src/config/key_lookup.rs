//! Finds a key of a table by its name, or by one that it had before.

use super::schema::{KeySchema, Keyword, TableSchema, ValueKind};
use super::suggestion::nearest_match;

/// A key of a table, and its position among the keys.
#[derive(Clone, Copy, Debug)]
pub struct FoundKey {
    pub at: usize,
    pub key: &'static KeySchema,
}

impl KeySchema {
    /// Names that the key had before. They are read for one minor version more, with a warning; docs/reference/renamed.md
    /// lists them.
    pub const fn formerly(mut self, names: &'static [&'static str]) -> KeySchema {
        self.former_names = names;
        self
    }
}

impl Keyword {
    /// Names that the word had before, which are read as former names of keys are.
    pub const fn formerly(mut self, names: &'static [&'static str]) -> Keyword {
        self.former_names = names;
        self
    }

    /// Whether this is the word, by its name or a former one.
    pub fn is_named(&self, text: &str) -> bool {
        self.name == text || self.former_names.contains(&text)
    }
}

impl TableSchema {
    /// The key with this name.
    pub fn find(&self, name: &str) -> Option<FoundKey> {
        let at = self.keys.iter().position(|key| key.name == name)?;
        Some(FoundKey { at, key: &self.keys[at] })
    }

    /// The key that had this name before.
    pub fn find_former(&self, name: &str) -> Option<FoundKey> {
        let at = self.keys.iter().position(|key| key.former_names.contains(&name))?;
        Some(FoundKey { at, key: &self.keys[at] })
    }

    /// The name of the key that an unknown one probably means: of the key that has, or had, the most similar name.
    pub fn nearest_key(&self, unknown: &str) -> Option<&'static str> {
        let keys = || self.keys.iter().filter(|key| !matches!(key.kind, ValueKind::Refused(_)));
        let former = keys().flat_map(|key| key.former_names.iter().copied());
        let near = nearest_match(unknown, keys().map(|key| key.name).chain(former))?;
        let found = self.find(near).or_else(|| self.find_former(near))?;
        Some(found.key.name)
    }
}

/// The available word of a closed list that an unknown one probably means, by its name or a former one.
pub fn nearest_word(words: &'static [Keyword], unknown: &str) -> Option<&'static str> {
    let words = || words.iter().filter(|word| word.available);
    let former = words().flat_map(|word| word.former_names.iter().copied());
    let near = nearest_match(unknown, words().map(|word| word.name).chain(former))?;
    let by_name = words().find(|word| word.name == near);
    by_name.or_else(|| words().find(|word| word.is_named(near))).map(|word| word.name)
}
