//! What every object has: its name, its namespace, its age and its labels.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// The namespace of an object that names none, as `kubectl` has it.
pub const DEFAULT_NAMESPACE: &str = "default";

/// The metadata of an object, as far as it is read.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct ObjectMetadata {
    pub name: String,
    #[serde(default)]
    pub namespace: Option<String>,
    /// RFC 3339 in UTC, as the API server writes it. Absent in a file that was never applied.
    #[serde(default)]
    pub creation_timestamp: Option<String>,
    #[serde(default)]
    pub generation: i64,
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    #[serde(default)]
    pub annotations: BTreeMap<String, String>,
}

/// A namespace and a name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct ObjectKey {
    pub namespace: String,
    pub name: String,
}

/// The order of objects that contradict each other: the oldest first, then by namespace and name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectAge {
    /// Objects without a timestamp are not created yet: they come last.
    has_no_timestamp: bool,
    timestamp: String,
    /// `NAMESPACE/NAME`, which the specification compares as one text.
    name: String,
}

impl ObjectMetadata {
    /// The key of an object that lives in a namespace.
    pub fn key(&self) -> ObjectKey {
        ObjectKey { namespace: self.namespace().to_owned(), name: self.name.clone() }
    }

    pub fn namespace(&self) -> &str {
        self.namespace.as_deref().filter(|text| !text.is_empty()).unwrap_or(DEFAULT_NAMESPACE)
    }

    pub fn age(&self) -> ObjectAge {
        ObjectAge {
            has_no_timestamp: self.creation_timestamp.is_none(),
            timestamp: self.creation_timestamp.clone().unwrap_or_default(),
            name: self.key().to_string(),
        }
    }
}

impl ObjectKey {
    pub fn new(namespace: &str, name: &str) -> ObjectKey {
        ObjectKey { namespace: namespace.to_owned(), name: name.to_owned() }
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}
