//! Objects of Kubernetes itself: Service, EndpointSlice, Secret and Namespace, as far as they are read. Their other
//! fields are not looked at.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;

use super::metadata::ObjectMetadata;

/// The label of an EndpointSlice that names its Service.
pub const SERVICE_NAME_LABEL: &str = "kubernetes.io/service-name";

#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct ServiceObject {
    pub metadata: ObjectMetadata,
    #[serde(default)]
    pub spec: ServiceSpec,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct ServiceSpec {
    #[serde(default, rename = "type")]
    pub kind: Option<String>,
    #[serde(default)]
    pub ports: Vec<ServicePort>,
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct ServicePort {
    #[serde(default)]
    pub name: Option<String>,
    pub port: u16,
    #[serde(default)]
    pub protocol: Option<String>,
    #[serde(default)]
    pub app_protocol: Option<String>,
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct EndpointSlice {
    pub metadata: ObjectMetadata,
    #[serde(default)]
    pub address_type: Option<String>,
    #[serde(default)]
    pub endpoints: Vec<SliceEndpoint>,
    #[serde(default)]
    pub ports: Vec<SlicePort>,
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct SliceEndpoint {
    #[serde(default)]
    pub addresses: Vec<String>,
    #[serde(default)]
    pub conditions: EndpointConditions,
}

/// What an endpoint can do. Absent means ready, serving and not terminating.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct EndpointConditions {
    #[serde(default)]
    pub ready: Option<bool>,
    #[serde(default)]
    pub serving: Option<bool>,
    #[serde(default)]
    pub terminating: Option<bool>,
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct SlicePort {
    #[serde(default)]
    pub name: Option<String>,
    #[serde(default)]
    pub port: Option<u16>,
    #[serde(default)]
    pub protocol: Option<String>,
}

/// A Secret. Its data is not shown in debug output.
#[derive(Clone, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct SecretObject {
    pub metadata: ObjectMetadata,
    #[serde(default, rename = "type")]
    pub kind: Option<String>,
    /// Values in base64.
    #[serde(default)]
    pub data: BTreeMap<String, String>,
    /// Values as they are. They win over `data`.
    #[serde(default)]
    pub string_data: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct NamespaceObject {
    pub metadata: ObjectMetadata,
}

impl EndpointConditions {
    /// Whether new work may go there.
    pub fn is_ready(self) -> bool {
        self.ready != Some(false) && self.terminating != Some(true)
    }

    /// Whether it still finishes what it has.
    pub fn is_draining(self) -> bool {
        self.terminating == Some(true) && self.serving == Some(true)
    }
}

impl fmt::Debug for SecretObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys: Vec<&String> = self.data.keys().chain(self.string_data.keys()).collect();
        f.debug_struct("SecretObject")
            .field("metadata", &self.metadata)
            .field("kind", &self.kind)
            .field("keys", &keys)
            .finish()
    }
}
