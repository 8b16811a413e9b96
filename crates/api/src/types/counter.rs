//! A count and its rate. Nothing but data.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

/// A number and how fast it grew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Counter {
    /// Count since the start.
    pub total: u64,
    /// Per second, over the interval.
    pub rate: f64,
}

impl AddAssign for Counter {
    fn add_assign(&mut self, other: Counter) {
        self.total += other.total;
        self.rate += other.rate;
    }
}
