//! The checked configuration of VRRP groups, which share virtual IP addresses.

use crate::config::ip_prefix::IpPrefix;
use serde::Serialize;
use std::net::IpAddr;
use std::time::Duration;

/// A VRRP group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct VrrpConfig {
    pub name: String,
    pub interface: String,
    /// The virtual router's number (VRID), 1–255.
    pub id: u8,
    /// The virtual IP addresses; at least one, all of one family.
    pub addresses: Vec<IpAddr>,
    /// Addresses that move with the group without being advertised.
    pub also: Vec<CompanionAddresses>,
    /// VRRP version, 2 or 3.
    pub version: u8,
    /// Priority, 1–255.
    pub priority: u8,
    /// Advertisement interval; a multiple of 10 ms, for version 2 of a second.
    pub advertise: Duration,
    /// Whether this member takes over from a member with lower priority.
    pub preempt: bool,
    /// Delay before this member takes over from a member with lower priority.
    pub preempt_delay: Duration,
    /// Members for unicast advertisements; empty: the multicast group.
    pub peers: Vec<IpAddr>,
    /// Networks whose advertisements are accepted; empty: all.
    pub allow: Vec<IpPrefix>,
    /// Source address of advertisements; `None`: the interface's.
    pub source: Option<IpAddr>,
    /// The link address of the virtual addresses.
    pub link_address: LinkAddressMode,
    /// The dead-man timer: without an advertisement for this time the addresses stop responding; `None`: off.
    pub fencing_timeout: Option<Duration>,
    /// Interval of duplicate address detection while active; `None`: off.
    pub self_check: Option<Duration>,
    /// Interval of announcements (gratuitous ARP) while active; `None`: only on changes.
    pub announce_every: Option<Duration>,
}

/// The link address of a group's virtual addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkAddressMode {
    /// That of the interface, which changes with the active member.
    #[default]
    Own,
    /// That of the virtual router (RFC 9568 §7.3), which stays the same.
    Virtual,
}

/// Addresses that move with a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct CompanionAddresses {
    /// At least one address, of either family.
    pub addresses: Vec<IpAddr>,
    pub interface: String,
}

impl VrrpConfig {
    /// All addresses that move with the group with their interfaces, the advertised ones first.
    pub fn floating_addresses(&self) -> impl Iterator<Item = (IpAddr, &str)> {
        let own = self.addresses.iter().map(|ip| (*ip, self.interface.as_str()));
        let also = self
            .also
            .iter()
            .flat_map(|also| also.addresses.iter().map(|ip| (*ip, also.interface.as_str())));
        own.chain(also)
    }

    /// Whether the group has IPv6 addresses.
    pub fn is_ipv6(&self) -> bool {
        self.addresses.first().is_some_and(IpAddr::is_ipv6)
    }

    /// The virtual router's link address (RFC 9568 §7.3), if the group uses it.
    pub fn virtual_mac(&self) -> Option<[u8; 6]> {
        let family = if self.is_ipv6() { 2 } else { 1 };
        let wanted = self.link_address == LinkAddressMode::Virtual;
        wanted.then_some([0, 0, 0x5e, 0, family, self.id])
    }

    /// Whether advertisements from this address are accepted.
    pub fn accepts_source(&self, source: IpAddr) -> bool {
        let allowed = self.allow.iter().any(|prefix| prefix.contains(source));
        allowed
            || (self.allow.is_empty() && (self.peers.is_empty() || self.peers.contains(&source)))
    }
}
