//! The checked configuration of packet forwarding: what `[packets]` and the packet keys of a service come to.
//!
//! Like `checked` it holds only what was verified before. How it is carried out is the packet plane's matter.

use crate::config::daily_window::DailyWindow;
use crate::config::ip_prefix::IpPrefix;
use crate::config::listen_range::ListenRange;
use crate::config::replication::ReplicationScope;
use serde::Serialize;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;
use std::time::Duration;

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
    /// What is replicated to the other member of a pair.
    pub replicate: ReplicationScope,
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

impl TunnelKind {
    pub fn name(self) -> &'static str {
        match self {
            TunnelKind::Ipip => "ipip",
            TunnelKind::Gre => "gre",
            TunnelKind::Gue => "gue",
        }
    }
}
