//! The configuration of the PROXY protocol: whose headers are taken (`AcceptProxy`) and which are sent
//! (`SendProxy`).
//!
//! It reads no header.

use crate::config::ip_prefix::IpPrefix;
use serde::Serialize;
use std::net::IpAddr;
use std::time::Duration;

/// Clients' connections that begin with a header.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct AcceptProxyConfig {
    /// Whose; a header is required of them.
    pub from: Vec<IpPrefix>,
    /// What becomes of everybody else.
    pub others: UntrustedPeerPolicy,
    /// Until the header is whole; default 3 s.
    pub time: Duration,
}

/// What becomes of connections from elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum UntrustedPeerPolicy {
    /// They are reset (default).
    Refuse,
    /// They are clients themselves and bring no header.
    Plain,
}

/// The header that a pool's servers get.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SendProxyVersion {
    /// A line of text.
    V1,
    /// Binary.
    V2,
}

impl AcceptProxyConfig {
    /// Whether a header from this address is required, and believed.
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
