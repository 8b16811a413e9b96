//! Builds the history settings of the checked configuration.

use super::types::HistoryRetention;
use crate::config::section::ConfigSection;

pub fn build_history_retention(section: &ConfigSection) -> HistoryRetention {
    HistoryRetention {
        size: section.count_or_zero("size"),
        keep: section.time_or_zero("keep"),
        step: section.time_or_zero("step"),
    }
}
