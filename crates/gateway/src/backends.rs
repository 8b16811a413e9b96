//! Where a reference to a back end leads: the Service, its endpoints, or the reason why it leads nowhere.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::grants::{ForeignReference, describe_refusal, is_granted};
use crate::object_set::ObjectSet;
use crate::objects::metadata::ObjectKey;
use crate::objects::references::BackendReference;
use crate::objects::workloads::{EndpointSlice, ServicePort, SliceEndpoint};

/// Why something has a condition other than it should: the reason as the specification names it, and a message.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConditionFailure {
    pub reason: &'static str,
    pub message: String,
}

/// A back end that exists and may be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedBackend {
    pub service: ObjectKey,
    pub port: u16,
    pub protocol: BackendProtocol,
    /// By address, so that the order of endpoints does not matter. Empty: none is ready.
    pub servers: Vec<BackendServer>,
}

/// What servers speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BackendProtocol {
    Http1,
    /// HTTP/2 without TLS, by prior knowledge.
    Http2,
    /// Bytes that nobody looks at.
    Stream,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackendServer {
    /// With its port.
    pub address: String,
    /// It finishes what it has and takes nothing new.
    pub draining: bool,
}

/// Who refers to a back end.
#[derive(Clone, Copy, Debug)]
pub struct BackendUser<'a> {
    pub kind: &'static str,
    pub namespace: &'a str,
    /// What the route carries.
    pub protocol: BackendProtocol,
}

impl ConditionFailure {
    pub fn new(reason: &'static str, message: impl Into<String>) -> ConditionFailure {
        ConditionFailure { reason, message: message.into() }
    }
}

/// Follows a reference.
///
/// # Errors
/// The reason for the condition `ResolvedRefs`.
pub fn resolve_backend(
    set: &ObjectSet,
    user: &BackendUser<'_>,
    reference: &BackendReference,
) -> Result<ResolvedBackend, ConditionFailure> {
    let group = reference.group.as_deref().unwrap_or_default();
    let kind = reference.kind.as_deref().unwrap_or("Service");
    if !group.is_empty() || kind != "Service" {
        let message = format!("{group}/{kind} is no kind of back end; expected a Service");
        return Err(ConditionFailure::new("InvalidKind", message));
    }
    let namespace = reference.namespace.as_deref().filter(|text| !text.is_empty());
    let service = ObjectKey::new(namespace.unwrap_or(user.namespace), &reference.name);
    let crossing = ForeignReference {
        from_kind: user.kind,
        from_namespace: user.namespace,
        to_kind: "Service",
        to_namespace: &service.namespace,
        to_name: &service.name,
    };
    if !is_granted(set, &crossing) {
        return Err(ConditionFailure::new("RefNotPermitted", describe_refusal(&crossing)));
    }
    let Some(found) = set.services.get(&service) else {
        return Err(ConditionFailure::new(
            "BackendNotFound",
            format!("there is no Service {service}"),
        ));
    };
    if found.spec.kind.as_deref() == Some("ExternalName") {
        let message = format!("Service {service} is an ExternalName, which is not followed");
        return Err(ConditionFailure::new("InvalidKind", message));
    }
    let Some(port) = reference.port else {
        let message = format!("the reference to Service {service} names no port");
        return Err(ConditionFailure::new("BackendNotFound", message));
    };
    let Some(service_port) = found.spec.ports.iter().find(|one| one.port == port) else {
        let message = format!("Service {service} has no port {port}");
        return Err(ConditionFailure::new("BackendNotFound", message));
    };
    let protocol = port_protocol(service_port, user.protocol).map_err(|reason| {
        ConditionFailure::new(
            "UnsupportedProtocol",
            format!("Service {service}, port {port}: {reason}"),
        )
    })?;
    let servers = find_servers(set, &service, service_port);
    Ok(ResolvedBackend { service, port, protocol, servers })
}

fn port_protocol(port: &ServicePort, carried: BackendProtocol) -> Result<BackendProtocol, String> {
    let transport = port.protocol.as_deref().unwrap_or("TCP");
    if transport != "TCP" {
        return Err(format!("it is {transport}; expected TCP"));
    }
    match (carried, port.app_protocol.as_deref()) {
        (BackendProtocol::Stream, _) => Ok(BackendProtocol::Stream),
        (_, Some("kubernetes.io/h2c" | "grpc")) => Ok(BackendProtocol::Http2),
        (carried, None | Some("http" | "kubernetes.io/ws")) => Ok(carried),
        (_, Some(other)) => Err(format!(
            "appProtocol `{other}` is not spoken; expected http, grpc, kubernetes.io/h2c or kubernetes.io/ws"
        )),
    }
}

/// The endpoints of a Service's port, ready ones and those that still finish what they have.
fn find_servers(set: &ObjectSet, service: &ObjectKey, port: &ServicePort) -> Vec<BackendServer> {
    let mut servers: BTreeMap<String, bool> = BTreeMap::new();
    let slices = set.slices.get(service).into_iter().flat_map(BTreeMap::values);
    for slice in slices {
        for number in slice_ports(slice, port) {
            for endpoint in &slice.endpoints {
                let Some(draining) = endpoint_draining(endpoint) else { continue };
                // All addresses of an endpoint lead to the same pod: the first is enough.
                let Some(address) =
                    endpoint.addresses.iter().find_map(|one| socket_text(one, number))
                else {
                    continue;
                };
                let known = servers.entry(address).or_insert(draining);
                *known &= draining;
            }
        }
    }
    // Where every endpoint is about to end, those that still serve are better than none.
    let all_drain = servers.values().all(|draining| *draining);
    let server = |(address, draining)| BackendServer { address, draining: draining && !all_drain };
    servers.into_iter().map(server).collect()
}

fn slice_ports<'a>(
    slice: &'a EndpointSlice,
    port: &'a ServicePort,
) -> impl Iterator<Item = u16> + 'a {
    let wanted = port.name.as_deref().unwrap_or_default();
    let fits = move |name: &Option<String>| name.as_deref().unwrap_or_default() == wanted;
    slice.ports.iter().filter(move |one| fits(&one.name)).filter_map(|one| one.port)
}

/// Whether an endpoint drains; `None`: it can do nothing.
fn endpoint_draining(endpoint: &SliceEndpoint) -> Option<bool> {
    let conditions = endpoint.conditions;
    if conditions.is_ready() {
        return Some(false);
    }
    conditions.is_draining().then_some(true)
}

fn socket_text(address: &str, port: u16) -> Option<String> {
    if port == 0 {
        return None;
    }
    match address.parse::<IpAddr>().ok()? {
        IpAddr::V4(address) => Some(format!("{address}:{port}")),
        IpAddr::V6(address) => Some(format!("[{address}]:{port}")),
    }
}
