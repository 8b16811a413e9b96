//! The layout of a site: its hosts, subnets and addresses. Pure; `site` builds it.
//!
//! ```text
//!  client ─── router ═══ lan ─── balancer        near servers are on the balancer's subnet,
//!  203.0.113.2   │         ├───── near servers    far ones each behind the router
//!               └── far servers
//! ```
//! With two arms the balancer has one more link, `front`, to which the router sends packets for the services. All
//! addresses are of documentation and private ranges; every host has an IPv4 and an IPv6 address.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::congestion_control::Congestion;
use super::veth::ChecksumMode;

/// The services' IPv4 address; the router sends its whole subnet to the balancer.
pub const SERVICE_V4: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 10);
/// The services' IPv6 address.
pub const SERVICE_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0xe, 0, 0, 0, 0, 0x10);

/// The balancer's return addresses of each version for `nat`.
pub const RETURNS: u8 = 4;

/// How the balancer is connected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BalancerArms {
    /// One link, `eth0`: packets leave by the link that received them.
    #[default]
    One,
    /// Link `front` to the router and `eth0` to the servers.
    Two,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteLayout {
    /// Servers on the balancer's subnet.
    pub local_servers: u8,
    /// Servers behind the router, each on its own subnet.
    pub remote_servers: u8,
    /// Largest packet on every link, bytes; 1280–9000.
    pub mtu: u32,
    pub arms: BalancerArms,
    pub checksums: ChecksumMode,
    /// The congestion control of hosts on paths through the router.
    pub congestion: Congestion,
}

impl Default for SiteLayout {
    fn default() -> Self {
        SiteLayout {
            local_servers: 2,
            remote_servers: 0,
            mtu: 1500,
            arms: BalancerArms::One,
            checksums: ChecksumMode::Computed,
            congestion: Congestion::Cubic,
        }
    }
}

/// A host's addresses and its router's, on a /24 and a /64 subnet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostAddresses {
    pub v4: Ipv4Addr,
    pub v6: Ipv6Addr,
    /// The router's IPv4 address.
    pub gateway_v4: Ipv4Addr,
    /// The router's IPv6 address.
    pub gateway_v6: Ipv6Addr,
}

impl HostAddresses {
    const fn new(v4: [u8; 3], v6: [u16; 4], last: u8) -> HostAddresses {
        let [a, b, c] = v4;
        let [d, e, f, g] = v6;
        HostAddresses {
            v4: Ipv4Addr::new(a, b, c, last),
            v6: Ipv6Addr::new(d, e, f, g, 0, 0, 0, last as u16),
            gateway_v4: Ipv4Addr::new(a, b, c, 1),
            gateway_v6: Ipv6Addr::new(d, e, f, g, 0, 0, 0, 1),
        }
    }

    /// Lines of `ip` that add these addresses and routes to a host's link.
    pub(super) fn host_commands(&self, link: &str, congestion: Congestion) -> String {
        let HostAddresses { v4, v6, gateway_v4, gateway_v6 } = self;
        let tcp = congestion.name();
        format!(
            "addr add {v4}/24 dev {link}\naddr add {v6}/64 dev {link} nodad\n\
             route add default via {gateway_v4} congctl {tcp}\nroute add ::/0 via {gateway_v6} congctl {tcp}\n"
        )
    }

    /// Lines of `ip` for the router's end of the subnet.
    pub(super) fn router_commands(&self, link: &str) -> String {
        let HostAddresses { gateway_v4, gateway_v6, .. } = self;
        format!("addr add {gateway_v4}/24 dev {link}\naddr add {gateway_v6}/64 dev {link} nodad\n")
    }

    /// The IPv6 address if `other` is one, otherwise the IPv4 address.
    pub fn address_like(&self, other: IpAddr) -> IpAddr {
        if other.is_ipv6() { self.v6.into() } else { self.v4.into() }
    }
}

/// Addresses for documentation (RFC 5737, RFC 3849): no real network has them.
pub(super) const CLIENT: HostAddresses =
    HostAddresses::new([203, 0, 113], [0x2001, 0xdb8, 0xc, 0], 2);
/// The balancer's addresses on the servers' subnet.
pub(super) const BALANCER: HostAddresses = lan_host(2);
/// The balancer's second arm.
pub(super) const FRONT: HostAddresses = HostAddresses::new([10, 30, 0], [0x2001, 0xdb8, 0xb, 0], 2);

const fn lan_host(last: u8) -> HostAddresses {
    HostAddresses::new([10, 10, 0], [0x2001, 0xdb8, 0xa, 0], last)
}

/// A server on the balancer's subnet.
pub(super) fn local_server(number: u8) -> HostAddresses {
    lan_host(11 + number)
}

/// A server on its own subnet behind the router.
pub(super) fn remote_server(number: u8) -> HostAddresses {
    HostAddresses::new([10, 20, number], [0x2001, 0xdb8, 0xf, u16::from(number)], 11)
}

/// A return address of the balancer, of both versions.
pub(super) fn return_address(number: u8) -> HostAddresses {
    lan_host(3 + number)
}

/// Lines of `ip` that send the services' subnets to the balancer.
pub(super) fn service_routes(balancer: &HostAddresses) -> String {
    let [a, b, c, _] = SERVICE_V4.octets();
    let [d, e, f, g, ..] = SERVICE_V6.segments();
    let subnet = Ipv6Addr::new(d, e, f, g, 0, 0, 0, 0);
    format!(
        "route add {a}.{b}.{c}.0/24 via {}\nroute add {subnet}/64 via {}\n",
        balancer.v4, balancer.v6
    )
}

/// Lines of `ip` for a host that accepts packets for the services' address.
pub(super) fn service_address_commands() -> String {
    format!("addr add {SERVICE_V4}/32 dev lo\naddr add {SERVICE_V6}/128 dev lo nodad\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_host_has_addresses_of_its_own_and_its_router_on_its_subnet() {
        let returns = (0..RETURNS).map(return_address);
        let hosts: Vec<HostAddresses> = [CLIENT, BALANCER, FRONT]
            .into_iter()
            .chain((0..8).map(local_server))
            .chain((0..8).map(remote_server))
            .chain(returns)
            .collect();
        let v4: BTreeSet<Ipv4Addr> = hosts.iter().map(|host| host.v4).collect();
        let v6: BTreeSet<Ipv6Addr> = hosts.iter().map(|host| host.v6).collect();
        assert_eq!((v4.len(), v6.len()), (hosts.len(), hosts.len()));
        for host in &hosts {
            assert_eq!(host.v4.octets()[..3], host.gateway_v4.octets()[..3]);
            assert_eq!(host.v6.segments()[..4], host.gateway_v6.segments()[..4]);
            assert!(!v4.contains(&host.gateway_v4) && !v6.contains(&host.gateway_v6));
        }
        assert_eq!(CLIENT.address_like(SERVICE_V6.into()), IpAddr::from(CLIENT.v6));
    }

    #[test]
    fn the_router_sends_the_services_to_the_balancer() {
        let lines = "route add 198.51.100.0/24 via 10.10.0.2\nroute add 2001:db8:e::/64 via 2001:db8:a::2\n";
        assert_eq!(service_routes(&BALANCER), lines);
    }
}
