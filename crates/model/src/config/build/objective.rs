//! From settings in force to what `objective` means. Everything was judged before.

use super::super::objective::Objective;
use super::super::section::Section;

/// A service's.
pub fn objective(section: &Section) -> Objective {
    Objective {
        fast: section.time("fast"),
        share: section.number("share"),
        available: section.count("available"),
        window: section.span("window"),
        at_least: section.number("at-least"),
        networks: section.number("networks"),
        mask4: section.number("mask4"),
        mask6: section.number("mask6"),
    }
}
