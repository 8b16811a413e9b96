//! Ranges of HTTP statuses.

use serde::Serialize;

use crate::config::section::ConfigSection;
use crate::config::status_range::StatusRange;
use crate::config::value::ConfigValue;

/// HTTP statuses: inclusive ranges.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub struct StatusRanges(pub Vec<StatusRange>);

impl StatusRanges {
    #[inline]
    pub fn contains(&self, status: u16) -> bool {
        self.0.iter().any(|range| range.contains(status))
    }
}

/// The statuses that a key names.
pub fn build_statuses(section: &ConfigSection, key: &str) -> StatusRanges {
    match section.value(key) {
        Some(ConfigValue::Status(ranges)) => StatusRanges(ranges.to_vec()),
        _ => StatusRanges::default(),
    }
}
