//! The latest results of the ledgers, for status and metrics. It keeps nothing of the past.

use std::collections::HashMap;

use api::types::UsersPromise;
use model::id::ServiceId;
use model::slo::outcome_counts::SloOutcomeCounts;

/// What the ledgers said when they were looked at last.
#[derive(Clone, Debug, Default)]
pub struct SloSummary(HashMap<ServiceId, ServiceSlo>);

#[derive(Clone, Debug, Default)]
pub struct ServiceSlo {
    /// What is promised, and what is left of it.
    pub objectives: Vec<UsersPromise>,
    /// What the clients of each network met since the start, by network.
    pub networks: Vec<(String, SloOutcomeCounts)>,
    /// The same of all networks that are not told apart.
    pub others: SloOutcomeCounts,
}

impl SloSummary {
    pub fn new(services: HashMap<ServiceId, ServiceSlo>) -> SloSummary {
        SloSummary(services)
    }

    /// A service; `None`: it promises nothing.
    pub fn find_service(&self, id: ServiceId) -> Option<&ServiceSlo> {
        self.0.get(&id)
    }

    /// What a service promises, and what is left of it.
    pub fn objectives(&self, id: ServiceId) -> Vec<UsersPromise> {
        self.find_service(id).map(|service| service.objectives.clone()).unwrap_or_default()
    }
}
