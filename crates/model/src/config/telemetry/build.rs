//! Builds the telemetry of the checked configuration.

use super::types::TelemetryConfig;
use crate::config::event_level;
use crate::config::section::ConfigSection;

/// `None`: no collector is configured.
pub fn build_telemetry(section: &ConfigSection) -> Option<TelemetryConfig> {
    Some(TelemetryConfig {
        collector: *section.sockets("collector").first()?,
        traces: section.flag("traces"),
        logs: section.flag("logs"),
        level: event_level::build_level(section, "level"),
        name: section.text("name").unwrap_or_default().to_owned(),
    })
}
