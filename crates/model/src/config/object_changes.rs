//! Named objects that differ between two configurations.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Objects by name that were added, removed or changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ObjectChanges<C> {
    pub added: Vec<String>,
    pub removed: Vec<String>,
    /// Objects in both configurations, with their changes.
    pub changed: BTreeMap<String, C>,
}

impl<C> ObjectChanges<C> {
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty()
    }
}

impl<C> Default for ObjectChanges<C> {
    fn default() -> Self {
        ObjectChanges { added: Vec::new(), removed: Vec::new(), changed: BTreeMap::new() }
    }
}

pub fn diff_objects<T: PartialEq, C>(
    old: &BTreeMap<String, Arc<T>>,
    new: &BTreeMap<String, Arc<T>>,
    change: impl Fn(&T, &T) -> C,
) -> ObjectChanges<C> {
    let both = old.iter().filter_map(|(name, old)| Some((name, old, new.get(name)?)));
    let differ = both.filter(|(_, old, new)| !Arc::ptr_eq(old, new) && old != new);
    ObjectChanges {
        added: new.keys().filter(|name| !old.contains_key(*name)).cloned().collect(),
        removed: old.keys().filter(|name| !new.contains_key(*name)).cloned().collect(),
        changed: differ.map(|(name, old, new)| (name.clone(), change(old, new))).collect(),
    }
}
