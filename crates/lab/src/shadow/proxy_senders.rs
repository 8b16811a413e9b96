//! Which clients of a listener begin their connections with a header of the PROXY protocol.
//!
//! Pure. Where others are taken as clients without one, only those in the trusted networks have one.

use std::net::IpAddr;

use model::config::IpPrefix;

/// The clients that send a header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProxySenders {
    networks: Vec<IpPrefix>,
    everybody: bool,
}

impl ProxySenders {
    /// Everybody sends one, or the clients in these networks alone.
    pub fn new(everybody: bool, networks: &[String]) -> ProxySenders {
        let networks = networks.iter().filter_map(|network| parse_network(network)).collect();
        ProxySenders { networks, everybody }
    }

    pub fn has(&self, client: IpAddr) -> bool {
        self.everybody || self.networks.iter().any(|network| network.contains(client))
    }
}

fn parse_network(text: &str) -> Option<IpPrefix> {
    let (address, bits) = text.split_once('/').unwrap_or((text, ""));
    let address: IpAddr = address.parse().ok()?;
    let whole = if address.is_ipv4() { 32 } else { 128 };
    IpPrefix::new(address, bits.parse().unwrap_or(whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_sends_a_header_or_those_in_networks_alone() {
        for (everybody, network, client, expected) in [
            (false, "192.0.2.0/24", "192.0.2.7", true),
            (false, "192.0.2.0/24", "127.0.0.1", false),
            (false, "::1", "::1", true),
            (false, "no network", "::1", false),
            (true, "192.0.2.0/24", "127.0.0.1", true),
        ] {
            let senders = ProxySenders::new(everybody, &[network.to_owned()]);
            assert_eq!(senders.has(client.parse().unwrap()), expected, "{network} {client}");
        }
    }
}
