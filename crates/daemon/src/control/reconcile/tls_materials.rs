//! Puts TLS material of services and pools, error pages, networks of files and the cookie secrets into a state. Pure: views whose material did not
//! change stay the same allocation.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::snapshot::{OpaqueMaterial, PoolView, ServiceView};

use super::applied_state::AppliedState;
use crate::tls::cert_store::TlsMaterials;

/// The state with these materials.
pub fn with_tls_materials(mut applied: AppliedState, materials: &TlsMaterials) -> AppliedState {
    for (name, view) in &mut applied.services {
        let tls = replacement(&view.tls, &materials.services, name);
        let error_pages = materials.error_pages.get(name);
        let has_pages = view.error_pages.as_ref().map(Arc::as_ptr) == error_pages.map(Arc::as_ptr);
        let networks = materials.networks.get(name);
        let has_networks =
            view.file_networks.as_ref().map(Arc::as_ptr) == networks.map(Arc::as_ptr);
        if tls.is_some() || !has_pages || !has_networks {
            *view = Arc::new(ServiceView {
                id: view.id,
                config: Arc::clone(&view.config),
                pool: view.pool,
                tls: tls.unwrap_or_else(|| view.tls.clone()),
                error_pages: error_pages.cloned(),
                file_networks: networks.cloned(),
                stats: Arc::clone(&view.stats),
                rules: view.rules.clone(),
                edits: view.edits.clone(),
                affinity: view.affinity.clone(),
                slo: view.slo.clone(),
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
    applied.auth = materials.auth.clone();
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
