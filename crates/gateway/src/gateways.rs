//! Gateways: which ones are ours, where they listen, and which of two that want the same port gets it.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::backends::ConditionFailure;
use crate::certificates::SecretCertificates;
use crate::listeners::{ListenerView, view_listeners};
use crate::object_set::ObjectSet;
use crate::objects::gateways::{GatewayClass, GatewayObject};
use crate::objects::metadata::{ObjectKey, ObjectMetadata};
use crate::settings::GatewaySettings;
use crate::status::{ConditionList, ListenerStatus, ObjectStatus, StatusAddress, SupportedKind};

/// A Gateway of ours, looked at.
#[derive(Clone, Debug)]
pub struct GatewayView {
    pub key: ObjectKey,
    pub metadata: ObjectMetadata,
    /// Where it listens; empty: at every address.
    pub addresses: Vec<IpAddr>,
    pub listeners: Vec<ListenerView>,
    /// Why the Gateway as a whole is not accepted.
    pub refusal: Option<ConditionFailure>,
}

/// Whether a class is this controller's, and what it asks for can be done.
pub fn class_status(class: &GatewayClass, settings: &GatewaySettings) -> Option<ObjectStatus> {
    if class.spec.controller_name != settings.controller_name {
        return None;
    }
    let mut conditions = ConditionList::new(&class.metadata);
    if class.spec.parameters_ref.is_some() {
        let message = "`spec.parametersRef` is not read; expected none";
        conditions.fail("Accepted", "InvalidParameters", message);
    } else {
        conditions.hold("Accepted", "Accepted", "Gateways of this class are served");
    }
    let mut status = ObjectStatus::new("GatewayClass", class.metadata.key());
    status.namespace.clear();
    status.conditions = conditions.conditions;
    Some(status)
}

/// All Gateways whose class is ours, the oldest first.
pub fn view_gateways(
    set: &ObjectSet,
    settings: &GatewaySettings,
    certificates: &mut SecretCertificates,
) -> Vec<GatewayView> {
    let is_ours = |gateway: &&GatewayObject| {
        let class = set.classes.get(&gateway.spec.gateway_class_name);
        class.is_some_and(|class| {
            class.spec.controller_name == settings.controller_name
                && class.spec.parameters_ref.is_none()
        })
    };
    let mut ours: Vec<&GatewayObject> = set.gateways.values().filter(is_ours).collect();
    ours.sort_by_cached_key(|gateway| gateway.metadata.age());
    let mut views: Vec<GatewayView> = ours
        .into_iter()
        .map(|gateway| {
            let key = gateway.metadata.key();
            let mut view = GatewayView {
                listeners: view_listeners(set, &key, gateway, certificates),
                key,
                metadata: gateway.metadata.clone(),
                addresses: settings.default_address.into_iter().collect(),
                refusal: None,
            };
            place_gateway(gateway, &mut view);
            view
        })
        .collect();
    claim_ports(&mut views);
    views
}

/// Finds the addresses of a Gateway, and refuses what asks for more than there is.
fn place_gateway(gateway: &GatewayObject, view: &mut GatewayView) {
    let infrastructure = gateway.spec.infrastructure.as_ref();
    if infrastructure.is_some_and(|wanted| wanted.parameters_ref.is_some()) {
        let message = "`spec.infrastructure.parametersRef` is not read; expected none";
        view.refusal = Some(ConditionFailure::new("InvalidParameters", message));
    }
    let mut addresses = Vec::new();
    for (at, wanted) in gateway.spec.addresses.iter().enumerate() {
        let kind = wanted.kind.as_deref().unwrap_or("IPAddress");
        if kind != "IPAddress" {
            let message =
                format!("spec.addresses[{at}]: type {kind} is not served; expected IPAddress");
            view.refusal = Some(ConditionFailure::new("UnsupportedAddress", message));
        } else if !wanted.value.is_empty() {
            match wanted.value.parse::<IpAddr>() {
                Ok(address) => addresses.push(address),
                Err(_) => {
                    let message =
                        format!("spec.addresses[{at}]: `{}` is no IP address", wanted.value);
                    view.refusal = Some(ConditionFailure::new("UnsupportedAddress", message));
                }
            }
        }
    }
    if !addresses.is_empty() {
        addresses.sort();
        addresses.dedup();
        view.addresses = addresses;
    }
}

/// Gives each port of an address to the oldest Gateway that wants it.
fn claim_ports(views: &mut [GatewayView]) {
    let mut claimed: BTreeMap<u16, Vec<PortClaim>> = BTreeMap::new();
    for view in views.iter_mut().filter(|view| view.refusal.is_none()) {
        let mut fresh: BTreeMap<u16, PortClaim> = BTreeMap::new();
        for listener in &mut view.listeners {
            let claim = PortClaim { owner: view.key.clone(), addresses: view.addresses.clone() };
            let on_port = claimed.get(&listener.port).into_iter().flatten();
            if let Some(other) = on_port.into_iter().find(|other| other.overlaps(&claim)) {
                let message =
                    format!("port {} belongs to the older Gateway {}", listener.port, other.owner);
                let failure = ConditionFailure::new("PortUnavailable", message);
                listener.refusal.get_or_insert(failure);
            } else if listener.is_programmed() {
                fresh.insert(listener.port, claim);
            }
        }
        for (port, claim) in fresh {
            claimed.entry(port).or_default().push(claim);
        }
    }
}

struct PortClaim {
    owner: ObjectKey,
    addresses: Vec<IpAddr>,
}

impl PortClaim {
    fn overlaps(&self, other: &PortClaim) -> bool {
        self.addresses.is_empty()
            || other.addresses.is_empty()
            || self.addresses.iter().any(|address| other.addresses.contains(address))
    }
}

impl GatewayView {
    /// Whether a listener is served.
    pub fn serves(&self, listener: &ListenerView) -> bool {
        self.refusal.is_none() && listener.is_programmed()
    }

    /// Whether it has this port at this address; `None` stands for every address.
    pub fn has_port(&self, port: u16, address: Option<IpAddr>) -> bool {
        let served = self.listeners.iter().any(|one| one.port == port && self.serves(one));
        let overlaps = self.addresses.is_empty()
            || address.is_none_or(|address| self.addresses.contains(&address));
        served && overlaps
    }

    /// The status, with the number of routes that are attached to each listener.
    pub fn status(&self, attached: &[usize]) -> ObjectStatus {
        let served = self.listeners.iter().filter(|one| self.serves(one)).count();
        let unserved: Vec<&str> = self
            .listeners
            .iter()
            .filter(|one| !self.serves(one))
            .map(|one| one.name.as_str())
            .collect();
        let mut conditions = ConditionList::new(&self.metadata);
        let invalid = format!("not served: listener {}", unserved.join(", "));
        if let Some(refusal) = &self.refusal {
            conditions.fail("Accepted", refusal.reason, &refusal.message);
            conditions.fail("Programmed", "Invalid", &refusal.message);
        } else if served == 0 {
            conditions.fail("Accepted", "ListenersNotValid", &invalid);
            conditions.fail("Programmed", "Invalid", &invalid);
        } else {
            match unserved.is_empty() {
                true => conditions.hold("Accepted", "Accepted", "every listener is served"),
                false => conditions.hold("Accepted", "ListenersNotValid", &invalid),
            }
            conditions.hold("Programmed", "Programmed", "the configuration has it");
        }
        let mut status = ObjectStatus::new("Gateway", self.key.clone());
        status.conditions = conditions.conditions;
        let address = |one: &IpAddr| StatusAddress { kind: "IPAddress", value: one.to_string() };
        status.addresses = self.addresses.iter().map(address).collect();
        let listeners = self.listeners.iter().zip(attached);
        status.listeners =
            listeners.map(|(one, count)| self.listener_status(one, *count)).collect();
        status
    }

    fn listener_status(&self, listener: &ListenerView, attached_routes: usize) -> ListenerStatus {
        let mut conditions = ConditionList::new(&self.metadata);
        match &listener.conflict {
            Some(conflict) => conditions.hold("Conflicted", conflict.reason, &conflict.message),
            None => conditions.fail("Conflicted", "NoConflicts", "no listener is in its way"),
        }
        match listener.refusal.as_ref().or(listener.conflict.as_ref()) {
            Some(failure) => conditions.fail("Accepted", failure.reason, &failure.message),
            None => conditions.hold("Accepted", "Accepted", "it is served as it stands"),
        }
        match &listener.unresolved {
            Some(failure) => conditions.fail("ResolvedRefs", failure.reason, &failure.message),
            None => conditions.hold("ResolvedRefs", "ResolvedRefs", "every reference is resolved"),
        }
        match self.serves(listener) {
            true => conditions.hold("Programmed", "Programmed", "the configuration has it"),
            false => conditions.fail("Programmed", "Invalid", "the configuration leaves it out"),
        }
        let group = crate::objects::references::GATEWAY_GROUP;
        let kinds = listener.kinds.iter();
        ListenerStatus {
            name: listener.name.clone(),
            supported_kinds: kinds.map(|kind| SupportedKind { group, kind: kind.name() }).collect(),
            attached_routes,
            conditions: conditions.conditions,
        }
    }
}
