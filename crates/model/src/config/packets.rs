//! The checked configuration of packet forwarding: what `[packets]` and the packet keys of a service come to.
//!
//! Like `checked` it holds only what was judged before. How it is carried out is the packet plane's matter.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use serde::{Serialize, Serializer};

use super::replication::ReplicationScope;

/// `[packets]`: what the packet plane of this machine is made of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct PacketPlaneConfig {
    /// Where packets are taken; `None`: where services' and return addresses are, and where servers are reached.
    pub interfaces: Option<Vec<String>>,
    /// How the program hangs on an interface.
    pub mode: AttachMode,
    /// Flows that fit at a time; the table is allocated whole.
    pub flows: u32,
    /// First fragments that are remembered at a time.
    pub fragments: u32,
    /// One connection in so many is watched; `None`: none is.
    pub insight: Option<u32>,
    /// Directory of a BPF file system in which programs and maps outlive the process.
    pub pins: PathBuf,
    /// Return addresses of `nat` services whose pool names none.
    pub returns: Vec<IpAddr>,
}

/// How a program hangs on an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AttachMode {
    /// In the driver where it can, else in the kernel's generic hook.
    Auto,
    /// In the driver, or not at all.
    Native,
    /// In the generic hook.
    Generic,
}

/// What a service that forwards packets has beside a proxied one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct PacketServiceConfig {
    /// What it takes.
    pub listen: Vec<ListenRange>,
    /// Of which protocols.
    pub protocols: TransportProtocols,
    /// When a flow is forgotten.
    pub timers: FlowTimers,
    /// The same server for a client's later connections.
    pub sticky: Option<PacketAffinityConfig>,
    /// Pools for some clients, in order; the first that fits counts.
    pub rules: Vec<PacketRule>,
    /// Whom it takes, and how much.
    pub guard: GuardConfig,
    /// How packets reach servers across routers (`tunnel`).
    pub tunnel: TunnelConfig,
    /// The largest segment size that either end is told (`nat`), bytes; `None`: as they say themselves.
    pub mss: Option<u16>,
    /// What the other machine of a heartbeat is told.
    pub replicate: ReplicationScope,
}

/// An address with one port, a range of ports, or any port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ListenRange {
    /// The address; unspecified: every address of that family.
    pub address: IpAddr,
    /// The lowest port; 0: any port.
    pub first: u16,
    /// The highest port; that of `first` when there is one.
    pub last: u16,
}

/// Which transport protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct TransportProtocols {
    /// RFC 9293.
    pub tcp: bool,
    /// RFC 768.
    pub udp: bool,
}

/// When a flow without packets is forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct FlowTimers {
    /// After both ends, or a reset, have ended it; a translated port is not used again before. Default 30 s.
    pub fin: Duration,
    /// An established connection; default 300 s.
    pub stale: Duration,
    /// Before the handshake is complete; default 30 s.
    pub embryonic: Duration,
    /// After one end has closed; default 300 s.
    pub half_closed: Duration,
    /// UDP; default 120 s.
    pub udp: Duration,
}

/// A client's network keeps its server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct PacketAffinityConfig {
    /// So long after its last connection.
    pub time: Duration,
    /// Bits of an IPv4 address that count, default 32.
    pub mask4: u8,
    /// Bits of an IPv6 address that count, default 128.
    pub mask6: u8,
}

/// A pool for the connections that fit; a condition that is empty or absent fits all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct PacketRule {
    /// Networks of clients.
    pub client: Vec<IpPrefix>,
    /// The client's port, inclusive.
    pub client_port: Option<(u16, u16)>,
    /// From and to which minute of the day, local time; a range may pass midnight.
    pub hours: Option<DailyWindow>,
    /// The traffic class or type of service byte.
    pub tos: Option<u8>,
    /// Fits for at most so many new connections a second.
    pub rate: Option<u32>,
    /// The pool.
    pub pool: String,
}

/// A part of the day in minutes since midnight: from `from` until before `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct DailyWindow {
    /// First minute.
    pub from: u16,
    /// The minute after the last; not above `from`: on the next day. The same as `from`: the whole day.
    pub to: u16,
}

/// Whom a service takes, and how much. `None` is no limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct GuardConfig {
    /// Only clients of these networks; empty: all.
    pub allow: Vec<IpPrefix>,
    /// No clients of these networks; the longer prefix of both lists decides.
    pub deny: Vec<IpPrefix>,
    /// A client above one of the `source` limits is refused for so long.
    pub ban: Option<Duration>,
    /// Connections that are not complete, above which the alarm stands.
    pub half_open: Option<u32>,
    /// Above that clients are answered with SYN cookies.
    pub syn_cookies: bool,
    /// Over all clients.
    pub all: GuardLimits,
    /// For each client address.
    pub source: GuardLimits,
}

/// Limits of one kind of subject.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct GuardLimits {
    /// Flows at a time.
    pub connections: Option<u32>,
    /// Connection requests a second.
    pub syn_rate: Option<u32>,
    /// Resets a second.
    pub rst_rate: Option<u32>,
    /// Bits a second from clients.
    pub bandwidth: Option<u64>,
}

/// How packets reach servers across routers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct TunnelConfig {
    /// What is put around a packet.
    pub kind: TunnelKind,
    /// UDP port of the servers (`gue`); default 6080.
    pub port: u16,
    /// IPv4 source of the outer header; `None`: the address of the interface towards the server.
    pub source4: Option<Ipv4Addr>,
    /// The same for IPv6.
    pub source6: Option<Ipv6Addr>,
}

/// What is put around a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TunnelKind {
    /// An IP header (RFC 2003, RFC 2473).
    Ipip,
    /// An IP and a GRE header (RFC 2784).
    Gre,
    /// IP and UDP: generic UDP encapsulation, direct form (draft-ietf-intarea-gue, variant 1).
    Gue,
}

/// A network: an address and the bits of it that count; the others are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IpPrefix {
    address: IpAddr,
    bits: u8,
}

impl IpPrefix {
    /// The network of an address; `None` when the family has fewer bits.
    pub fn new(address: IpAddr, bits: u8) -> Option<IpPrefix> {
        let address = match address {
            IpAddr::V4(v4) if bits <= 32 => {
                let mask = u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0);
                IpAddr::V4(Ipv4Addr::from_bits(v4.to_bits() & mask))
            }
            IpAddr::V6(v6) if bits <= 128 => {
                let mask = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0);
                IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & mask))
            }
            _ => return None,
        };
        Some(IpPrefix { address, bits })
    }

    pub fn address(self) -> IpAddr {
        self.address
    }

    /// How many bits count.
    pub fn bits(self) -> u8 {
        self.bits
    }

    /// Whether an address lies in it.
    pub fn contains(self, address: IpAddr) -> bool {
        address.is_ipv4() == self.address.is_ipv4()
            && IpPrefix::new(address, self.bits) == Some(self)
    }
}

impl fmt::Display for IpPrefix {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}/{}", self.address, self.bits)
    }
}

impl Serialize for IpPrefix {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl ListenRange {
    /// One address and port.
    pub fn single_port(address: IpAddr, port: u16) -> ListenRange {
        ListenRange { address, first: port, last: port }
    }

    /// Any port of an address.
    pub fn any_port(address: IpAddr) -> ListenRange {
        ListenRange::single_port(address, 0)
    }

    /// Whether it stands for any port.
    pub fn is_any_port(self) -> bool {
        self.first == 0
    }

    /// The port where there is exactly one.
    pub fn exact_port(self) -> Option<u16> {
        (self.first == self.last && self.first != 0).then_some(self.first)
    }

    /// Whether it stands for this address and port too.
    pub fn contains(self, at: SocketAddr) -> bool {
        let everywhere = self.address.is_unspecified() && self.address.is_ipv4() == at.is_ipv4();
        let port = self.is_any_port() || (self.first..=self.last).contains(&at.port());
        port && (everywhere || self.address == at.ip())
    }

    /// Whether both stand for a port of the same address, and neither is the wider wildcard.
    pub fn overlaps(self, other: ListenRange) -> bool {
        self.address == other.address
            && self.is_any_port() == other.is_any_port()
            && self.first <= other.last
            && other.first <= self.last
    }
}

impl fmt::Display for ListenRange {
    /// As written in the file.
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.address {
            IpAddr::V4(v4) => write!(to, "{v4}:")?,
            IpAddr::V6(v6) => write!(to, "[{v6}]:")?,
        }
        match (self.first, self.last) {
            (0, _) => to.write_str("*"),
            (first, last) if first == last => write!(to, "{first}"),
            (first, last) => write!(to, "{first}-{last}"),
        }
    }
}

impl Serialize for ListenRange {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl fmt::Display for DailyWindow {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let from = self.from;
        let end = self.to;
        if from == end {
            // The whole day has no other form.
            return write!(to, "{}-{}", from / 60, (from / 60 + 23) % 24);
        }
        write!(to, "{:02}:{:02}-{:02}:{:02}", from / 60, from % 60, end / 60, end % 60)
    }
}

impl DailyWindow {
    /// Whether a minute of the day lies in it.
    pub fn contains(self, minute: u16) -> bool {
        if self.from < self.to {
            (self.from..self.to).contains(&minute)
        } else {
            minute >= self.from || minute < self.to
        }
    }
}

impl TunnelKind {
    pub fn name(self) -> &'static str {
        match self {
            TunnelKind::Ipip => "ipip",
            TunnelKind::Gre => "gre",
            TunnelKind::Gue => "gue",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_holds_its_ports_and_an_unspecified_address_those_of_its_family() {
        let at = |text: &str| text.parse::<SocketAddr>().unwrap();
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        let range = ListenRange { address: ip("10.0.0.1"), first: 80, last: 90 };
        assert!(range.contains(at("10.0.0.1:80")) && range.contains(at("10.0.0.1:90")));
        assert!(!range.contains(at("10.0.0.1:91")) && !range.contains(at("10.0.0.2:80")));
        let any = ListenRange::any_port(ip("0.0.0.0"));
        assert!(any.contains(at("10.9.9.9:1")) && !any.contains(at("[::1]:1")));
    }

    #[test]
    fn prefixes_hold_their_addresses() {
        let prefix = IpPrefix::new("10.1.2.3".parse().unwrap(), 8).unwrap();
        assert_eq!(prefix.to_string(), "10.0.0.0/8");
        assert!(prefix.contains("10.255.0.1".parse().unwrap()));
        assert!(!prefix.contains("11.0.0.1".parse().unwrap()));
        assert!(!prefix.contains("2001:db8::1".parse().unwrap()));
        assert!(IpPrefix::new("::".parse().unwrap(), 0).unwrap().contains("::1".parse().unwrap()));
        assert_eq!(IpPrefix::new("10.0.0.0".parse().unwrap(), 33), None);
    }

    #[test]
    fn hours_pass_midnight() {
        let night = DailyWindow { from: 22 * 60, to: 6 * 60 };
        let told: Vec<bool> = [22 * 60, 0, 359, 360, 1_319].map(|m| night.contains(m)).into();
        assert_eq!(told, [true, true, true, false, false]);
        assert_eq!(night.to_string(), "22:00-06:00");
    }

    #[test]
    fn spans_collide_on_their_own_level_only() {
        let at = |first, last| ListenRange { address: [10, 0, 0, 1].into(), first, last };
        assert!(at(80, 90).overlaps(at(90, 91)));
        assert!(!at(80, 90).overlaps(at(91, 91)));
        assert!(!at(0, 0).overlaps(at(80, 80)));
        assert!(at(0, 0).overlaps(at(0, 0)));
    }
}
