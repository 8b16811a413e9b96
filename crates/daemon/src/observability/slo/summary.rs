//! The latest results of the ledgers, for status and metrics. It keeps nothing of the past.

use std::collections::HashMap;

use api::types::ObjectiveStatus;
use model::id::ServiceId;
use model::slo::outcome_counts::SloOutcomeCounts;

/// The state of all ledgers at the last check.
#[derive(Clone, Debug, Default)]
pub struct SloSummary(HashMap<ServiceId, ServiceSlo>);

#[derive(Clone, Debug, Default)]
pub struct ServiceSlo {
    /// Objectives and their remaining budgets.
    pub objectives: Vec<ObjectiveStatus>,
    /// Outcomes of each network's clients since the start, by network.
    pub networks: Vec<NetworkOutcomes>,
    /// Outcomes of all networks that are not counted separately.
    pub others: SloOutcomeCounts,
}

/// Outcomes of the clients of one network.
#[derive(Clone, Debug)]
pub struct NetworkOutcomes {
    pub network: String,
    pub counts: SloOutcomeCounts,
}

impl SloSummary {
    pub fn new(services: HashMap<ServiceId, ServiceSlo>) -> SloSummary {
        SloSummary(services)
    }

    /// A service; `None`: it promises nothing.
    pub fn find_service(&self, id: ServiceId) -> Option<&ServiceSlo> {
        self.0.get(&id)
    }

    /// A service's objectives and their remaining budgets.
    pub fn objectives(&self, id: ServiceId) -> Vec<ObjectiveStatus> {
        self.find_service(id).map(|service| service.objectives.clone()).unwrap_or_default()
    }
}
