//! An object of any kind that is looked at.

use super::gateways::{GatewayClass, GatewayObject};
use super::ingresses::{IngressClass, IngressObject};
use super::metadata::ObjectMetadata;
use super::references::ReferenceGrant;
use super::routes::{GrpcRoute, HttpRoute, StreamRoute};
use super::workloads::{EndpointSlice, NamespaceObject, SecretObject, ServiceObject};

/// One object of a kind that is looked at.
#[derive(Clone, Debug, PartialEq)]
pub enum KubernetesObject {
    GatewayClass(GatewayClass),
    Gateway(GatewayObject),
    HttpRoute(HttpRoute),
    GrpcRoute(GrpcRoute),
    TlsRoute(StreamRoute),
    TcpRoute(StreamRoute),
    ReferenceGrant(ReferenceGrant),
    Service(ServiceObject),
    EndpointSlice(EndpointSlice),
    Secret(SecretObject),
    Namespace(NamespaceObject),
    Ingress(IngressObject),
    IngressClass(IngressClass),
}

impl KubernetesObject {
    pub fn metadata(&self) -> &ObjectMetadata {
        match self {
            KubernetesObject::GatewayClass(one) => &one.metadata,
            KubernetesObject::Gateway(one) => &one.metadata,
            KubernetesObject::HttpRoute(one) => &one.metadata,
            KubernetesObject::GrpcRoute(one) => &one.metadata,
            KubernetesObject::TlsRoute(one) | KubernetesObject::TcpRoute(one) => &one.metadata,
            KubernetesObject::ReferenceGrant(one) => &one.metadata,
            KubernetesObject::Service(one) => &one.metadata,
            KubernetesObject::EndpointSlice(one) => &one.metadata,
            KubernetesObject::Secret(one) => &one.metadata,
            KubernetesObject::Namespace(one) => &one.metadata,
            KubernetesObject::Ingress(one) => &one.metadata,
            KubernetesObject::IngressClass(one) => &one.metadata,
        }
    }

    pub fn kind(&self) -> &'static str {
        match self {
            KubernetesObject::GatewayClass(_) => "GatewayClass",
            KubernetesObject::Gateway(_) => "Gateway",
            KubernetesObject::HttpRoute(_) => "HTTPRoute",
            KubernetesObject::GrpcRoute(_) => "GRPCRoute",
            KubernetesObject::TlsRoute(_) => "TLSRoute",
            KubernetesObject::TcpRoute(_) => "TCPRoute",
            KubernetesObject::ReferenceGrant(_) => "ReferenceGrant",
            KubernetesObject::Service(_) => "Service",
            KubernetesObject::EndpointSlice(_) => "EndpointSlice",
            KubernetesObject::Secret(_) => "Secret",
            KubernetesObject::Namespace(_) => "Namespace",
            KubernetesObject::Ingress(_) => "Ingress",
            KubernetesObject::IngressClass(_) => "IngressClass",
        }
    }
}
