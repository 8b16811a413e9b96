//! What services keep through changes beside their counters: what their rules count, which clients belong where,
//! and what users met. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::affinity;
use model::config::Service;
use model::rules::Ruling;
use model::snapshot::{PoolView, ServiceView};
use model::users::table::{Shape, Users};

type Services = BTreeMap<String, Arc<ServiceView>>;

/// The rules of a service over these pools; those in force where they are the same.
pub fn rules(
    config: &Arc<Service>,
    pools: &BTreeMap<String, Arc<PoolView>>,
    workers: usize,
    old: Option<&Arc<ServiceView>>,
) -> Option<Arc<Ruling>> {
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
    let before = in_force.map(|(config, ruling)| (&**config, &**ruling));
    Ruling::new(config, id, workers, before).map(Arc::new)
}

/// The table of a service that remembers clients: its own in force, or that of another one with the same word, unless it
/// is of another size.
pub fn table(config: &Service, known: &[&Services]) -> Option<Arc<affinity::Table>> {
    let sticky = config.sticky.as_ref().filter(|sticky| sticky.remembers())?;
    let fits = |view: &&Arc<ServiceView>| match (&sticky.share, &view.config.sticky) {
        (Some(word), Some(other)) => other.share.as_ref() == Some(word),
        (None, Some(other)) => {
            view.config.name == config.name && other.share.is_none() && other.by == sticky.by
        }
        (_, None) => false,
    };
    let views = known.iter().flat_map(|services| services.values()).filter(fits);
    let mut tables = views.filter_map(|view| view.affinity.as_ref());
    let found = tables.find(|table| table.entries() == sticky.entries);
    Some(found.map_or_else(|| Arc::new(affinity::Table::new(sticky.entries)), Arc::clone))
}

/// Where a service counts what its users met: what is in force, unless networks are told apart in another way.
pub fn users(
    config: &Service,
    workers: usize,
    old: Option<&Arc<ServiceView>>,
) -> Option<Arc<Users>> {
    let objective = config.objective.as_ref()?;
    let (networks, mask4, mask6) = (objective.networks, objective.mask4, objective.mask6);
    let shape = Shape { networks, mask4, mask6 };
    let known = old.and_then(|old| old.users.as_ref()).filter(|users| users.shape() == shape);
    Some(known.map_or_else(|| Arc::new(Users::new(workers, shape)), Arc::clone))
}

/// Whether both are the same allocation, or nothing.
pub fn same<T>(a: &Option<Arc<T>>, b: &Option<Arc<T>>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => Arc::ptr_eq(a, b),
        _ => false,
    }
}
