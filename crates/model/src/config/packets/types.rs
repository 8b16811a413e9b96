//! The checked configuration of packet forwarding: `[packets]`, and the packet keys of a service.
//!
//! It contains only verified settings. The packet plane applies them.

use super::normalization::TcpNormalization;
use crate::config::daily_window::DailyWindow;
use crate::config::ip_prefix::IpPrefix;
use crate::config::listen_range::ListenRange;
use crate::config::port_range::PortRange;
use crate::config::replication::ReplicationScope;
use serde::Serialize;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;
use std::time::Duration;

/// `[packets]`: the packet plane of this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct PacketPlaneConfig {
    /// Interfaces that receive packets; `None`: those with addresses of services, return addresses and routes to
    /// servers.
    pub interfaces: Option<Vec<String>>,
    /// How the XDP program is attached to an interface.
    pub mode: AttachMode,
    /// Capacity of the flow table, which is allocated completely.
    pub flows: u32,
    /// Limit for remembered first fragments.
    pub fragments: u32,
    /// One connection in this many is sampled; `None`: none.
    pub insight: Option<u32>,
    /// The directory in a BPF file system where programs and maps outlive the process.
    pub pins: PathBuf,
    /// Return addresses of `nat` services whose pool has none.
    pub returns: Vec<IpAddr>,
}

/// How an XDP program is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AttachMode {
    /// Native mode if the driver supports it, otherwise generic mode.
    Auto,
    /// Native mode only.
    Native,
    /// Generic mode.
    Generic,
}

/// Settings of a service that forwards packets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct PacketServiceConfig {
    /// Addresses and ports of accepted packets.
    pub listen: Vec<ListenRange>,
    pub protocols: TransportProtocols,
    /// Timeouts of flows.
    pub timers: FlowTimers,
    /// Affinity of a client's later connections; `None`: none.
    pub sticky: Option<PacketAffinityConfig>,
    /// Rules that select another pool, in order; the first match counts.
    pub rules: Vec<PacketRule>,
    /// Access control and limits of clients.
    pub guard: GuardConfig,
    /// Encapsulation towards servers across routers (`tunnel`).
    pub tunnel: TunnelConfig,
    /// Upper limit for the MSS announced to either end (`nat`), bytes; `None`: unchanged.
    pub mss: Option<u16>,
    /// What it takes of TCP headers.
    pub normalize: TcpNormalization,
    /// The scope of replication to the other member of a pair.
    pub replicate: ReplicationScope,
}

/// The transport protocols of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct TransportProtocols {
    /// TCP (RFC 9293).
    pub tcp: bool,
    /// UDP (RFC 768).
    pub udp: bool,
}

/// Timeouts of idle flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct FlowTimers {
    /// After a reset or after both ends have closed; a translated port is not reused earlier. Default 30 s.
    pub fin: Duration,
    /// Established connections; default 300 s.
    pub stale: Duration,
    /// Before the handshake is complete; default 30 s.
    pub embryonic: Duration,
    /// After one end has closed; default 300 s.
    pub half_closed: Duration,
    /// UDP; default 120 s.
    pub udp: Duration,
}

/// Affinity: a client's network keeps its server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct PacketAffinityConfig {
    /// How long after its last connection a client keeps its server.
    pub time: Duration,
    /// IPv4 prefix length of a client's network, default 32.
    pub mask4: u8,
    /// IPv6 prefix length of a client's network, default 128.
    pub mask6: u8,
}

/// A rule that selects a pool for matching connections; an absent or empty condition matches all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct PacketRule {
    pub client: Vec<IpPrefix>,
    /// Range of the client's port, inclusive.
    pub client_port: Option<PortRange>,
    /// Daily time window, local time.
    pub hours: Option<DailyWindow>,
    /// Days of the week as bits, Monday first, local time; with `hours`, those on which they begin.
    pub days: u8,
    /// The traffic class (IPv6) or type of service (IPv4) byte.
    pub tos: Option<u8>,
    /// Matches at most this many new connections a second.
    pub rate: Option<u32>,
    pub pool: String,
}

/// Access control and limits of clients. `None` means no limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct GuardConfig {
    /// Networks of accepted clients; empty: all.
    pub allow: Vec<IpPrefix>,
    /// Networks of rejected clients; the longest prefix of both lists decides.
    pub deny: Vec<IpPrefix>,
    /// How long a client is banned after it exceeded a `source` limit.
    pub ban: Option<Duration>,
    /// Number of incomplete connections from which on the alarm is active.
    pub half_open: Option<u32>,
    /// Whether clients get SYN cookies while the alarm is active.
    pub syn_cookies: bool,
    /// Limits over all clients.
    pub all: GuardLimits,
    /// Limits for each client address.
    pub source: GuardLimits,
}

/// Limits for all clients or for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct GuardLimits {
    /// Concurrent flows.
    pub connections: Option<u32>,
    /// New connections (SYN) a second.
    pub syn_rate: Option<u32>,
    /// Resets a second.
    pub rst_rate: Option<u32>,
    /// Bits a second from clients.
    pub bandwidth: Option<u64>,
}

/// Encapsulation of packets towards servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct TunnelConfig {
    pub kind: TunnelKind,
    /// UDP port of the servers (`gue`); default 6080.
    pub port: u16,
    /// IPv4 source of the outer header; `None`: the address of the interface towards the server.
    pub source4: Option<Ipv4Addr>,
    /// IPv6 source of the outer header; `None`: the address of the interface towards the server.
    pub source6: Option<Ipv6Addr>,
}

/// The encapsulation of a packet.
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

impl TunnelKind {
    pub fn name(self) -> &'static str {
        match self {
            TunnelKind::Ipip => "ipip",
            TunnelKind::Gre => "gre",
            TunnelKind::Gue => "gue",
        }
    }
}
