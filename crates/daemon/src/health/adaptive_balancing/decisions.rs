//! The arithmetic behind the active weights and ejections, for reports. It keeps no history.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use model::id::ServerId;
use model::outlier_detection;
use model::weight_controller::WeightCalculation;

/// The newest arithmetic of ejections by server, and when it was made.
type OutlierEvaluations = HashMap<ServerId, (outlier_detection::OutlierEvaluation, SystemTime)>;

/// The newest arithmetic by server: of weights, and of ejections.
#[derive(Debug, Default)]
pub struct BalancingDecisions(Mutex<HashMap<ServerId, WeightDecision>>, Mutex<OutlierEvaluations>);

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
        sums: Vec<(ServerId, outlier_detection::OutlierEvaluation)>,
        at: SystemTime,
    ) {
        let sums = sums.into_iter().map(|(server, sum)| (server, (sum, at))).collect();
        *self.1.lock().unwrap_or_else(PoisonError::into_inner) = sums;
    }

    /// The calculation behind a server's ejection, and the time of the last check; `None`: outlier detection is off.
    pub fn ejection_decision(
        &self,
        server: ServerId,
    ) -> Option<(outlier_detection::OutlierEvaluation, SystemTime)> {
        self.1.lock().unwrap_or_else(PoisonError::into_inner).get(&server).cloned()
    }

    fn sums(&self) -> MutexGuard<'_, HashMap<ServerId, WeightDecision>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
