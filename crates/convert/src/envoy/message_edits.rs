//! Changes of the fields of one message, in the order in which Envoy makes them.

use std::collections::BTreeSet;

/// Changes of the fields of a message.
#[derive(Clone, Debug, Default)]
pub struct MessageEdits {
    pub set: Vec<String>,
    pub add: Vec<String>,
    pub remove: Vec<String>,
    /// Fields whose values would need what a field was changed to before. They are removed.
    pub blind: BTreeSet<String>,
}

impl MessageEdits {
    /// Sets a field, "name: value", in the place of all that are there.
    pub fn set_field(&mut self, field: String) {
        self.forget(name_of(&field));
        self.set.push(field);
    }

    /// Removes a field, also one that these edits added.
    pub fn remove_field(&mut self, name: &str) {
        self.forget(name);
        self.remove.push(name.to_owned());
    }

    fn forget(&mut self, name: &str) {
        self.set.retain(|field| name_of(field) != name);
        self.add.retain(|field| name_of(field) != name);
    }

    /// Names of the fields that these edits change.
    pub fn changed(&self) -> BTreeSet<&str> {
        let written = self.set.iter().chain(&self.add).map(|field| name_of(field));
        written.chain(self.remove.iter().map(String::as_str)).collect()
    }

    /// Takes out fields whose values have one that `earlier` edits change: values see what the client sent.
    pub fn without_reads(mut self, earlier: &MessageEdits) -> MessageEdits {
        let changed = earlier.changed();
        let reads = |field: &&String| reads_any(field, &changed);
        let stale: BTreeSet<String> = self
            .set
            .iter()
            .chain(&self.add)
            .filter(reads)
            .map(|field| name_of(field).to_owned())
            .collect();
        for name in &stale {
            self.remove_field(name);
        }
        self.blind.extend(stale);
        self
    }

    /// Adds edits that are made after these.
    pub fn then(mut self, later: &MessageEdits) -> MessageEdits {
        self.blind.extend(later.blind.iter().cloned());
        for name in &later.remove {
            self.remove_field(name);
        }
        for field in &later.set {
            self.set_field(field.clone());
        }
        self.add.extend(later.add.iter().cloned());
        self
    }

    /// Brings the edits into the order of the keys: set, add, remove.
    pub fn arrange(&mut self) {
        for field in std::mem::take(&mut self.add) {
            let name = name_of(&field);
            let is_set = self.set.iter().any(|other| name_of(other) == name);
            // A field that is removed and then added replaces the client's.
            if !is_set && self.remove.iter().any(|other| other == name) {
                self.set.push(field);
            } else {
                self.add.push(field);
            }
        }
        let set = &self.set;
        self.remove.retain(|name| !set.iter().any(|field| name_of(field) == name));
        self.remove.sort();
        self.remove.dedup();
    }
}

/// Whether a value has one of these fields of requests.
pub fn reads_any(field: &str, names: &BTreeSet<&str>) -> bool {
    field
        .replace("{{", "")
        .split("{header.")
        .skip(1)
        .any(|rest| rest.split('}').next().is_some_and(|name| names.contains(name)))
}

/// The name of "name: value".
pub fn name_of(field: &str) -> &str {
    field.split(':').next().unwrap_or_default()
}
