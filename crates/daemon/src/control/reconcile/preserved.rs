//! State of services that outlives changes beside their counters: rule counters, sticky clients and outcomes. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::affinity;
use model::config::ServiceConfig;
use model::rules::{PreviousRules, ServiceRules};
use model::slo::network_table::{NetworkGrouping, SloTable};
use model::snapshot::{PoolView, ServiceView};

type ServiceViews = BTreeMap<String, Arc<ServiceView>>;

/// The rules of a service over these pools; the active ones if they are equal.
pub fn preserve_rules(
    config: &Arc<ServiceConfig>,
    pools: &BTreeMap<String, Arc<PoolView>>,
    workers: usize,
    old: Option<&Arc<ServiceView>>,
) -> Option<Arc<ServiceRules>> {
    let id = |name: &str| pools.get(name).map(|pool| pool.id);
    let in_force = old.and_then(|old| old.rules.as_ref().map(|ruling| (&old.config, ruling)));
    if let Some((before, ruling)) = in_force
        && before.rules == config.rules
        && before.pool == config.pool
        && before.forward == config.forward
        && ruling
            .table
            .pools()
            .iter()
            .map(|name| id(name))
            .eq(ruling.pools.iter().map(|id| Some(*id)))
    {
        return Some(Arc::clone(ruling));
    }
    let before = in_force.map(|(config, active)| PreviousRules { config, active });
    ServiceRules::new(config, id, workers, before).map(Arc::new)
}

/// The affinity table of a service: its own active one, or that of another service with the same group, unless the size
/// differs.
pub fn preserve_affinity_table(
    config: &ServiceConfig,
    known: &[&ServiceViews],
) -> Option<Arc<affinity::AffinityTable>> {
    let sticky = config.sticky.as_ref().filter(|sticky| sticky.needs_table())?;
    let fits = |view: &&Arc<ServiceView>| match (&sticky.share, &view.config.sticky) {
        (Some(group), Some(other)) => other.share.as_ref() == Some(group),
        (None, Some(other)) => {
            view.config.name == config.name && other.share.is_none() && other.by == sticky.by
        }
        (_, None) => false,
    };
    let views = known.iter().flat_map(|services| services.values()).filter(fits);
    let mut tables = views.filter_map(|view| view.affinity.as_ref());
    let shared = tables.find(|table| table.entries() == sticky.entries);
    Some(shared.map_or_else(|| Arc::new(affinity::AffinityTable::new(sticky.entries)), Arc::clone))
}

/// The SLO counters of a service: the active ones, unless networks are grouped differently.
pub fn preserve_slo_table(
    config: &ServiceConfig,
    workers: usize,
    old: Option<&Arc<ServiceView>>,
) -> Option<Arc<SloTable>> {
    let objective = config.objective.as_ref()?;
    let networks = objective.networks;
    let mask4 = objective.mask4;
    let mask6 = objective.mask6;
    let shape = NetworkGrouping { networks, mask4, mask6 };
    let known = old.and_then(|old| old.slo.as_ref()).filter(|users| users.shape() == shape);
    Some(known.map_or_else(|| Arc::new(SloTable::new(workers, shape)), Arc::clone))
}

/// Whether both are the same allocation, or nothing.
pub fn is_same_allocation<T>(a: &Option<Arc<T>>, b: &Option<Arc<T>>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => Arc::ptr_eq(a, b),
        _ => false,
    }
}
