//! The status of objects: conditions as the specification of Gateway API names them.
//!
//! A condition has no time here: who writes it knows when it changed.

use serde::Serialize;

use crate::objects::metadata::{ObjectKey, ObjectMetadata};
use crate::objects::references::ParentReference;

/// One condition of an object, a listener, or a route at one of its parents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StatusCondition {
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub status: ConditionState,
    pub reason: &'static str,
    pub message: String,
    pub observed_generation: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum ConditionState {
    True,
    False,
}

/// The status of one object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectStatus {
    pub kind: &'static str,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    pub name: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<StatusCondition>,
    /// Of a Gateway: where it listens.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<StatusAddress>,
    /// Of a Gateway.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub listeners: Vec<ListenerStatus>,
    /// Of a route.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parents: Vec<ParentStatus>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StatusAddress {
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub value: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListenerStatus {
    pub name: String,
    pub supported_kinds: Vec<SupportedKind>,
    pub attached_routes: usize,
    pub conditions: Vec<StatusCondition>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SupportedKind {
    pub group: &'static str,
    pub kind: &'static str,
}

/// What one parent makes of a route.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ParentStatus {
    pub parent_ref: ParentReference,
    pub controller_name: String,
    pub conditions: Vec<StatusCondition>,
}

/// Conditions of one object or listener, each with the generation that was looked at.
#[derive(Clone, Debug)]
pub struct ConditionList {
    generation: i64,
    pub conditions: Vec<StatusCondition>,
}

impl ConditionList {
    pub fn new(metadata: &ObjectMetadata) -> ConditionList {
        ConditionList { generation: metadata.generation, conditions: Vec::new() }
    }

    pub fn hold(&mut self, kind: &'static str, reason: &'static str, message: impl Into<String>) {
        self.push(kind, ConditionState::True, reason, message.into());
    }

    pub fn fail(&mut self, kind: &'static str, reason: &'static str, message: impl Into<String>) {
        self.push(kind, ConditionState::False, reason, message.into());
    }

    fn push(
        &mut self,
        kind: &'static str,
        status: ConditionState,
        reason: &'static str,
        message: String,
    ) {
        let observed_generation = self.generation;
        self.conditions.push(StatusCondition {
            kind,
            status,
            reason,
            message,
            observed_generation,
        });
    }
}

impl ObjectStatus {
    pub fn new(kind: &'static str, key: ObjectKey) -> ObjectStatus {
        ObjectStatus {
            kind,
            namespace: key.namespace,
            name: key.name,
            conditions: Vec::new(),
            addresses: Vec::new(),
            listeners: Vec::new(),
            parents: Vec::new(),
        }
    }

    /// `KIND NAMESPACE/NAME`.
    pub fn label(&self) -> String {
        match self.namespace.is_empty() {
            true => format!("{} {}", self.kind, self.name),
            false => format!("{} {}/{}", self.kind, self.namespace, self.name),
        }
    }

    /// All conditions that say that something is not as it was wanted, with the part of the object that has them.
    pub fn visit_failures(&self, mut visit: impl FnMut(&str, &StatusCondition)) {
        self.conditions.iter().filter(|one| one.is_failure()).for_each(|one| visit("", one));
        for listener in &self.listeners {
            let part = format!("spec.listeners[{}]", listener.name);
            let failures = listener.conditions.iter().filter(|one| one.is_failure());
            failures.for_each(|one| visit(&part, one));
        }
        for parent in &self.parents {
            let part = format!("spec.parentRefs[{}]", parent.parent_ref.name);
            let failures = parent.conditions.iter().filter(|one| one.is_failure());
            failures.for_each(|one| visit(&part, one));
        }
    }
}

impl StatusCondition {
    /// Whether it says that something is not as it was wanted. Two kinds are set only where that is so.
    pub fn is_failure(&self) -> bool {
        let wanted = match self.kind {
            "Conflicted" | "PartiallyInvalid" => ConditionState::False,
            _ => ConditionState::True,
        };
        self.status != wanted || self.reason == "ListenersNotValid"
    }
}
