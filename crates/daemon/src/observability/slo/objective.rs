//! The objectives that an SLO may have, and the operations that count as bad for it. Pure.

use model::config::ServiceObjective;
use model::slo::burn_rate::{BurnMeasurement, SloTarget};
use model::slo::series::SloCounts;

/// The kinds of objectives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SloKind {
    Available,
    Fast,
}

impl SloKind {
    pub(super) const ALL: [SloKind; 2] = [SloKind::Available, SloKind::Fast];

    /// As in the configuration.
    pub(super) const fn name(self) -> &'static str {
        match self {
            SloKind::Available => "availability",
            SloKind::Fast => "latency",
        }
    }

    /// How much is promised; `None`: nothing.
    pub(super) fn goal(self, objective: &ServiceObjective) -> Option<SloTarget> {
        match self {
            SloKind::Available => objective.available.map(SloTarget),
            SloKind::Fast => objective.fast.map(|_| SloTarget(objective.share)),
        }
    }

    /// The bad share of these counts.
    pub(super) fn measure_bad(self, sums: &SloCounts) -> BurnMeasurement {
        let bad = match self {
            SloKind::Available => sums.failed,
            SloKind::Fast => sums.failed.saturating_add(sums.slow),
        };
        BurnMeasurement { operations: sums.operations(), bad }
    }
}
