//! Records which identified requests arrived, and which of them more than once.
//!
//! Only requests with an identifier are recorded, and only once they have arrived completely.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// A record that several origins can share.
#[derive(Debug, Default)]
pub struct RequestIdLog(Mutex<RequestIdCounts>);

/// What arrived with one identifier.
#[derive(Clone, Copy, Debug)]
struct ArrivalRecord {
    count: u32,
    /// Whether one of its requests was a POST.
    is_post: bool,
}

#[derive(Debug, Default)]
struct RequestIdCounts {
    ids: HashMap<u64, ArrivalRecord>,
    beyond: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrivals {
    pub distinct: u64,
    /// Identifiers of POST requests that arrived more than once.
    pub duplicated_posts: u64,
    /// Identifiers of other requests that arrived more than once.
    pub duplicated_others: u64,
    /// Requests that were not recorded because the record was full.
    pub beyond_limit: u64,
}

impl RequestIdLog {
    /// Records a complete request with this identifier.
    pub fn record_request(&self, id: u64, is_post: bool) {
        let mut records = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(record) = records.ids.get_mut(&id) {
            record.count = record.count.saturating_add(1);
            record.is_post |= is_post;
        } else if records.ids.len() < LIMIT {
            records.ids.insert(id, ArrivalRecord { count: 1, is_post });
        } else {
            records.beyond += 1;
        }
    }

    /// Whether a request with this identifier arrived.
    pub fn contains(&self, id: u64) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).ids.contains_key(&id)
    }

    pub fn arrivals(&self) -> Arrivals {
        let records = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let duplicates = |post: bool| {
            records.ids.values().filter(|record| record.count > 1 && record.is_post == post).count()
        };
        Arrivals {
            distinct: records.ids.len() as u64,
            duplicated_posts: duplicates(true) as u64,
            duplicated_others: duplicates(false) as u64,
            beyond_limit: records.beyond,
        }
    }
}

/// Bounds the memory of the record: requests with further identifiers are only counted.
const LIMIT: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicates_by_method() {
        let seen = RequestIdLog::default();
        for (id, post) in [(1, false), (2, true), (3, true), (1, false), (3, true), (3, true)] {
            seen.record_request(id, post);
        }
        let expected =
            Arrivals { distinct: 3, duplicated_posts: 1, duplicated_others: 1, beyond_limit: 0 };
        assert_eq!(seen.arrivals(), expected);
        assert!(seen.contains(2) && !seen.contains(4));
    }
}
