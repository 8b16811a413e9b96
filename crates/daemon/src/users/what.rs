//! What may be promised to users, and which operations are bad for it. Pure.

use model::config::Objective;
use model::users::burn::{Goal, Measure};
use model::users::series::Sums;

/// What may be promised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// Operations succeed.
    Available,
    /// Operations are fast.
    Fast,
}

impl What {
    /// All.
    pub(super) const ALL: [What; 2] = [What::Available, What::Fast];

    /// As in the configuration.
    pub(super) const fn name(self) -> &'static str {
        match self {
            What::Available => "available",
            What::Fast => "fast",
        }
    }

    /// How much is promised; `None`: nothing.
    pub(super) fn goal(self, objective: &Objective) -> Option<Goal> {
        match self {
            What::Available => objective.available.map(Goal),
            What::Fast => objective.fast.map(|_| Goal(objective.share)),
        }
    }

    /// What of these is bad.
    pub(super) fn measure(self, sums: &Sums) -> Measure {
        let bad = match self {
            What::Available => sums.failed,
            What::Fast => sums.failed.saturating_add(sums.slow),
        };
        Measure { operations: sums.operations(), bad }
    }
}
