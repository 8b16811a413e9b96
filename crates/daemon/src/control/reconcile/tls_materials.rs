//! Puts TLS material of services and pools, and the cookie secrets, into a state. Pure: views whose material did not
//! change stay the same allocation.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::snapshot::{OpaqueMaterial, PoolView, ServiceView};

use super::applied_state::AppliedState;
use crate::tls::cert_store::TlsMaterials;

/// The state with these materials.
pub fn with_tls_materials(mut applied: AppliedState, materials: &TlsMaterials) -> AppliedState {
    for (name, view) in &mut applied.services {
        if let Some(tls) = replacement(&view.tls, &materials.services, name) {
            let config = Arc::clone(&view.config);
            let live = Arc::clone(&view.stats);
            let rules = view.rules.clone();
            let affinity = view.affinity.clone();
            let users = view.slo.clone();
            let id = view.id;
            let pool = view.pool;
            *view = Arc::new(ServiceView {
                id,
                config,
                pool,
                tls,
                stats: live,
                rules,
                affinity,
                slo: users,
            });
        }
    }
    for (name, view) in &mut applied.pools {
        if let Some(tls) = replacement(&view.tls, &materials.pools, name) {
            let config = Arc::clone(&view.config);
            let servers = view.servers.clone();
            let id = view.id;
            let live = Arc::clone(&view.stats);
            *view = Arc::new(PoolView { id, config, tls, stats: live, servers });
        }
    }
    applied.cookie_secrets = Arc::clone(&materials.cookies);
    applied
}

/// The replacement of `has`; `None`: it stays.
fn replacement(
    has: &Option<OpaqueMaterial>,
    wanted: &BTreeMap<String, OpaqueMaterial>,
    name: &str,
) -> Option<Option<OpaqueMaterial>> {
    let wanted = wanted.get(name);
    match (has, wanted) {
        (None, None) => None,
        (Some(has), Some(wanted)) if has.is_same(wanted) => None,
        _ => Some(wanted.cloned()),
    }
}
