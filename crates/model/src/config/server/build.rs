//! Builds a server of the checked configuration.

use super::types::{ServerConfig, ServerWeight};
use crate::config::address::{ServerAddress, ServerHost};
use crate::config::admin_state::AdminState;
use crate::config::section::ConfigSection;
use crate::config::{balance, probe, schedule};

pub fn build_server(section: &ConfigSection) -> ServerConfig {
    let nowhere = || ServerAddress { host: ServerHost::Name(String::new()), port: 0 };
    ServerConfig {
        name: section.text("name").unwrap_or_default().to_owned(),
        cookie_value: section.text("cookie-value").map(str::to_owned),
        address: section.server_address("address").cloned().unwrap_or_else(nowhere),
        weight: section.count("weight").and_then(ServerWeight::new).unwrap_or(ServerWeight::ONE),
        priority: balance::build_priority(section),
        locality: balance::build_locality(section),
        admin: match section.text("state") {
            Some("drain") => AdminState::Drain,
            Some("disabled") => AdminState::Disabled,
            _ => AdminState::Enabled,
        },
        schedule: section
            .list("schedule")
            .iter()
            .filter_map(schedule::build_schedule_rule)
            .collect(),
        probe: section.table("probe").map(probe::build_probe),
        connections: section.count("connections"),
    }
}
