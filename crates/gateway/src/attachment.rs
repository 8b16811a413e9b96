//! Which listeners a route attaches to, and why it attaches to none.

use std::collections::BTreeMap;

use crate::backends::ConditionFailure;
use crate::gateways::GatewayView;
use crate::host_names::{effective_hosts, is_host_name};
use crate::listeners::{ListenerView, RouteKind};
use crate::object_set::ObjectSet;
use crate::objects::metadata::ObjectKey;
use crate::objects::references::{GATEWAY_GROUP, ParentReference};

/// The label that each namespace has, with its name.
const NAMESPACE_LABEL: &str = "kubernetes.io/metadata.name";

/// What of a route decides where it attaches.
#[derive(Clone, Copy, Debug)]
pub struct RouteIdentity<'a> {
    pub kind: RouteKind,
    pub namespace: &'a str,
    pub hostnames: &'a [String],
}

/// A route at one of its parents.
#[derive(Clone, Debug)]
pub struct ParentAttachment {
    pub parent: ParentReference,
    pub outcome: Result<Vec<ListenerAttachment>, ConditionFailure>,
}

/// A route at one listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenerAttachment {
    pub place: ListenerPlace,
    /// The hosts that the route takes there. One that is `None` stands for every host.
    pub hosts: Vec<Option<String>>,
}

/// A listener by its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ListenerPlace {
    pub gateway: usize,
    pub listener: usize,
}

/// Attaches a route to its parents. Parents that are no Gateways of ours are left out: they are for other controllers.
pub fn attach_route(
    set: &ObjectSet,
    gateways: &[GatewayView],
    route: &RouteIdentity<'_>,
    parents: &[ParentReference],
) -> Vec<ParentAttachment> {
    let mut attachments = Vec::new();
    for parent in parents {
        let group = parent.group.as_deref().unwrap_or(GATEWAY_GROUP);
        let kind = parent.kind.as_deref().unwrap_or("Gateway");
        let namespace = parent.namespace.as_deref().filter(|text| !text.is_empty());
        let key = ObjectKey::new(namespace.unwrap_or(route.namespace), &parent.name);
        let found = gateways.iter().position(|gateway| gateway.key == key);
        let Some(at) = found.filter(|_| group == GATEWAY_GROUP && kind == "Gateway") else {
            continue;
        };
        let outcome = attach_to_gateway(set, &gateways[at], at, route, parent);
        attachments.push(ParentAttachment { parent: parent.clone(), outcome });
    }
    attachments
}

fn attach_to_gateway(
    set: &ObjectSet,
    gateway: &GatewayView,
    at: usize,
    route: &RouteIdentity<'_>,
    parent: &ParentReference,
) -> Result<Vec<ListenerAttachment>, ConditionFailure> {
    if let Some(host) = route.hostnames.iter().find(|host| !is_host_name(host)) {
        let message = format!("`{host}` is no host name");
        return Err(ConditionFailure::new("UnsupportedValue", message));
    }
    let section = parent.section_name.as_deref().filter(|text| !text.is_empty());
    let is_meant = |listener: &ListenerView| {
        section.is_none_or(|name| listener.name == name)
            && parent.port.is_none_or(|port| listener.port == port)
    };
    let listeners = gateway.listeners.iter().enumerate();
    let meant: Vec<usize> = listeners.filter(|one| is_meant(one.1)).map(|one| one.0).collect();
    if meant.is_empty() {
        let message = format!("Gateway {} has no listener of that name and port", gateway.key);
        return Err(ConditionFailure::new("NoMatchingParent", message));
    }
    let allows = |at: &usize| allows_route(set, gateway, &gateway.listeners[*at], route);
    let allowed: Vec<usize> = meant.into_iter().filter(allows).collect();
    if allowed.is_empty() {
        let message = format!(
            "no listener of Gateway {} allows {} of namespace {}",
            gateway.key,
            route.kind.name(),
            route.namespace
        );
        return Err(ConditionFailure::new("NotAllowedByListeners", message));
    }
    let attachments: Vec<ListenerAttachment> = allowed
        .into_iter()
        .filter_map(|listener| {
            let hostname = gateway.listeners[listener].hostname.as_deref();
            let hosts = effective_hosts(hostname, route.hostnames)?;
            let place = ListenerPlace { gateway: at, listener };
            Some(ListenerAttachment { place, hosts })
        })
        .collect();
    if attachments.is_empty() {
        let message = format!("no listener of Gateway {} has a host of the route", gateway.key);
        return Err(ConditionFailure::new("NoMatchingListenerHostname", message));
    }
    Ok(attachments)
}

fn allows_route(
    set: &ObjectSet,
    gateway: &GatewayView,
    listener: &ListenerView,
    route: &RouteIdentity<'_>,
) -> bool {
    if !listener.kinds.contains(&route.kind) {
        return false;
    }
    let rule = listener.allowed.namespaces.as_ref();
    match rule.and_then(|rule| rule.from.as_deref()).unwrap_or("Same") {
        "All" => true,
        "Same" => gateway.key.namespace == route.namespace,
        "Selector" => {
            let selector = rule.and_then(|rule| rule.selector.as_ref());
            selector
                .is_some_and(|selector| selector.matches(&namespace_labels(set, route.namespace)))
        }
        // `None`, and words that a later version of the specification may bring.
        _ => false,
    }
}

fn namespace_labels(set: &ObjectSet, namespace: &str) -> BTreeMap<String, String> {
    let known = set.namespaces.get(namespace);
    let mut labels = known.map(|found| found.metadata.labels.clone()).unwrap_or_default();
    labels.insert(NAMESPACE_LABEL.to_owned(), namespace.to_owned());
    labels
}
