//! GatewayClass and Gateway.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::metadata::ObjectMetadata;
use super::references::SecretReference;

#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct GatewayClass {
    pub metadata: ObjectMetadata,
    pub spec: GatewayClassSpec,
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GatewayClassSpec {
    pub controller_name: String,
    #[serde(default)]
    pub parameters_ref: Option<Value>,
    #[serde(default)]
    pub description: Option<String>,
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct GatewayObject {
    pub metadata: ObjectMetadata,
    pub spec: GatewaySpec,
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GatewaySpec {
    pub gateway_class_name: String,
    pub listeners: Vec<ListenerSpec>,
    #[serde(default)]
    pub addresses: Vec<AddressRequest>,
    #[serde(default)]
    pub infrastructure: Option<GatewayInfrastructure>,
    /// Which ListenerSets may attach. None are read.
    #[serde(default)]
    pub allowed_listeners: Option<Value>,
    #[serde(default)]
    pub tls: Option<GatewayTls>,
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GatewayInfrastructure {
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    #[serde(default)]
    pub annotations: BTreeMap<String, String>,
    #[serde(default)]
    pub parameters_ref: Option<Value>,
}

/// TLS settings of a whole Gateway.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GatewayTls {
    #[serde(default)]
    pub backend: Option<Value>,
    #[serde(default)]
    pub frontend: Option<Value>,
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AddressRequest {
    #[serde(default, rename = "type")]
    pub kind: Option<String>,
    #[serde(default)]
    pub value: String,
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListenerSpec {
    pub name: String,
    #[serde(default)]
    pub hostname: Option<String>,
    pub port: u16,
    pub protocol: String,
    #[serde(default)]
    pub tls: Option<ListenerTlsSpec>,
    #[serde(default)]
    pub allowed_routes: Option<AllowedRoutes>,
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListenerTlsSpec {
    #[serde(default)]
    pub mode: Option<String>,
    #[serde(default)]
    pub certificate_refs: Vec<SecretReference>,
    #[serde(default)]
    pub options: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AllowedRoutes {
    #[serde(default)]
    pub namespaces: Option<RouteNamespaces>,
    #[serde(default)]
    pub kinds: Vec<AllowedKind>,
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RouteNamespaces {
    #[serde(default)]
    pub from: Option<String>,
    #[serde(default)]
    pub selector: Option<LabelSelector>,
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AllowedKind {
    #[serde(default)]
    pub group: Option<String>,
    pub kind: String,
}

/// Which labels an object must have. An empty selector fits every object.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LabelSelector {
    #[serde(default)]
    pub match_labels: BTreeMap<String, String>,
    #[serde(default)]
    pub match_expressions: Vec<LabelRequirement>,
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LabelRequirement {
    pub key: String,
    pub operator: LabelOperator,
    #[serde(default)]
    pub values: Vec<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
pub enum LabelOperator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
}

impl LabelSelector {
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        let exact = |wanted: (&String, &String)| labels.get(wanted.0) == Some(wanted.1);
        self.match_labels.iter().all(exact)
            && self.match_expressions.iter().all(|requirement| requirement.matches(labels))
    }
}

impl LabelRequirement {
    fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        let value = labels.get(&self.key);
        let is_listed = value.is_some_and(|value| self.values.contains(value));
        match self.operator {
            LabelOperator::In => is_listed,
            LabelOperator::NotIn => !is_listed,
            LabelOperator::Exists => value.is_some(),
            LabelOperator::DoesNotExist => value.is_none(),
        }
    }
}
