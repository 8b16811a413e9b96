//! Puts what services and pools speak TLS with, and the secrets of cookies, into a state. Pure: views that keep theirs stay the same allocation.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::snapshot::{Material, PoolView, ServiceView};

use super::book::Book;
use crate::tls::vault::Materials;

/// The state with these materials.
pub fn secured(mut book: Book, materials: &Materials) -> Book {
    for (name, view) in &mut book.services {
        if let Some(tls) = other(&view.tls, &materials.services, name) {
            let (config, live) = (Arc::clone(&view.config), Arc::clone(&view.live));
            let (rules, affinity) = (view.rules.clone(), view.affinity.clone());
            let users = view.users.clone();
            let (id, pool) = (view.id, view.pool);
            *view = Arc::new(ServiceView { id, config, pool, tls, live, rules, affinity, users });
        }
    }
    for (name, view) in &mut book.pools {
        if let Some(tls) = other(&view.tls, &materials.pools, name) {
            let (config, servers) = (Arc::clone(&view.config), view.servers.clone());
            let (id, live) = (view.id, Arc::clone(&view.live));
            *view = Arc::new(PoolView { id, config, tls, live, servers });
        }
    }
    book.cookie_secrets = Arc::clone(&materials.cookies);
    book
}

/// What is to take the place of `has`; `None`: it stays.
fn other(
    has: &Option<Material>,
    wanted: &BTreeMap<String, Material>,
    name: &str,
) -> Option<Option<Material>> {
    let wanted = wanted.get(name);
    match (has, wanted) {
        (None, None) => None,
        (Some(has), Some(wanted)) if has.is(wanted) => None,
        _ => Some(wanted.cloned()),
    }
}
