//! The arithmetic behind the active weights and ejections, for reports. It keeps no history.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use model::id::ServerId;
use model::outlier_detection::OutlierEvaluation;
use model::weight_controller::WeightCalculation;

/// The newest arithmetic by server: of weights, and of ejections.
#[derive(Debug, Default)]
pub struct BalancingDecisions {
    weights: Mutex<HashMap<ServerId, WeightDecision>>,
    ejections: Mutex<HashMap<ServerId, EjectionDecision>>,
}

/// The calculation behind a server's ejection, or behind its not being ejected.
#[derive(Clone, Debug)]
pub struct EjectionDecision {
    pub evaluation: OutlierEvaluation,
    /// When it was made.
    pub at: SystemTime,
}

#[derive(Clone, Debug, PartialEq)]
pub struct WeightDecision {
    pub calculation: WeightCalculation,
    /// The change of all weights of the pool, in percent of their sum.
    pub change: f64,
    /// When it was made.
    pub at: SystemTime,
}

impl BalancingDecisions {
    pub(super) fn set_weight(&self, server: ServerId, sum: WeightDecision) {
        self.sums().insert(server, sum);
    }

    /// Removes servers that the controller no longer handles.
    pub(super) fn retain_servers(&self, controls: impl Fn(ServerId) -> bool) {
        self.sums().retain(|server, _| controls(*server));
    }

    pub fn weight_decision(&self, server: ServerId) -> Option<WeightDecision> {
        self.sums().get(&server).cloned()
    }

    pub(super) fn set_ejections(
        &self,
        evaluations: HashMap<ServerId, OutlierEvaluation>,
        at: SystemTime,
    ) {
        let decisions = evaluations
            .into_iter()
            .map(|(server, evaluation)| (server, EjectionDecision { evaluation, at }))
            .collect();
        *self.ejections.lock().unwrap_or_else(PoisonError::into_inner) = decisions;
    }

    /// The last check of a server for ejection; `None`: outlier detection is off.
    pub fn ejection_decision(&self, server: ServerId) -> Option<EjectionDecision> {
        self.ejections.lock().unwrap_or_else(PoisonError::into_inner).get(&server).cloned()
    }

    fn sums(&self) -> MutexGuard<'_, HashMap<ServerId, WeightDecision>> {
        self.weights.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
