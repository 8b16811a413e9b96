//! Builds outlier detection of the checked configuration.

use super::types::OutlierDetectionConfig;
use crate::config::section::ConfigSection;
use crate::config::status_ranges::build_statuses;

pub fn build_outlier_detection(section: &ConfigSection) -> OutlierDetectionConfig {
    OutlierDetectionConfig {
        failures: section.count_or_zero("failures"),
        rate: section.count_or_zero("rate"),
        cut_rate: section.count_or_zero("truncation-rate"),
        volume: section.count_or_zero("min-requests"),
        interval: section.time_or_zero("interval"),
        time: section.time_or_zero("base-time"),
        most: section.time_or_zero("max-time"),
        share: section.count_or_zero("max-percent"),
        on: build_statuses(section, "on"),
    }
}
