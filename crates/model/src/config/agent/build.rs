//! Builds an agent of the checked configuration.

use super::types::{AgentConfig, AgentKind};
use crate::config::probe::owned_text;
use crate::config::section::ConfigSection;

pub fn build_agent(section: &ConfigSection) -> AgentConfig {
    AgentConfig {
        kind: match section.text("kind") {
            Some("orca") => AgentKind::Orca { path: owned_text(section, "path") },
            Some("responses") => AgentKind::Answers,
            _ => AgentKind::Text { send: owned_text(section, "send") },
        },
        port: section.count("port"),
        // Never applied to a valid file: the schema fills in `interval`.
        every: section.time("interval").unwrap_or(std::time::Duration::from_secs(1)),
        timeout: section.time_or_zero("timeout"),
        age: section.time_or_zero("max-age"),
    }
}
