//! Builds `compress` of the checked configuration from verified settings.

use super::types::{CompressionConfig, ContentCoding, DEFAULT_TYPES};
use crate::config::section::ConfigSection;

pub fn build_compression(section: &ConfigSection) -> CompressionConfig {
    let coding = |word: &&str| ContentCoding::ALL.into_iter().find(|coding| coding.name() == *word);
    let written = section.texts("types");
    CompressionConfig {
        codings: section.keywords("codings").iter().filter_map(coding).collect(),
        types: match written.is_empty() {
            true => DEFAULT_TYPES.map(str::to_owned).to_vec(),
            false => written.iter().map(|name| name.to_ascii_lowercase()).collect(),
        },
        min: section.count_or_zero("min"),
        at_once: section.count_or_zero("max-concurrent"),
        busy: section.count_or_zero("max-cpu"),
    }
}
