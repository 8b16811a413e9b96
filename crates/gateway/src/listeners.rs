//! Listeners of Gateways: what each takes, and why one that takes nothing is refused.

use std::collections::BTreeMap;

use crate::backends::ConditionFailure;
use crate::certificates::SecretCertificates;
use crate::host_names::is_host_name;
use crate::object_set::ObjectSet;
use crate::objects::gateways::{AllowedRoutes, GatewayObject, ListenerSpec};
use crate::objects::metadata::ObjectKey;
use crate::objects::references::GATEWAY_GROUP;

/// What a listener speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ListenerProtocol {
    Http,
    Https,
    /// TLS that goes to the servers as it came.
    TlsPassthrough,
    /// TLS that ends here, with bytes inside.
    TlsTerminate,
    Tcp,
}

/// The kinds of routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RouteKind {
    Http,
    Grpc,
    Tls,
    Tcp,
    /// Of no listener: Ingresses have services of their own.
    Ingress,
}

/// A listener, looked at.
#[derive(Clone, Debug)]
pub struct ListenerView {
    pub name: String,
    /// `None`: every host.
    pub hostname: Option<String>,
    pub port: u16,
    /// `None`: the protocol is not spoken.
    pub protocol: Option<ListenerProtocol>,
    /// The kinds of routes that may attach.
    pub kinds: Vec<RouteKind>,
    pub allowed: AllowedRoutes,
    pub certificates: Vec<String>,
    /// Why it is not accepted.
    pub refusal: Option<ConditionFailure>,
    pub conflict: Option<ConditionFailure>,
    /// Why its references lead nowhere.
    pub unresolved: Option<ConditionFailure>,
}

impl RouteKind {
    pub fn name(self) -> &'static str {
        match self {
            RouteKind::Http => "HTTPRoute",
            RouteKind::Grpc => "GRPCRoute",
            RouteKind::Tls => "TLSRoute",
            RouteKind::Tcp => "TCPRoute",
            RouteKind::Ingress => "Ingress",
        }
    }
}

impl ListenerProtocol {
    fn kinds(self) -> &'static [RouteKind] {
        match self {
            ListenerProtocol::Http | ListenerProtocol::Https => &[RouteKind::Http, RouteKind::Grpc],
            ListenerProtocol::TlsPassthrough => &[RouteKind::Tls],
            ListenerProtocol::TlsTerminate => &[RouteKind::Tls, RouteKind::Tcp],
            ListenerProtocol::Tcp => &[RouteKind::Tcp],
        }
    }

    pub fn is_http(self) -> bool {
        matches!(self, ListenerProtocol::Http | ListenerProtocol::Https)
    }

    /// The name in `spec.listeners[].protocol`: listeners with the same one may share a port.
    fn family(self) -> &'static str {
        match self {
            ListenerProtocol::Http => "HTTP",
            ListenerProtocol::Https => "HTTPS",
            ListenerProtocol::TlsPassthrough | ListenerProtocol::TlsTerminate => "TLS",
            ListenerProtocol::Tcp => "TCP",
        }
    }
}

impl ListenerView {
    /// Whether the configuration has it.
    pub fn is_programmed(&self) -> bool {
        self.refusal.is_none() && self.conflict.is_none() && !self.kinds.is_empty() && {
            let of_kinds = |failure: &ConditionFailure| failure.reason == "InvalidRouteKinds";
            self.unresolved.as_ref().is_none_or(of_kinds)
        }
    }
}

/// Looks at all listeners of a Gateway, in their order.
pub fn view_listeners(
    set: &ObjectSet,
    key: &ObjectKey,
    gateway: &GatewayObject,
    certificates: &mut SecretCertificates,
) -> Vec<ListenerView> {
    let has_client_validation = gateway.spec.tls.as_ref().is_some_and(|tls| tls.frontend.is_some());
    let mut views: Vec<ListenerView> = gateway.spec.listeners.iter().map(view_listener).collect();
    for (view, spec) in views.iter_mut().zip(&gateway.spec.listeners) {
        if has_client_validation && view.protocol == Some(ListenerProtocol::Https) {
            let message = "client certificates (`spec.tls.frontend`) are not supported";
            view.refusal.get_or_insert(ConditionFailure::new("UnsupportedValue", message));
        }
        resolve_certificates(set, key, spec, view, certificates);
    }
    mark_conflicts(&mut views);
    refuse_mixed_modes(&mut views);
    views
}

fn view_listener(spec: &ListenerSpec) -> ListenerView {
    let protocol = listener_protocol(spec);
    let allowed = spec.allowed_routes.clone().unwrap_or_default();
    let hostname = spec.hostname.as_ref().filter(|host| !host.is_empty());
    let mut view = ListenerView {
        name: spec.name.clone(),
        hostname: hostname.map(|host| host.to_ascii_lowercase()),
        port: spec.port,
        protocol: protocol.as_ref().ok().copied(),
        kinds: protocol.as_ref().map_or(&[][..], |known| known.kinds()).to_vec(),
        allowed,
        certificates: Vec::new(),
        refusal: protocol.err(),
        conflict: None,
        unresolved: None,
    };
    if let Some(host) = view.hostname.as_ref().filter(|host| !is_host_name(host)) {
        let message = format!("`{host}` is no host name");
        view.refusal.get_or_insert(ConditionFailure::new("UnsupportedValue", message));
    }
    limit_kinds(&mut view);
    view
}

fn listener_protocol(spec: &ListenerSpec) -> Result<ListenerProtocol, ConditionFailure> {
    let mode = spec.tls.as_ref().and_then(|tls| tls.mode.as_deref()).unwrap_or("Terminate");
    match (spec.protocol.as_str(), mode) {
        ("HTTP", _) => Ok(ListenerProtocol::Http),
        ("TCP", _) => Ok(ListenerProtocol::Tcp),
        ("HTTPS", "Terminate") => Ok(ListenerProtocol::Https),
        ("TLS", "Passthrough") => Ok(ListenerProtocol::TlsPassthrough),
        ("TLS", "Terminate") => Ok(ListenerProtocol::TlsTerminate),
        ("HTTPS" | "TLS", mode) => {
            let message = format!("`tls.mode` {mode} does not fit the protocol {}", spec.protocol);
            Err(ConditionFailure::new("UnsupportedValue", message))
        }
        (other, _) => {
            let message =
                format!("protocol {other} is not served; expected HTTP, HTTPS, TLS or TCP");
            Err(ConditionFailure::new("UnsupportedProtocol", message))
        }
    }
}

/// Keeps the kinds that `allowedRoutes.kinds` lists.
fn limit_kinds(view: &mut ListenerView) {
    if view.allowed.kinds.is_empty() {
        return;
    }
    let served = std::mem::take(&mut view.kinds);
    let mut unknown = Vec::new();
    for wanted in &view.allowed.kinds {
        let of_group = wanted.group.as_deref().is_none_or(|group| group == GATEWAY_GROUP);
        let kind = served.iter().find(|kind| of_group && kind.name() == wanted.kind);
        match kind {
            Some(kind) if !view.kinds.contains(kind) => view.kinds.push(*kind),
            Some(_) => {}
            None => unknown.push(wanted.kind.clone()),
        }
    }
    if !unknown.is_empty() && view.protocol.is_some() {
        let message =
            format!("routes of kind {} cannot attach to this protocol", unknown.join(", "));
        view.unresolved = Some(ConditionFailure::new("InvalidRouteKinds", message));
    }
}

fn resolve_certificates(
    set: &ObjectSet,
    gateway: &ObjectKey,
    spec: &ListenerSpec,
    view: &mut ListenerView,
    certificates: &mut SecretCertificates,
) {
    let terminates = [ListenerProtocol::Https, ListenerProtocol::TlsTerminate];
    if !view.protocol.is_some_and(|protocol| terminates.contains(&protocol)) {
        return;
    }
    let references = spec.tls.as_ref().map_or(&[][..], |tls| tls.certificate_refs.as_slice());
    if references.is_empty() {
        let message = "`tls.certificateRefs` is empty; expected a Secret with a certificate";
        view.unresolved = Some(ConditionFailure::new("InvalidCertificateRef", message));
    }
    for reference in references {
        match certificates.resolve(set, gateway, reference) {
            Ok(path) => view.certificates.push(path),
            // A certificate that is missing keeps the listener from working; a kind of route does not.
            Err(failure) => view.unresolved = Some(failure),
        }
    }
}

/// Marks listeners that cannot be told apart: none of them is served.
fn mark_conflicts(views: &mut [ListenerView]) {
    let mut by_port: BTreeMap<u16, Vec<usize>> = BTreeMap::new();
    for (at, view) in views.iter().enumerate().filter(|one| one.1.protocol.is_some()) {
        by_port.entry(view.port).or_default().push(at);
    }
    for on_port in by_port.values() {
        for at in on_port {
            let others = on_port.iter().filter(|other| *other != at);
            let conflict =
                others.filter_map(|other| conflict_of(&views[*at], &views[*other])).min();
            if conflict.is_some() {
                views[*at].conflict = conflict;
            }
        }
    }
}

fn conflict_of(one: &ListenerView, other: &ListenerView) -> Option<ConditionFailure> {
    let protocol = one.protocol?;
    let family = other.protocol?.family();
    if protocol.family() != family {
        let message =
            format!("listener {} speaks {family} at the same port {}", other.name, one.port);
        return Some(ConditionFailure::new("ProtocolConflict", message));
    }
    let same_host = protocol == ListenerProtocol::Tcp || one.hostname == other.hostname;
    let message =
        || format!("listener {} has the same host name and port {}", other.name, one.port);
    same_host.then(|| ConditionFailure::new("HostnameConflict", message()))
}

/// TLS that ends here and TLS that is passed through cannot share a port yet: the first listener decides.
fn refuse_mixed_modes(views: &mut [ListenerView]) {
    let mut modes: BTreeMap<u16, ListenerProtocol> = BTreeMap::new();
    for view in views.iter_mut().filter(|view| view.conflict.is_none()) {
        let Some(protocol) = view.protocol.filter(|one| one.family() == "TLS") else { continue };
        let first = *modes.entry(view.port).or_insert(protocol);
        if first != protocol {
            let message = format!(
                "an earlier listener of port {} has another `tls.mode`; expected one mode at a port",
                view.port
            );
            view.refusal.get_or_insert(ConditionFailure::new("UnsupportedValue", message));
        }
    }
}
