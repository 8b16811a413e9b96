//! The active rules of a service: compiled, with their counters and their pools.

use std::collections::HashMap;
use std::sync::Arc;

use super::stats::{RuleGauges, RuleStats};
use super::table::RuleTable;
use crate::config::{RuleConfig, ServiceConfig};
use crate::id::PoolId;

/// The active rules of a service.
#[derive(Debug)]
pub struct ServiceRules {
    pub table: RuleTable,
    /// The rules' pools, in the order of `RuleTable::pools`.
    pub pools: Vec<PoolId>,
    /// The counters of each rule, in the order of the rules.
    pub stats: Vec<Arc<RuleStats>>,
    /// The gauges that all rules read.
    pub gauges: Arc<RuleGauges>,
}

/// The rules that a service had before a change of its configuration.
#[derive(Clone, Copy, Debug)]
pub struct PreviousRules<'a> {
    pub config: &'a ServiceConfig,
    pub active: &'a ServiceRules,
}

impl ServiceRules {
    /// The rules of a service; `None`: it has no rules, or one names a pool that does not exist. Counters of rules that
    /// are the same as `before` are reused.
    pub fn new(
        service: &ServiceConfig,
        pool: impl Fn(&str) -> Option<PoolId>,
        workers: usize,
        before: Option<PreviousRules<'_>>,
    ) -> Option<ServiceRules> {
        let table = RuleTable::new(service)?;
        let pools = table.pools().iter().map(|name| pool(name)).collect::<Option<Vec<_>>>()?;
        // Rules that occur twice keep their order.
        let mut known: HashMap<&RuleConfig, Vec<&Arc<RuleStats>>> = HashMap::new();
        if let Some(PreviousRules { config, active }) = before {
            for (rule, live) in config.rules.iter().zip(&active.stats).rev() {
                known.entry(rule).or_default().push(live);
            }
        }
        let mut live = |rule: &RuleConfig| match known.get_mut(rule).and_then(Vec::pop) {
            Some(live) => Arc::clone(live),
            None => Arc::new(RuleStats::new(rule, workers)),
        };
        let live = service.rules.iter().map(&mut live).collect();
        let gauges = before.map(|before| Arc::clone(&before.active.gauges)).unwrap_or_default();
        Some(ServiceRules { table, pools, stats: live, gauges })
    }
}
