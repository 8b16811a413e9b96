//! Builds service discovery of the checked configuration.

use std::path::PathBuf;

use super::types::{DiscoveryConfig, DiscoverySource, DnsRecordType};
use crate::config::section::ConfigSection;

pub fn build_discovery(section: &ConfigSection) -> DiscoveryConfig {
    let place = match section.text("file") {
        Some(file) => DiscoverySource::File(PathBuf::from(file)),
        None => DiscoverySource::Dns {
            name: section.text("dns").unwrap_or_default().to_ascii_lowercase(),
            records: match section.text("type") {
                Some("aaaa") => DnsRecordType::Aaaa,
                Some("srv") => DnsRecordType::Srv,
                _ => DnsRecordType::A,
            },
            port: section.count_or_zero("port"),
            resolver: section.sockets("resolver").first().copied(),
        },
    };
    DiscoveryConfig { place, min: section.count_or_zero("min"), max: section.count_or_zero("max") }
}
