//! Builds `buffer` of the checked configuration from verified settings.

use super::types::{BufferConfig, BufferOverflow};
use crate::config::section::ConfigSection;

pub fn build_buffer(section: &ConfigSection) -> BufferConfig {
    BufferConfig {
        request: section.count("request"),
        beyond: match section.text("beyond") {
            Some("refuse") => BufferOverflow::Refuse,
            _ => BufferOverflow::Stream,
        },
        response: section.count("response"),
        memory: section.count_or_zero("memory"),
    }
}
