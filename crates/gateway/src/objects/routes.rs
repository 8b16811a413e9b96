//! HTTPRoute and GRPCRoute, and the routes of connections: TLSRoute and TCPRoute.

use serde::Deserialize;
use serde_json::Value;

use super::metadata::ObjectMetadata;
use super::references::{BackendReference, ParentReference, WeightedReference, one};

#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct HttpRoute {
    pub metadata: ObjectMetadata,
    pub spec: HttpRouteSpec,
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HttpRouteSpec {
    #[serde(default)]
    pub parent_refs: Vec<ParentReference>,
    #[serde(default)]
    pub hostnames: Vec<String>,
    /// Absent: one rule that takes every request and has no back end.
    #[serde(default)]
    pub rules: Option<Vec<HttpRouteRule>>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HttpRouteRule {
    #[serde(default)]
    pub name: Option<String>,
    #[serde(default)]
    pub matches: Vec<HttpRouteMatch>,
    #[serde(default)]
    pub filters: Vec<RouteFilter>,
    #[serde(default)]
    pub backend_refs: Vec<HttpBackendReference>,
    #[serde(default)]
    pub timeouts: Option<RouteTimeouts>,
    #[serde(default)]
    pub retry: Option<RouteRetry>,
    #[serde(default)]
    pub session_persistence: Option<Value>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HttpRouteMatch {
    #[serde(default)]
    pub path: Option<PathValue>,
    #[serde(default)]
    pub headers: Vec<NamedValue>,
    #[serde(default)]
    pub query_params: Vec<NamedValue>,
    #[serde(default)]
    pub method: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PathValue {
    #[serde(default, rename = "type")]
    pub kind: Option<String>,
    #[serde(default)]
    pub value: Option<String>,
}

/// A header or a parameter of the query that is compared.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NamedValue {
    #[serde(default, rename = "type")]
    pub kind: Option<String>,
    pub name: String,
    pub value: String,
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RouteTimeouts {
    #[serde(default)]
    pub request: Option<String>,
    #[serde(default)]
    pub backend_request: Option<String>,
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RouteRetry {
    #[serde(default)]
    pub codes: Vec<u16>,
    #[serde(default)]
    pub attempts: Option<u32>,
    #[serde(default)]
    pub backoff: Option<String>,
}

/// One filter: its kind, and the field of that kind.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RouteFilter {
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(default)]
    pub request_header_modifier: Option<HeaderModifier>,
    #[serde(default)]
    pub response_header_modifier: Option<HeaderModifier>,
    #[serde(default)]
    pub request_mirror: Option<MirrorFilter>,
    #[serde(default)]
    pub request_redirect: Option<RedirectFilter>,
    #[serde(default)]
    pub url_rewrite: Option<UrlRewrite>,
    #[serde(default)]
    pub cors: Option<Value>,
    #[serde(default)]
    pub external_auth: Option<Value>,
    #[serde(default)]
    pub extension_ref: Option<Value>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HeaderModifier {
    #[serde(default)]
    pub set: Vec<HeaderLine>,
    #[serde(default)]
    pub add: Vec<HeaderLine>,
    #[serde(default)]
    pub remove: Vec<String>,
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HeaderLine {
    pub name: String,
    pub value: String,
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MirrorFilter {
    pub backend_ref: BackendReference,
    #[serde(default)]
    pub percent: Option<u32>,
    #[serde(default)]
    pub fraction: Option<RequestFraction>,
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RequestFraction {
    pub numerator: u32,
    #[serde(default)]
    pub denominator: Option<u32>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RedirectFilter {
    #[serde(default)]
    pub scheme: Option<String>,
    #[serde(default)]
    pub hostname: Option<String>,
    #[serde(default)]
    pub path: Option<PathModifier>,
    #[serde(default)]
    pub port: Option<u16>,
    #[serde(default)]
    pub status_code: Option<u16>,
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PathModifier {
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(default)]
    pub replace_full_path: Option<String>,
    #[serde(default)]
    pub replace_prefix_match: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UrlRewrite {
    #[serde(default)]
    pub hostname: Option<String>,
    #[serde(default)]
    pub path: Option<PathModifier>,
}

/// A back end of a rule, with its weight and with filters for its requests alone.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HttpBackendReference {
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
    #[serde(default)]
    pub filters: Vec<RouteFilter>,
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct GrpcRoute {
    pub metadata: ObjectMetadata,
    pub spec: GrpcRouteSpec,
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GrpcRouteSpec {
    #[serde(default)]
    pub parent_refs: Vec<ParentReference>,
    #[serde(default)]
    pub hostnames: Vec<String>,
    #[serde(default)]
    pub rules: Vec<GrpcRouteRule>,
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GrpcRouteRule {
    #[serde(default)]
    pub name: Option<String>,
    #[serde(default)]
    pub matches: Vec<GrpcRouteMatch>,
    #[serde(default)]
    pub filters: Vec<RouteFilter>,
    #[serde(default)]
    pub backend_refs: Vec<HttpBackendReference>,
    #[serde(default)]
    pub session_persistence: Option<Value>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GrpcRouteMatch {
    #[serde(default)]
    pub method: Option<GrpcMethod>,
    #[serde(default)]
    pub headers: Vec<NamedValue>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GrpcMethod {
    #[serde(default, rename = "type")]
    pub kind: Option<String>,
    #[serde(default)]
    pub service: Option<String>,
    #[serde(default)]
    pub method: Option<String>,
}

/// A TLSRoute or a TCPRoute. The latter has no host names.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct StreamRoute {
    pub metadata: ObjectMetadata,
    pub spec: StreamRouteSpec,
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StreamRouteSpec {
    #[serde(default)]
    pub parent_refs: Vec<ParentReference>,
    #[serde(default)]
    pub hostnames: Vec<String>,
    pub rules: Vec<StreamRouteRule>,
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StreamRouteRule {
    #[serde(default)]
    pub name: Option<String>,
    #[serde(default)]
    pub backend_refs: Vec<WeightedReference>,
}

impl HttpBackendReference {
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
