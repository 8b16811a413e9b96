//! Builds `objective` of the checked configuration from verified settings.

use super::types::ServiceObjective;
use crate::config::section::ConfigSection;

pub fn build_objective(section: &ConfigSection) -> ServiceObjective {
    ServiceObjective {
        fast: section.time("latency"),
        share: section.count_or_zero("latency-target"),
        available: section.count("availability"),
        window: section.time_or_zero("window"),
        at_least: section.count_or_zero("min-bad"),
        networks: section.count_or_zero("networks"),
        mask4: section.count_or_zero("mask4"),
        mask6: section.count_or_zero("mask6"),
    }
}
