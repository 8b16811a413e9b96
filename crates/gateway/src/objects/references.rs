//! References between objects, and the grants that allow them across namespaces.

use serde::{Deserialize, Serialize};

use super::metadata::ObjectMetadata;

/// The group of Gateway API.
pub const GATEWAY_GROUP: &str = "gateway.networking.k8s.io";

/// A parent of a route, as the route names it. It is repeated in the route's status as it was written.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ParentReference {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub section_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
}

/// A reference to the object that requests go to.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BackendReference {
    #[serde(default)]
    pub group: Option<String>,
    #[serde(default)]
    pub kind: Option<String>,
    #[serde(default)]
    pub namespace: Option<String>,
    pub name: String,
    #[serde(default)]
    pub port: Option<u16>,
}

/// A reference to a back end with its weight, in routes without filters of their own.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WeightedReference {
    #[serde(default)]
    pub group: Option<String>,
    #[serde(default)]
    pub kind: Option<String>,
    #[serde(default)]
    pub namespace: Option<String>,
    pub name: String,
    #[serde(default)]
    pub port: Option<u16>,
    #[serde(default = "one")]
    pub weight: u32,
}

/// A reference to a certificate's Secret.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SecretReference {
    #[serde(default)]
    pub group: Option<String>,
    #[serde(default)]
    pub kind: Option<String>,
    #[serde(default)]
    pub namespace: Option<String>,
    pub name: String,
}

/// Allows references from other namespaces into its own.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct ReferenceGrant {
    pub metadata: ObjectMetadata,
    pub spec: ReferenceGrantSpec,
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct ReferenceGrantSpec {
    pub from: Vec<GrantedSource>,
    pub to: Vec<GrantedTarget>,
}

/// Whose references are allowed.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct GrantedSource {
    pub group: String,
    pub kind: String,
    pub namespace: String,
}

/// What may be referred to. Without a name: every object of the kind.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct GrantedTarget {
    pub group: String,
    pub kind: String,
    #[serde(default)]
    pub name: Option<String>,
}

impl WeightedReference {
    pub fn target(&self) -> BackendReference {
        BackendReference {
            group: self.group.clone(),
            kind: self.kind.clone(),
            namespace: self.namespace.clone(),
            name: self.name.clone(),
            port: self.port,
        }
    }
}

pub(super) fn one() -> u32 {
    1
}
