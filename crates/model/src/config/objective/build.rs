//! Builds `objective` of the checked configuration from verified settings.

use super::types::ServiceObjective;
use crate::config::section::ConfigSection;

pub fn build_objective(section: &ConfigSection) -> ServiceObjective {
    ServiceObjective {
        fast: section.time("fast"),
        share: section.count_or_zero("share"),
        available: section.count("available"),
        window: section.time_or_zero("window"),
        at_least: section.count_or_zero("at-least"),
        networks: section.count_or_zero("networks"),
        mask4: section.count_or_zero("mask4"),
        mask6: section.count_or_zero("mask6"),
    }
}
