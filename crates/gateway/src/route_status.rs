//! Routes with their parents: which listeners take them in the end, and their conditions.

use std::collections::BTreeMap;

use crate::attachment::{ListenerAttachment, ListenerPlace, ParentAttachment};
use crate::backends::ConditionFailure;
use crate::host_names::have_common_host;
use crate::listeners::RouteKind;
use crate::objects::metadata::{ObjectAge, ObjectKey, ObjectMetadata};
use crate::status::{ConditionList, ObjectStatus, ParentStatus};

/// What is wrong with a route as a whole, whatever its parent is.
#[derive(Clone, Debug, Default)]
pub struct RouteFaults {
    /// Why no rule can be carried out.
    pub unusable: Option<ConditionFailure>,
    /// Why some rules cannot.
    pub partial: Option<ConditionFailure>,
    pub unresolved: Vec<ConditionFailure>,
}

/// A route with its parents.
#[derive(Clone, Debug)]
pub struct AttachedRoute {
    pub kind: RouteKind,
    pub key: ObjectKey,
    pub age: ObjectAge,
    pub metadata: ObjectMetadata,
    pub parents: Vec<ParentAttachment>,
    pub faults: RouteFaults,
}

/// Detaches routes that may not be where an older route is: an HTTPRoute and a GRPCRoute with a host in common.
pub fn detach_conflicts(routes: &mut [AttachedRoute]) {
    routes.sort_by(|a, b| a.age.cmp(&b.age).then_with(|| a.kind.cmp(&b.kind)));
    let mut taken: BTreeMap<ListenerPlace, Vec<TakenHosts>> = BTreeMap::new();
    for route in routes.iter_mut().filter(|route| route.faults.unusable.is_none()) {
        let kind = route.kind;
        let key = route.key.clone();
        for parent in &mut route.parents {
            let Ok(attachments) = &mut parent.outcome else { continue };
            let mut in_the_way = None;
            attachments.retain(|attachment| {
                let at_place = taken.get(&attachment.place).into_iter().flatten();
                let older = at_place.into_iter().find(|other| other.excludes(kind, attachment));
                in_the_way = older.map(TakenHosts::label).or(in_the_way.take());
                older.is_none()
            });
            for attachment in attachments.iter() {
                let hosts = attachment.hosts.clone();
                let taking = TakenHosts { kind, key: key.clone(), hosts };
                taken.entry(attachment.place).or_default().push(taking);
            }
            if let Some(other) = in_the_way.filter(|_| attachments.is_empty()) {
                let message = format!("the older {other} has a host in common");
                parent.outcome = Err(ConditionFailure::new("HostnameConflict", message));
            }
        }
    }
}

/// Hosts that a route has at a listener.
struct TakenHosts {
    kind: RouteKind,
    key: ObjectKey,
    hosts: Vec<Option<String>>,
}

impl TakenHosts {
    fn excludes(&self, kind: RouteKind, attachment: &ListenerAttachment) -> bool {
        let of_requests = |kind: RouteKind| matches!(kind, RouteKind::Http | RouteKind::Grpc);
        self.kind != kind
            && of_requests(kind)
            && of_requests(self.kind)
            && have_common_host(&self.hosts, &attachment.hosts)
    }

    fn label(&self) -> String {
        format!("{} {}", self.kind.name(), self.key)
    }
}

impl AttachedRoute {
    /// The listeners that take the route, each once.
    pub fn accepted_attachments(&self) -> BTreeMap<ListenerPlace, Vec<Option<String>>> {
        let mut accepted = BTreeMap::new();
        if self.faults.unusable.is_some() {
            return accepted;
        }
        for attachment in self.parents.iter().filter_map(|one| one.outcome.as_ref().ok()).flatten()
        {
            accepted.insert(attachment.place, attachment.hosts.clone());
        }
        accepted
    }

    /// The status; `None`: no parent is ours.
    pub fn status(&self, controller_name: &str) -> Option<ObjectStatus> {
        if self.parents.is_empty() {
            return None;
        }
        let mut status = ObjectStatus::new(self.kind.name(), self.key.clone());
        status.parents = self
            .parents
            .iter()
            .map(|parent| ParentStatus {
                parent_ref: parent.parent.clone(),
                controller_name: controller_name.to_owned(),
                conditions: self.parent_conditions(parent).conditions,
            })
            .collect();
        Some(status)
    }

    fn parent_conditions(&self, parent: &ParentAttachment) -> ConditionList {
        let mut conditions = ConditionList::new(&self.metadata);
        let refusal = parent.outcome.as_ref().err().or(self.faults.unusable.as_ref());
        match refusal {
            Some(failure) => conditions.fail("Accepted", failure.reason, &failure.message),
            None => conditions.hold("Accepted", "Accepted", "the route is attached"),
        }
        match self.faults.unresolved.first() {
            None => conditions.hold("ResolvedRefs", "ResolvedRefs", "every reference is resolved"),
            Some(first) => {
                let messages: Vec<&str> =
                    self.faults.unresolved.iter().map(|one| one.message.as_str()).collect();
                conditions.fail("ResolvedRefs", first.reason, messages.join("; "));
            }
        }
        if let Some(partial) = self.faults.partial.as_ref().filter(|_| refusal.is_none()) {
            conditions.hold("PartiallyInvalid", partial.reason, &partial.message);
        }
        conditions
    }
}
