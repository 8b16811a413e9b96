//! Builds the settings of Multipath TCP.

use super::types::{EndpointPurpose, MptcpConfig, MptcpEndpointConfig};
use crate::config::section::ConfigSection;

pub fn build_mptcp(section: &ConfigSection) -> MptcpConfig {
    let all = build_purpose(section).unwrap_or(EndpointPurpose::Both);
    let endpoint = |one: &ConfigSection| {
        Some(MptcpEndpointConfig {
            address: *one.addresses("address").first()?,
            interface: one.text("interface").map(str::to_owned),
            purpose: build_purpose(one).unwrap_or(all),
            backup: one.flag("backup"),
        })
    };
    MptcpConfig {
        bundle: section.text("bundle").map(str::to_owned),
        endpoints: section.list("endpoints").iter().filter_map(endpoint).collect(),
        purpose: all,
        subflows: section.count_or_zero("subflows"),
    }
}

fn build_purpose(section: &ConfigSection) -> Option<EndpointPurpose> {
    match section.text("use")? {
        "subflow" => Some(EndpointPurpose::Subflow),
        "signal" => Some(EndpointPurpose::Signal),
        _ => Some(EndpointPurpose::Both),
    }
}
