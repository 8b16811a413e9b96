//! Finds a key of a table by its name, or by one that it had before.

use super::schema::{KeySchema, Keyword, TableSchema};

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
}
