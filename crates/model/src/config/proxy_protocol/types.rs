//! The checked configuration of the PROXY protocol: accepted headers (`AcceptProxyConfig`) and sent headers
//! (`SendProxyVersion`).
//!
//! It parses no header.

use crate::config::ip_prefix::IpPrefix;
use serde::Serialize;
use std::net::IpAddr;
use std::time::Duration;

/// PROXY protocol headers of client connections.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct AcceptProxyConfig {
    /// Networks of trusted proxies, whose connections must start with a header.
    pub from: Vec<IpPrefix>,
    /// Action for connections from other addresses.
    pub others: UntrustedPeerPolicy,
    /// Time limit for the header; default 3 s.
    pub time: Duration,
}

/// Action for connections from untrusted addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum UntrustedPeerPolicy {
    /// Reset the connection (default).
    Refuse,
    /// Accept them as direct clients without a header.
    Plain,
}

/// The version of the header sent to servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SendProxyVersion {
    /// Version 1, a line of text.
    V1,
    /// Version 2, binary.
    V2,
}

impl AcceptProxyConfig {
    /// Whether a header from this address is required and trusted.
    pub fn trusts(&self, address: IpAddr) -> bool {
        self.from.iter().any(|network| network.contains(address.to_canonical()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_are_of_their_family_and_mapped_addresses_of_version_4() {
        let network = |text: &str, bits| IpPrefix::new(text.parse().ok()?, bits);
        let from = [network("10.0.0.0", 8), network("2001:db8::", 32)];
        let accept = AcceptProxyConfig {
            from: from.into_iter().flatten().collect(),
            others: UntrustedPeerPolicy::Refuse,
            time: Duration::from_secs(3),
        };
        for (text, trusted) in [
            ("10.9.8.7", true),
            ("11.0.0.1", false),
            ("::ffff:10.9.8.7", true),
            ("2001:db8:1::1", true),
            ("2001:db9::1", false),
        ] {
            assert_eq!(text.parse().map(|ip| accept.trusts(ip)), Ok(trusted), "{text}");
        }
    }
}
