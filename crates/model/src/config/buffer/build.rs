//! Builds `buffer` of the checked configuration from verified settings.

use super::types::{BufferConfig, BufferOverflow};
use crate::config::section::ConfigSection;

pub fn build_buffer(section: &ConfigSection) -> BufferConfig {
    BufferConfig {
        request: section.count("request"),
        beyond: build_beyond(section),
        response: section.count("response"),
        memory: section.count_or_zero("memory"),
    }
}

pub fn build_beyond(section: &ConfigSection) -> BufferOverflow {
    match section.text("when-larger") {
        Some("refuse") => BufferOverflow::Refuse,
        _ => BufferOverflow::Stream,
    }
}
