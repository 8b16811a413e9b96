//! The checked configuration of shared addresses: groups of VRRP.

use crate::config::ip_prefix::IpPrefix;
use serde::Serialize;
use std::net::IpAddr;
use std::time::Duration;

/// A group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct VrrpConfig {
    /// Its name, kebab-case.
    pub name: String,
    /// Where it runs.
    pub interface: String,
    /// The virtual router's number, 1–255.
    pub id: u8,
    /// What is shared; at least one, all of one family.
    pub addresses: Vec<IpAddr>,
    /// What moves with them and is not advertised.
    pub also: Vec<CompanionAddresses>,
    /// 2 or 3.
    pub version: u8,
    /// 1–255.
    pub priority: u8,
    /// Between two advertisements; a multiple of 10 ms, of a second for version 2.
    pub advertise: Duration,
    /// Takes over from a lower priority.
    pub preempt: bool,
    /// How long a lower priority is borne.
    pub preempt_delay: Duration,
    /// Members that are sent to; none: the multicast group.
    pub peers: Vec<IpAddr>,
    /// Who is heard; none: everybody.
    pub allow: Vec<IpPrefix>,
    /// Our address; `None`: the interface's.
    pub source: Option<IpAddr>,
    /// Which link address the shared ones have.
    pub link_address: LinkAddressMode,
    /// The addresses are held so long without an advertisement; `None`: for ever.
    pub dead_man: Option<Duration>,
    /// While active, so often it is asked whether the addresses answer elsewhere; `None`: never.
    pub self_check: Option<Duration>,
    /// While active, so often the addresses are announced although nothing changed; `None`: never.
    pub announce_every: Option<Duration>,
}

/// Which link address the shared addresses of a group have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkAddressMode {
    /// That of the interface: it changes with the member.
    #[default]
    Own,
    /// That of the virtual router (RFC 9568 §7.3): it stays the same.
    Virtual,
}

/// Addresses that move with a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct CompanionAddresses {
    /// One at least, of either family.
    pub addresses: Vec<IpAddr>,
    /// Where they are.
    pub interface: String,
}

impl VrrpConfig {
    /// Everything that moves with the group, each with its interface: what is advertised first.
    pub fn floating_addresses(&self) -> impl Iterator<Item = (IpAddr, &str)> {
        let own = self.addresses.iter().map(|ip| (*ip, self.interface.as_str()));
        let also = self
            .also
            .iter()
            .flat_map(|also| also.addresses.iter().map(|ip| (*ip, also.interface.as_str())));
        own.chain(also)
    }

    /// Whether it shares addresses of IPv6.
    pub fn is_ipv6(&self) -> bool {
        self.addresses.first().is_some_and(IpAddr::is_ipv6)
    }

    /// The link address of the virtual router (RFC 9568 §7.3), where the shared addresses have it.
    pub fn virtual_mac(&self) -> Option<[u8; 6]> {
        let family = if self.is_ipv6() { 2 } else { 1 };
        let wanted = self.link_address == LinkAddressMode::Virtual;
        wanted.then_some([0, 0, 0x5e, 0, family, self.id])
    }

    /// Whether an advertisement from there is heard.
    pub fn accepts_source(&self, source: IpAddr) -> bool {
        let allowed = self.allow.iter().any(|prefix| prefix.contains(source));
        allowed
            || (self.allow.is_empty() && (self.peers.is_empty() || self.peers.contains(&source)))
    }
}
