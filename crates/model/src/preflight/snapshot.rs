//! A server's links, addresses, routes and settings, as they were at one moment, and what it is wanted for.
//!
//! Plain data; whoever reads the machine fills it.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// What the server is to be ready for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreflightRequirements {
    pub services: Vec<IpAddr>,
    /// How packets come encapsulated; `None`: with the link-layer address rewritten only.
    pub tunnel: Option<Encapsulation>,
    /// The largest packet that the path from the balancer carries, bytes; `None`: what the link carries.
    pub path_mtu: Option<u32>,
}

/// How packets are wrapped for a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Encapsulation {
    /// In a bare IP header (RFC 2003, RFC 2473).
    Ipip,
    /// In IP and a basic GRE header (RFC 2784).
    Gre,
    /// In IP and UDP: GUE variant 1, without a header of its own (draft-ietf-intarea-gue §4).
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

    /// Bytes that it adds, an outer header of version 6 assumed where `outer_v6`.
    pub fn overhead(self, outer_v6: bool) -> u32 {
        let ip = if outer_v6 { 40 } else { 20 };
        ip + match self {
            Encapsulation::Ipip => 0,
            Encapsulation::Gre => 4,
            Encapsulation::Gue => 8,
        }
    }
}

/// A server at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PreflightSnapshot {
    pub interfaces: BTreeMap<String, InterfaceState>,
    /// Routes of every table.
    pub routes: Vec<RouteEntry>,
    /// Settings that hold for every link besides its own (`net.ipv4.conf.all`).
    pub all_settings: Ipv4Settings,
    /// Decapsulators that are loaded.
    pub decapsulators: Vec<Decapsulator>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InterfaceState {
    /// Whether it is up.
    pub up: bool,
    /// Whether it is a loopback.
    pub loopback: bool,
    /// Whether it takes part in ARP.
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
    /// Bits of its subnet.
    pub prefix: u8,
    /// Whether it is not yet, or not at all, usable because another host may have it (RFC 4862 §5.4).
    pub duplicate_suspected: bool,
}

/// Settings of a link below `net.ipv4.conf`; of `all` and the link's own the larger one acts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ipv4Settings {
    /// Which ARP questions are answered.
    pub arp_ignore: u8,
    /// Which addresses are told.
    pub arp_announce: u8,
    /// How sources are judged.
    pub rp_filter: u8,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteEntry {
    /// Where to; an unspecified address with 0 bits is the default.
    pub to: IpAddr,
    /// Bits of the subnet.
    pub prefix: u8,
    pub via: Option<IpAddr>,
    pub link: String,
    /// Whether it means the machine itself.
    pub local: bool,
    /// Which table, by the name that `ip` gives it.
    pub table: String,
    /// The segment size that is told to peers, bytes.
    pub advmss: Option<u32>,
}

impl RouteEntry {
    /// Whether it is for this address.
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
    /// The link it works on; `None`: all.
    pub link: Option<String>,
    pub takes: Vec<Encapsulation>,
}
