//! From settings in force to what `objective` means. Everything was judged before.

use super::super::objective::ServiceObjective;
use super::super::section::ConfigSection;

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
