//! SLO outcomes from before the start, as the history has them.

use std::collections::HashMap;

use model::slo::series::SloCounts;

/// SLO outcomes before the start, by service.
pub type UserHistory = HashMap<String, Vec<PastOutcomes>>;

/// SLO outcomes around one moment before the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PastOutcomes {
    /// The moment, seconds since 1970.
    pub at: u64,
    pub counts: SloCounts,
}
