//! The rules of a service in force: compiled, with what they count and the pools that they mean.

use std::collections::HashMap;
use std::sync::Arc;

use super::stats::{RuleGauges, RuleStats};
use super::table::RuleTable;
use crate::config::{RuleConfig, ServiceConfig};
use crate::id::PoolId;

/// The rules of a service in force.
#[derive(Debug)]
pub struct ServiceRules {
    pub table: RuleTable,
    /// The pools that they mean, in the order of `Table::pools`.
    pub pools: Vec<PoolId>,
    /// What each counts, in the order of the rules.
    pub stats: Vec<Arc<RuleStats>>,
    /// What all of them look at.
    pub gauges: Arc<RuleGauges>,
}

impl ServiceRules {
    /// Of a service; `None`: it has no rules, or one means a pool that is not there. What rules counted that are the
    /// same as `before` stays.
    pub fn new(
        service: &ServiceConfig,
        pool: impl Fn(&str) -> Option<PoolId>,
        workers: usize,
        before: Option<(&ServiceConfig, &ServiceRules)>,
    ) -> Option<ServiceRules> {
        let table = RuleTable::new(service)?;
        let pools = table.pools().iter().map(|name| pool(name)).collect::<Option<Vec<_>>>()?;
        // Rules that are the same twice keep their order.
        let mut known: HashMap<&RuleConfig, Vec<&Arc<RuleStats>>> = HashMap::new();
        if let Some((old, ruling)) = before {
            for (rule, live) in old.rules.iter().zip(&ruling.stats).rev() {
                known.entry(rule).or_default().push(live);
            }
        }
        let mut live = |rule: &RuleConfig| match known.get_mut(rule).and_then(Vec::pop) {
            Some(live) => Arc::clone(live),
            None => Arc::new(RuleStats::new(rule, workers)),
        };
        let live = service.rules.iter().map(&mut live).collect();
        let gauges = before.map(|(_, ruling)| Arc::clone(&ruling.gauges)).unwrap_or_default();
        Some(ServiceRules { table, pools, stats: live, gauges })
    }
}
