//! Whether a reference may cross a border of namespaces: only where a ReferenceGrant of the target's namespace says so.

use crate::object_set::ObjectSet;
use crate::objects::references::{GATEWAY_GROUP, GrantedSource, GrantedTarget};

/// A reference from an object of Gateway API to one of the core group.
#[derive(Clone, Copy, Debug)]
pub struct ForeignReference<'a> {
    pub from_kind: &'a str,
    pub from_namespace: &'a str,
    pub to_kind: &'a str,
    pub to_namespace: &'a str,
    pub to_name: &'a str,
}

/// Whether the reference is allowed. References within a namespace always are.
pub fn is_granted(set: &ObjectSet, reference: &ForeignReference<'_>) -> bool {
    if reference.from_namespace == reference.to_namespace {
        return true;
    }
    let of_target =
        set.grants.values().filter(|grant| grant.metadata.namespace() == reference.to_namespace);
    of_target.into_iter().any(|grant| {
        grant.spec.from.iter().any(|from| is_source(from, reference))
            && grant.spec.to.iter().any(|to| is_target(to, reference))
    })
}

/// Why a reference that is not granted is refused, and what would allow it.
pub fn describe_refusal(reference: &ForeignReference<'_>) -> String {
    format!(
        "no ReferenceGrant in namespace {} allows references from {} in namespace {} to {} {}",
        reference.to_namespace,
        reference.from_kind,
        reference.from_namespace,
        reference.to_kind,
        reference.to_name
    )
}

fn is_source(from: &GrantedSource, reference: &ForeignReference<'_>) -> bool {
    from.group == GATEWAY_GROUP
        && from.kind == reference.from_kind
        && from.namespace == reference.from_namespace
}

fn is_target(to: &GrantedTarget, reference: &ForeignReference<'_>) -> bool {
    let named = to.name.as_deref().filter(|name| !name.is_empty());
    to.group.is_empty()
        && to.kind == reference.to_kind
        && named.is_none_or(|name| name == reference.to_name)
}
