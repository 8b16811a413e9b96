//! How much of every limit is in use and how long it lasts: sampled every two seconds, shown by report and metrics.
//!
//! It keeps recent samples and limits nothing; `alarms` warns.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use model::capacity::headroom::UsageTrend;
use model::monotonic_time::MonotonicTime;

/// How much of something is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceUsage {
    /// The resource that is limited.
    pub resource: &'static str,
    pub subject: String,
    pub used: u64,
    /// The most; 0: there is no limit.
    pub limit: u64,
}

/// A limit, by its resource and by whose it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ResourceKey {
    pub resource: &'static str,
    pub subject: String,
}

/// A use and when it ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeadroomRow {
    pub usage: ResourceUsage,
    /// When the limit is reached at this rate of growth; `None`: it does not grow, or no forecast is possible.
    pub exhausted_in: Option<Duration>,
    /// Since when its alarm is raised; `None`: it is not.
    pub alarm_since_unix_ms: Option<u64>,
}

impl ResourceUsage {
    /// The limit that is used.
    pub fn key(&self) -> ResourceKey {
        ResourceKey { resource: self.resource, subject: self.subject.clone() }
    }
}

#[derive(Debug, Default)]
pub struct Headroom {
    rows: Mutex<Arc<Vec<HeadroomRow>>>,
}

impl Headroom {
    /// The rows, fullest first.
    pub fn rows(&self) -> Arc<Vec<HeadroomRow>> {
        Arc::clone(&self.rows.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub fn show(&self, rows: Vec<HeadroomRow>) {
        *self.rows.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(rows);
    }
}

/// Recent usage of each limit.
#[derive(Debug, Default)]
pub struct UsageTrends(HashMap<ResourceKey, UsageTrend>);

impl UsageTrends {
    /// Adds current usage; drops limits that no longer exist.
    pub fn update(&mut self, uses: Vec<ResourceUsage>, now: MonotonicTime) -> Vec<HeadroomRow> {
        let mut before = std::mem::take(&mut self.0);
        let limited = uses.into_iter().filter(|one| one.limit > 0).take(REMEMBERED);
        let mut rows: Vec<HeadroomRow> = limited
            .map(|one| {
                let key = one.key();
                let mut trend = before.remove(&key).unwrap_or_default();
                trend.add(now, one.used);
                let exhausted_in = trend.time_to_exhaustion(one.limit);
                self.0.insert(key, trend);
                HeadroomRow { usage: one, exhausted_in, alarm_since_unix_ms: None }
            })
            .collect();
        let share = |row: &HeadroomRow| row.usage.used as f64 / row.usage.limit as f64;
        rows.sort_by(|a, b| share(b).total_cmp(&share(a)));
        rows
    }
}

/// Limits that are looked at, and remembered.
const REMEMBERED: usize = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn one(of: &str, used: u64, limit: u64) -> ResourceUsage {
        ResourceUsage { resource: "connections", subject: of.to_owned(), used, limit }
    }

    #[test]
    fn rows_come_fullest_first_and_what_grows_has_an_end() {
        let mut trends = UsageTrends::default();
        let mut rows = Vec::new();
        for step in 0..6 {
            let uses =
                vec![one("steady", 10, 100), one("grows", 50 + step * 5, 100), one("none", 5, 0)];
            rows = trends.update(uses, MonotonicTime(step * 2_000_000_000));
        }
        let names: Vec<&str> = rows.iter().map(|row| row.usage.subject.as_str()).collect();
        assert_eq!(names, ["grows", "steady"]);
        assert_eq!(rows[0].exhausted_in, Some(Duration::from_secs(10)));
        assert_eq!(rows[1].exhausted_in, None);
        trends.update(Vec::new(), MonotonicTime(20_000_000_000));
        assert!(trends.0.is_empty(), "what is gone is forgotten");
    }
}
