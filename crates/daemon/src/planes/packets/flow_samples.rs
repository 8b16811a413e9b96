//! From the plane's indexes to the numbers of services and servers: what was read of watched connections, for those who
//! ask by name.

use std::collections::{BTreeSet, HashMap};

use model::flow_samples::FlowDelta;
use model::snapshot::{PoolView, ServiceView};

use super::open_plane::OpenPlane;
use crate::state::StateSnapshot;

/// Replaces indexes by ids. Samples without a service are dropped; a removed server becomes `None`.
pub(super) fn number_samples(
    site: &OpenPlane,
    snapshot: &StateSnapshot,
    changes: Vec<FlowDelta>,
) -> Vec<FlowDelta> {
    if changes.is_empty() {
        return changes;
    }
    let mut services = HashMap::new();
    let mut servers = HashMap::new();
    let pools = snapshot.snapshot.pools.values();
    let pools: HashMap<&str, &PoolView> =
        pools.map(|pool| (pool.config.name.as_str(), &**pool)).collect();
    for view in snapshot.snapshot.services.values() {
        if let Some(index) = site.planner.service_index(&view.config.name) {
            services.insert(index, view.id.0);
            add_servers(site, &pools, view, &mut servers);
        }
    }
    let named = changes.into_iter().filter_map(|change| {
        let service = *services.get(&change.service)?;
        let server = change.server.and_then(|index| servers.get(&index).copied());
        Some(FlowDelta { service, server, ..change })
    });
    named.collect()
}

fn add_servers(
    site: &OpenPlane,
    pools: &HashMap<&str, &PoolView>,
    view: &ServiceView,
    servers: &mut HashMap<u32, u32>,
) {
    let rules = view.config.packets.iter().flat_map(|packets| &packets.rules);
    let names: BTreeSet<&str> =
        rules.map(|rule| rule.pool.as_str()).chain([view.config.pool.as_str()]).collect();
    let of = names.iter().filter_map(|name| pools.get(name)).flat_map(|pool| &pool.servers);
    for server in of {
        let index =
            server.socket_address().and_then(|at| site.planner.server_index(&view.config.name, at));
        servers.extend(index.map(|index| (index, server.id.0)));
    }
}
