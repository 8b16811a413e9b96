//! Ingress and IngressClass.

use serde::Deserialize;
use serde_json::Value;

use super::metadata::ObjectMetadata;

/// The annotation of an IngressClass that takes every Ingress without a class.
const DEFAULT_CLASS: &str = "ingressclass.kubernetes.io/is-default-class";

/// The annotation of an Ingress that named its class before there was a field.
const CLASS_ANNOTATION: &str = "kubernetes.io/ingress.class";

#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct IngressClass {
    pub metadata: ObjectMetadata,
    #[serde(default)]
    pub spec: IngressClassSpec,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct IngressClassSpec {
    #[serde(default)]
    pub controller: String,
    #[serde(default)]
    pub parameters: Option<Value>,
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct IngressObject {
    pub metadata: ObjectMetadata,
    #[serde(default)]
    pub spec: IngressSpec,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct IngressSpec {
    #[serde(default)]
    pub ingress_class_name: Option<String>,
    #[serde(default)]
    pub default_backend: Option<IngressBackend>,
    #[serde(default)]
    pub tls: Vec<IngressTls>,
    #[serde(default)]
    pub rules: Vec<IngressRule>,
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct IngressTls {
    #[serde(default)]
    pub hosts: Vec<String>,
    #[serde(default)]
    pub secret_name: Option<String>,
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct IngressRule {
    #[serde(default)]
    pub host: Option<String>,
    #[serde(default)]
    pub http: Option<IngressPaths>,
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct IngressPaths {
    pub paths: Vec<IngressPath>,
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct IngressPath {
    #[serde(default)]
    pub path: Option<String>,
    pub path_type: String,
    pub backend: IngressBackend,
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct IngressBackend {
    #[serde(default)]
    pub service: Option<IngressServiceBackend>,
    #[serde(default)]
    pub resource: Option<Value>,
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct IngressServiceBackend {
    pub name: String,
    #[serde(default)]
    pub port: IngressServicePort,
}

/// A port by its name or its number.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct IngressServicePort {
    #[serde(default)]
    pub name: Option<String>,
    #[serde(default)]
    pub number: Option<u16>,
}

impl IngressClass {
    /// Whether it takes every Ingress that names no class.
    pub fn is_default(&self) -> bool {
        self.metadata.annotations.get(DEFAULT_CLASS).is_some_and(|text| text == "true")
    }
}

impl IngressObject {
    /// The class that it names.
    pub fn class(&self) -> Option<&str> {
        let annotated = self.metadata.annotations.get(CLASS_ANNOTATION).map(String::as_str);
        self.spec.ingress_class_name.as_deref().or(annotated)
    }

    /// Annotations that tell other controllers to do something, which is not done.
    pub fn foreign_annotations(&self) -> impl Iterator<Item = &str> {
        let names = self.metadata.annotations.keys().map(String::as_str);
        names.filter(|name| {
            name.split_once('/').is_some_and(|parts| {
                parts.0.ends_with("ingress.kubernetes.io") || parts.0.contains("traefik")
            })
        })
    }
}
