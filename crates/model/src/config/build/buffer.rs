//! From settings in force to what `buffer` means. Everything was judged before.

use super::super::buffer::{BufferConfig, BufferOverflow};
use super::super::section::ConfigSection;

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
