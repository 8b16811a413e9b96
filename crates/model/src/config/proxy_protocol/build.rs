//! Builds the PROXY protocol of the checked configuration from verified settings.

use super::types::{AcceptProxyConfig, SendProxyVersion, UntrustedPeerPolicy};
use crate::config::section::ConfigSection;

pub fn build_accept_proxy(section: &ConfigSection) -> AcceptProxyConfig {
    AcceptProxyConfig {
        from: section.prefixes("from").to_vec(),
        others: match section.text("others") {
            Some("plain") => UntrustedPeerPolicy::Plain,
            _ => UntrustedPeerPolicy::Refuse,
        },
        time: section.time_or_zero("timeout"),
    }
}

pub fn build_send_proxy(section: &ConfigSection) -> Option<SendProxyVersion> {
    match section.text("send-proxy") {
        Some("v1") => Some(SendProxyVersion::V1),
        Some("v2") => Some(SendProxyVersion::V2),
        _ => None,
    }
}
