//! Builds the capture rules of the checked configuration.

use super::types::CaptureConfig;
use crate::config::section::ConfigSection;
use crate::limit::Limit;

pub fn build_capture(section: &ConfigSection) -> CaptureConfig {
    let limit = |code: &&str| Limit::ALL.iter().find(|limit| limit.code() == *code).copied();
    CaptureConfig {
        name: section.name.clone(),
        service: section.text("service").map(str::to_owned),
        latency: section.time("latency"),
        cause: section.keywords("reason").iter().filter_map(limit).collect(),
        from: section.prefixes("from").to_vec(),
        errors: section.count("errors"),
        payload: section.count_or_zero("payload"),
        size: section.count_or_zero("size"),
        time: section.time_or_zero("duration"),
        pause: section.time_or_zero("pause"),
        keep: section.count_or_zero("keep"),
    }
}
