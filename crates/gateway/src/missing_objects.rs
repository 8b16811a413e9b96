//! Objects that others name and that are not there, where no condition says it: nobody writes a status for a parent that
//! does not exist.

use std::collections::BTreeSet;

use crate::object_set::ObjectSet;
use crate::objects::metadata::{ObjectKey, ObjectMetadata};
use crate::objects::references::{GATEWAY_GROUP, ParentReference};
use crate::problems::ObjectProblem;

/// Classes, parents and endpoints that are missing.
pub fn find_missing(set: &ObjectSet) -> Vec<ObjectProblem> {
    let mut problems = missing_classes(set);
    for route in set.http_routes.values() {
        problems.extend(missing_parents(
            set,
            "HTTPRoute",
            &route.metadata,
            &route.spec.parent_refs,
        ));
    }
    for route in set.grpc_routes.values() {
        problems.extend(missing_parents(
            set,
            "GRPCRoute",
            &route.metadata,
            &route.spec.parent_refs,
        ));
    }
    for route in set.tls_routes.values() {
        problems.extend(missing_parents(set, "TLSRoute", &route.metadata, &route.spec.parent_refs));
    }
    for route in set.tcp_routes.values() {
        problems.extend(missing_parents(set, "TCPRoute", &route.metadata, &route.spec.parent_refs));
    }
    problems.extend(missing_slices(set));
    problems
}

/// Gateways whose class is not among the objects.
fn missing_classes(set: &ObjectSet) -> Vec<ObjectProblem> {
    let mut problems = Vec::new();
    for (key, gateway) in &set.gateways {
        let class = &gateway.spec.gateway_class_name;
        if !set.classes.contains_key(class) {
            let message = format!("there is no GatewayClass {class}");
            let label = format!("Gateway {key}");
            problems.push(
                ObjectProblem::new("", &label, "spec.gatewayClassName", message)
                    .with_expected("the name of a GatewayClass among the objects"),
            );
        }
    }
    problems
}

fn missing_parents(
    set: &ObjectSet,
    kind: &str,
    metadata: &ObjectMetadata,
    parents: &[ParentReference],
) -> Vec<ObjectProblem> {
    let mut problems = Vec::new();
    for (at, parent) in parents.iter().enumerate() {
        let namespace = parent.namespace.as_deref().filter(|text| !text.is_empty());
        let key = ObjectKey::new(namespace.unwrap_or(metadata.namespace()), &parent.name);
        let of_group = parent.group.as_deref().is_none_or(|group| group == GATEWAY_GROUP);
        let is_gateway = of_group && parent.kind.as_deref().is_none_or(|kind| kind == "Gateway");
        if is_gateway && !set.gateways.contains_key(&key) {
            let label = format!("{kind} {}", metadata.key());
            let field = format!("spec.parentRefs[{at}].name");
            let problem =
                ObjectProblem::new("", &label, &field, format!("there is no Gateway {key}"));
            problems.push(problem.with_expected("the name of a Gateway among the objects"));
        }
    }
    problems
}

/// Services that a route names and that have no EndpointSlice at all. In a cluster each has one.
fn missing_slices(set: &ObjectSet) -> Vec<ObjectProblem> {
    let named = named_services(set);
    let lacking =
        named.iter().filter(|key| set.services.contains_key(key) && !set.slices.contains_key(key));
    lacking
        .map(|key| {
            let message = "it has no EndpointSlice, so that its requests are refused".to_owned();
            ObjectProblem::new("", &format!("Service {key}"), "", message)
                .with_expected("one with the label kubernetes.io/service-name")
        })
        .collect()
}

fn named_services(set: &ObjectSet) -> BTreeSet<ObjectKey> {
    let mut named = BTreeSet::new();
    let mut add = |own: &ObjectMetadata, namespace: Option<&String>, name: &str| {
        let namespace = namespace.map(String::as_str).filter(|text| !text.is_empty());
        named.insert(ObjectKey::new(namespace.unwrap_or(own.namespace()), name));
    };
    for route in set.http_routes.values() {
        for one in route.spec.rules.iter().flatten().flat_map(|rule| &rule.backend_refs) {
            add(&route.metadata, one.namespace.as_ref(), &one.name);
        }
    }
    for route in set.grpc_routes.values() {
        for one in route.spec.rules.iter().flat_map(|rule| &rule.backend_refs) {
            add(&route.metadata, one.namespace.as_ref(), &one.name);
        }
    }
    for route in set.tls_routes.values().chain(set.tcp_routes.values()) {
        for one in route.spec.rules.iter().flat_map(|rule| &rule.backend_refs) {
            add(&route.metadata, one.namespace.as_ref(), &one.name);
        }
    }
    named
}
