//! Builds load shedding of the checked configuration.

use super::types::LoadSheddingConfig;
use crate::config::section::ConfigSection;

pub fn build_load_shedding(section: &ConfigSection) -> LoadSheddingConfig {
    LoadSheddingConfig {
        target: section.time_or_zero("target"),
        interval: section.time_or_zero("interval"),
    }
}
