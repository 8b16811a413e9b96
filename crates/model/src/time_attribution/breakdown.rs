//! Time by owner and limit. Sums only; `attribution.rs` assigns the time.

use crate::limit::{Limit, TimeOwner};

/// One owner's time under one limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeShare {
    /// `None`: the owner is unknown.
    pub owner: Option<TimeOwner>,
    pub limit: Limit,
    pub nanos: u64,
}

/// Time by owner and limit, in descending order after `sort`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimeBreakdown(Vec<TimeShare>);

impl TimeBreakdown {
    pub fn add(&mut self, owner: Option<TimeOwner>, limit: Limit, nanos: u64) {
        if nanos == 0 {
            return;
        }
        match self.0.iter_mut().find(|bar| bar.owner == owner && bar.limit == limit) {
            Some(bar) => bar.nanos = bar.nanos.saturating_add(nanos),
            None => self.0.push(TimeShare { owner, limit, nanos }),
        }
    }

    /// Adds another breakdown, multiplied.
    pub fn add_scaled(&mut self, other: &TimeBreakdown, times: f64) {
        for bar in &other.0 {
            self.add(bar.owner, bar.limit, (bar.nanos as f64 * times).round() as u64);
        }
    }

    /// Sorts in descending order; equal times in the order of the lists.
    pub fn sort(&mut self) {
        self.0.sort_by_key(|bar| (std::cmp::Reverse(bar.nanos), bar.owner, bar.limit));
    }

    pub fn all(&self) -> &[TimeShare] {
        &self.0
    }

    /// An owner's time, nanoseconds.
    pub fn owner_total(&self, owner: Option<TimeOwner>) -> u64 {
        self.0.iter().filter(|bar| bar.owner == owner).map(|bar| bar.nanos).sum()
    }

    pub fn total(&self) -> u64 {
        self.0.iter().map(|bar| bar.nanos).sum()
    }

    /// The owner with the most time, and its greatest limit; `None` without any time.
    pub fn largest(&self) -> Option<TimeShare> {
        let owners = TimeOwner::ALL.map(Some).into_iter().chain([None]);
        // Of two owners with the same time the earlier one is named, and a known owner before an unknown one.
        let owner = owners.rev().max_by_key(|owner| self.owner_total(*owner))?;
        let bars = self.0.iter().filter(|bar| bar.owner == owner);
        bars.max_by_key(|bar| (bar.nanos, std::cmp::Reverse(bar.limit))).copied()
    }
}
