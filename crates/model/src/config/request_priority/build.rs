//! Builds priorities of the checked configuration.

use super::types::RequestPriority;
use crate::config::section::ConfigSection;

pub fn build_request_priority(section: &ConfigSection) -> RequestPriority {
    let header = section.text("header").map(str::to_ascii_lowercase);
    RequestPriority { class: section.count_or_zero("class"), header }
}
