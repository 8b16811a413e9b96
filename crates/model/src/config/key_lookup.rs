//! Finds a key of a table by its name, or by one that it had before.

use super::schema::{KeySchema, TableSchema};

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
