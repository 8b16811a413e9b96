//! A snapshot of a server's links, addresses, routes and settings, and the requirements that it is checked against.
//!
//! Plain data; the caller reads the machine.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// The requirements on the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreflightRequirements {
    pub services: Vec<IpAddr>,
    /// The encapsulation of packets; `None`: only the link-layer address is rewritten.
    pub tunnel: Option<Encapsulation>,
    /// The largest packet that the path from the balancer carries, bytes; `None`: the link's MTU.
    pub path_mtu: Option<u32>,
}

/// The encapsulation of a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Encapsulation {
    /// A bare IP header (RFC 2003, RFC 2473).
    Ipip,
    /// IP and a basic GRE header (RFC 2784).
    Gre,
    /// IP and UDP: GUE variant 1, without a header of its own (draft-ietf-intarea-gue §4).
    Gue,
}

impl Encapsulation {
    /// As in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Encapsulation::Ipip => "ipip",
            Encapsulation::Gre => "gre",
            Encapsulation::Gue => "gue",
        }
    }

    /// Bytes that the encapsulation adds, with an IPv6 outer header if `outer_v6`.
    pub fn overhead(self, outer_v6: bool) -> u32 {
        let ip = if outer_v6 { 40 } else { 20 };
        ip + match self {
            Encapsulation::Ipip => 0,
            Encapsulation::Gre => 4,
            Encapsulation::Gue => 8,
        }
    }
}

/// The state of a server at one time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PreflightSnapshot {
    pub interfaces: BTreeMap<String, InterfaceState>,
    /// Routes of every table.
    pub routes: Vec<RouteEntry>,
    /// Settings that apply to every link besides its own (`net.ipv4.conf.all`).
    pub all_settings: Ipv4Settings,
    pub decapsulators: Vec<Decapsulator>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InterfaceState {
    pub up: bool,
    pub loopback: bool,
    /// Whether the link takes part in ARP.
    pub arp: bool,
    /// The largest packet, bytes.
    pub mtu: u32,
    pub addresses: Vec<InterfaceIp>,
    pub settings: Ipv4Settings,
}

/// An address of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterfaceIp {
    pub ip: IpAddr,
    pub prefix: u8,
    /// Whether the address is unusable, now or for good, because another host may have it (RFC 4862 §5.4).
    pub duplicate_suspected: bool,
}

/// Settings of a link below `net.ipv4.conf`; the larger of `all` and the link's own acts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ipv4Settings {
    /// Which ARP requests are answered.
    pub arp_ignore: u8,
    /// Which addresses ARP announces.
    pub arp_announce: u8,
    /// How sources of packets are checked.
    pub rp_filter: u8,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteEntry {
    /// The destination; an unspecified address with 0 bits is the default.
    pub to: IpAddr,
    pub prefix: u8,
    pub via: Option<IpAddr>,
    pub link: String,
    /// Whether the route leads to the machine itself.
    pub local: bool,
    /// The routing table, by the name that `ip` gives it.
    pub table: String,
    /// The segment size that peers are offered, bytes.
    pub advmss: Option<u32>,
}

impl RouteEntry {
    /// Whether the route covers this address.
    pub fn covers(&self, ip: IpAddr) -> bool {
        match (self.to, ip) {
            (IpAddr::V4(to), IpAddr::V4(ip)) => {
                let shift = 32 - u32::from(self.prefix.min(32));
                shift == 32 || to.to_bits() >> shift == ip.to_bits() >> shift
            }
            (IpAddr::V6(to), IpAddr::V6(ip)) => {
                let shift = 128 - u32::from(self.prefix.min(128));
                shift == 128 || to.to_bits() >> shift == ip.to_bits() >> shift
            }
            _ => false,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decapsulator {
    /// The link that it works on; `None`: all.
    pub link: Option<String>,
    pub takes: Vec<Encapsulation>,
}
