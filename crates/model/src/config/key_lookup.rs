//! Finds a key of a table by its name.

use super::schema::{KeySchema, TableSchema};

/// A key of a table, and its position among the keys.
#[derive(Clone, Copy, Debug)]
pub struct FoundKey {
    pub at: usize,
    pub key: &'static KeySchema,
}

impl TableSchema {
    /// The key with this name.
    pub fn find(&self, name: &str) -> Option<FoundKey> {
        let at = self.keys.iter().position(|key| key.name == name)?;
        Some(FoundKey { at, key: &self.keys[at] })
    }
}
