//! The rules of a service in force: compiled, with what they count and the pools that they mean.

use std::collections::HashMap;
use std::sync::Arc;

use super::live::{Gauges, RuleLive};
use super::table::Table;
use crate::config::{Rule, Service};
use crate::id::PoolId;

/// The rules of a service in force.
#[derive(Debug)]
pub struct Ruling {
    /// Compiled.
    pub table: Table,
    /// The pools that they mean, in the order of `Table::pools`.
    pub pools: Vec<PoolId>,
    /// What each counts, in the order of the rules.
    pub live: Vec<Arc<RuleLive>>,
    /// What all of them look at.
    pub gauges: Arc<Gauges>,
}

impl Ruling {
    /// Of a service; `None`: it has no rules, or one means a pool that is not there. What rules counted that are the
    /// same as `before` stays.
    pub fn new(
        service: &Service,
        pool: impl Fn(&str) -> Option<PoolId>,
        workers: usize,
        before: Option<(&Service, &Ruling)>,
    ) -> Option<Ruling> {
        let table = Table::new(service)?;
        let pools = table.pools().iter().map(|name| pool(name)).collect::<Option<Vec<_>>>()?;
        // Rules that are the same twice keep their order.
        let mut known: HashMap<&Rule, Vec<&Arc<RuleLive>>> = HashMap::new();
        if let Some((old, ruling)) = before {
            for (rule, live) in old.rules.iter().zip(&ruling.live).rev() {
                known.entry(rule).or_default().push(live);
            }
        }
        let mut live = |rule: &Rule| match known.get_mut(rule).and_then(Vec::pop) {
            Some(live) => Arc::clone(live),
            None => Arc::new(RuleLive::new(rule, workers)),
        };
        let live = service.rules.iter().map(&mut live).collect();
        let gauges = before.map(|(_, ruling)| Arc::clone(&ruling.gauges)).unwrap_or_default();
        Some(Ruling { table, pools, live, gauges })
    }
}
