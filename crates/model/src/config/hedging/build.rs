//! Builds hedging of the checked configuration.

use super::types::{HedgeDelay, HedgingConfig};
use crate::config::section::ConfigSection;

pub fn build_hedging(section: &ConfigSection) -> HedgingConfig {
    let percentile = section.count("percentile").unwrap_or(95);
    let after = section.time("after").map_or(HedgeDelay::Percentile(percentile), HedgeDelay::Time);
    HedgingConfig { after, at_least: section.time_or_zero("min-delay") }
}
