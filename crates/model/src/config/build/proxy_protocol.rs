//! From settings in force to what the PROXY protocol means. Everything was judged before.

use super::super::proxy_protocol::{AcceptProxyConfig, SendProxyVersion, UntrustedPeerPolicy};
use super::super::section::ConfigSection;

pub fn build_accept_proxy(section: &ConfigSection) -> AcceptProxyConfig {
    AcceptProxyConfig {
        from: section.prefixes("from").to_vec(),
        others: match section.text("others") {
            Some("plain") => UntrustedPeerPolicy::Plain,
            _ => UntrustedPeerPolicy::Refuse,
        },
        time: section.time_or_zero("time"),
    }
}

pub fn build_send_proxy(section: &ConfigSection) -> Option<SendProxyVersion> {
    match section.text("send-proxy") {
        Some("v1") => Some(SendProxyVersion::V1),
        Some("v2") => Some(SendProxyVersion::V2),
        _ => None,
    }
}
