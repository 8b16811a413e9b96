//! All routes with their plans and parents.

use std::collections::BTreeMap;

use crate::attachment::{RouteIdentity, attach_route};
use crate::backends::ConditionFailure;
use crate::gateways::GatewayView;
use crate::listeners::RouteKind;
use crate::object_set::ObjectSet;
use crate::objects::metadata::{ObjectKey, ObjectMetadata};
use crate::objects::references::ParentReference;
use crate::objects::routes::StreamRoute;
use crate::route_plan::{RejectedRules, RoutePlan, plan_grpc_route, plan_http_route};
use crate::route_status::{AttachedRoute, RouteFaults, detach_conflicts};
use crate::stream_service::{StreamPlan, plan_stream_route};

/// The routes, the oldest first, and what each does.
#[derive(Debug)]
pub struct CollectedRoutes {
    pub attached: Vec<AttachedRoute>,
    pub requests: BTreeMap<PlanKey, RoutePlan>,
    pub streams: BTreeMap<PlanKey, StreamPlan>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PlanKey {
    pub kind: RouteKind,
    pub key: ObjectKey,
}

pub fn collect_routes(
    set: &ObjectSet,
    gateways: &[GatewayView],
    rejected: &RejectedRules,
) -> CollectedRoutes {
    let mut collector = RouteCollector {
        set,
        gateways,
        routes: CollectedRoutes {
            attached: Vec::new(),
            requests: BTreeMap::new(),
            streams: BTreeMap::new(),
        },
    };
    for route in set.http_routes.values() {
        let plan = plan_http_route(set, route, rejected);
        let spec = &route.spec;
        let parents = RouteParents { references: &spec.parent_refs, hostnames: &spec.hostnames };
        collector.add_requests(RouteKind::Http, &route.metadata, parents, plan);
    }
    for route in set.grpc_routes.values() {
        let plan = plan_grpc_route(set, route, rejected);
        let spec = &route.spec;
        let parents = RouteParents { references: &spec.parent_refs, hostnames: &spec.hostnames };
        collector.add_requests(RouteKind::Grpc, &route.metadata, parents, plan);
    }
    set.tls_routes.values().for_each(|route| collector.add_stream(RouteKind::Tls, route));
    set.tcp_routes.values().for_each(|route| collector.add_stream(RouteKind::Tcp, route));
    let mut routes = collector.routes;
    detach_conflicts(&mut routes.attached);
    routes
}

#[derive(Clone, Copy)]
struct RouteParents<'a> {
    references: &'a [ParentReference],
    hostnames: &'a [String],
}

struct RouteCollector<'a> {
    set: &'a ObjectSet,
    gateways: &'a [GatewayView],
    routes: CollectedRoutes,
}

impl RouteCollector<'_> {
    fn add_requests(
        &mut self,
        kind: RouteKind,
        metadata: &ObjectMetadata,
        parents: RouteParents<'_>,
        plan: RoutePlan,
    ) {
        let faults = request_faults(&plan);
        self.attach(kind, metadata, parents, faults);
        self.routes.requests.insert(PlanKey { kind, key: metadata.key() }, plan);
    }

    fn add_stream(&mut self, kind: RouteKind, route: &StreamRoute) {
        let plan = plan_stream_route(self.set, route, kind);
        let faults = RouteFaults {
            unusable: None,
            partial: plan.surplus.clone(),
            unresolved: plan.unresolved.clone(),
        };
        let hostnames = if kind == RouteKind::Tls { &route.spec.hostnames[..] } else { &[] };
        let parents = RouteParents { references: &route.spec.parent_refs, hostnames };
        self.attach(kind, &route.metadata, parents, faults);
        self.routes.streams.insert(PlanKey { kind, key: route.metadata.key() }, plan);
    }

    fn attach(
        &mut self,
        kind: RouteKind,
        metadata: &ObjectMetadata,
        parents: RouteParents<'_>,
        faults: RouteFaults,
    ) {
        let namespace = metadata.namespace();
        let identity = RouteIdentity { kind, namespace, hostnames: parents.hostnames };
        let found = attach_route(self.set, self.gateways, &identity, parents.references);
        self.routes.attached.push(AttachedRoute {
            kind,
            key: metadata.key(),
            age: metadata.age(),
            metadata: metadata.clone(),
            parents: found,
            faults,
        });
    }
}

/// A route is refused if no rule can be carried out. If only some can, the others answer with an error, so that their
/// requests take no other route.
fn request_faults(plan: &RoutePlan) -> RouteFaults {
    let mut faults = RouteFaults { unresolved: plan.unresolved.clone(), ..RouteFaults::default() };
    let Some(first) = plan.failures().next() else { return faults };
    let messages: Vec<&str> = plan.failures().map(|one| one.message.as_str()).collect();
    let all = messages.join("; ");
    if plan.is_usable() {
        let message = format!("Dropped Rule, its requests get an error: {all}");
        faults.partial = Some(ConditionFailure::new(first.reason, message));
    } else {
        faults.unusable = Some(ConditionFailure::new(first.reason, all));
    }
    faults
}
