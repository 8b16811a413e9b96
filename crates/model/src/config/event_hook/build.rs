//! Builds hooks of the checked configuration.

use std::path::PathBuf;

use super::types::EventHook;
use crate::config::section::ConfigSection;

pub fn build_hook(section: &ConfigSection) -> EventHook {
    EventHook {
        name: section.text("name").unwrap_or_default().to_owned(),
        run: PathBuf::from(section.text("run").unwrap_or_default()),
        on: section.keywords("on").to_vec(),
        timeout: section.time_or_zero("timeout"),
        at_once: section.count_or_zero("max-concurrent"),
        queue: section.count_or_zero("queue"),
    }
}
