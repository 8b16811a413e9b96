//! Ranges of HTTP statuses.

use serde::Serialize;

use crate::config::section::ConfigSection;
use crate::config::value::ConfigValue;

/// HTTP statuses: inclusive ranges.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StatusRanges(pub Vec<(u16, u16)>);

impl StatusRanges {
    #[inline]
    pub fn contains(&self, status: u16) -> bool {
        self.0.iter().any(|(first, last)| (*first..=*last).contains(&status))
    }
}

pub fn build_statuses(section: &ConfigSection) -> StatusRanges {
    match section.value("on") {
        Some(ConfigValue::Status(ranges)) => StatusRanges(ranges.to_vec()),
        _ => StatusRanges::default(),
    }
}
