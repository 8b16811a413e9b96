//! Objects of a kind by their names, and which of them were used.

use std::collections::{HashMap, HashSet};

use super::option_tree::OptionNode;
use super::provider::ObjectProvider;

/// The objects of a table, such as `http.services`. Each is found in the same time, however many there are.
pub struct NamedOptions<'t> {
    provider: ObjectProvider,
    objects: &'t [OptionNode],
    by_name: HashMap<&'t str, &'t OptionNode>,
    used: HashSet<&'t str>,
}

impl<'t> NamedOptions<'t> {
    pub fn new(table: Option<&'t OptionNode>, provider: ObjectProvider) -> NamedOptions<'t> {
        let objects = table.map(OptionNode::entries).unwrap_or_default();
        let mut by_name = HashMap::with_capacity(objects.len());
        for object in objects {
            by_name.entry(object.key.as_str()).or_insert(object);
        }
        NamedOptions { provider, objects, by_name, used: HashSet::new() }
    }

    /// The object of this name, with or without its provider.
    pub fn find(&self, name: &str) -> Option<&'t OptionNode> {
        self.by_name.get(self.provider.local(name)?).copied()
    }

    /// The same. It counts as used.
    pub fn take(&mut self, name: &str) -> Option<&'t OptionNode> {
        let found = self.find(name)?;
        self.used.insert(&found.key);
        Some(found)
    }

    /// What was never taken, in the order of the file.
    pub fn unused(&self) -> impl Iterator<Item = &'t OptionNode> {
        self.objects.iter().filter(|one| !self.used.contains(one.key.as_str()))
    }
}
