//! What is said of the packet plane in `status` and `report`. Nothing but data.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::counter::Counter;

/// The packet plane.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PacketsStatus {
    /// Why no packets are forwarded; absent: they are forwarded.
    #[serde(alias = "broken")]
    #[serde(serialize_with = "crate::plain_text::serialize")]
    pub problem: Option<String>,
    /// Generation of the configuration in the tables.
    #[serde(default)]
    pub generation: u64,
    /// Whether its connections are from before this process.
    #[serde(alias = "adopted")]
    pub restored: bool,
    /// Memory of the tables, bytes.
    pub memory_bytes: u64,
    /// State of flow sampling.
    #[serde(default)]
    #[serde(alias = "insight")]
    pub flow_samples: FlowSampleStatus,
    /// Interfaces that receive packets.
    pub interfaces: Vec<PacketInterface>,
    /// Next hops of servers.
    pub neighbours: Vec<Neighbour>,
}

/// What is watched of connections, for `explain slow`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct FlowSampleStatus {
    /// One connection in this many is watched; absent: none.
    #[serde(alias = "sample")]
    pub one_in: Option<u32>,
    /// Connections watched now.
    pub watched: usize,
    /// Connections watched since the tables were created.
    #[serde(alias = "begun")]
    pub started: u64,
    /// Selected connections that were not watched because the table was full.
    pub full: u64,
    /// Idle connections that were replaced by new ones.
    pub evicted: u64,
    /// Connections replaced before they were read.
    pub unread: u64,
}

/// An interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PacketInterface {
    /// Name of the interface.
    pub name: String,
    /// XDP mode: `native` (in the driver) or `generic`; absent: not attached.
    pub mode: Option<String>,
    /// Why it is not attached or not in native mode, or that frames are lost there; absent: no problem.
    #[serde(serialize_with = "crate::plain_text::serialize")]
    pub problem: Option<String>,
}

/// The next hop of a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Neighbour {
    /// Address of the server.
    pub address: IpAddr,
    /// `ok`, `trying`, `error`, `no-interface`, `down` or `local`.
    pub state: String,
    /// Details of the state.
    #[serde(serialize_with = "crate::plain_text::serialize")]
    pub reason: Option<String>,
    /// Servers at this address: `POOL/NAME`.
    pub servers: Vec<String>,
}

/// Packets by where they ended. Each packet is in exactly one outcome.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PacketsReport {
    /// Received packets.
    pub received: Counter,
    /// Packets with an outcome.
    pub accounted: Counter,
    /// Received packets without an outcome. While packets arrive, a few are expected.
    pub unaccounted: i64,
    /// All outcomes that happened.
    pub outcomes: Vec<PacketOutcome>,
    /// Packets of servers that were removed before this process started; their outcomes are unknown.
    #[serde(default)]
    pub earlier: u64,
    /// Open connections that were removed from the table for new ones.
    pub evicted: Counter,
    /// Notices of the datapath that were lost.
    pub events_lost: Counter,
    /// Services by name.
    pub services: Vec<PacketService>,
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PacketDisposition {
    /// Sent on, to a server or to a client.
    Forwarded,
    /// Handed to this host.
    Host,
    /// Answered here.
    Answered,
    /// Dropped.
    #[default]
    Dropped,
}

/// Packets that ended in one way.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PacketOutcome {
    /// Name of the outcome: `forwarded`, `no-port`.
    pub name: String,
    /// What happened to the packets.
    #[serde(default)]
    #[serde(alias = "end")]
    pub disposition: PacketDisposition,
    /// Meaning of the name, one sentence.
    #[serde(default)]
    pub meaning: String,
    /// All packets with this outcome.
    pub count: Counter,
    /// IPv4 packets.
    pub v4: u64,
    /// IPv6 packets.
    pub v6: u64,
    /// Other packets.
    pub other: u64,
}

/// A service that forwards packets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PacketService {
    /// Name of the service.
    pub name: String,
    /// Forwarding method.
    pub forward: String,
    /// Active connections.
    pub flows: u32,
    /// Connections without a complete handshake.
    pub half_open: u32,
    /// Whether half-open connections exceed the threshold.
    pub alarm: bool,
    /// SYNs sampled in the last seconds, while the alarm is raised.
    #[serde(default)]
    pub sampled_syns: u32,
    /// Addresses with the most sampled SYNs, the largest first.
    #[serde(default)]
    pub flood_clients: Vec<FloodClient>,
    /// Networks with the most sampled SYNs: /24 for IPv4, /64 for IPv6.
    #[serde(default)]
    pub flood_networks: Vec<FloodClient>,
    /// Packets by outcome, servers included.
    pub outcomes: Vec<PacketOutcome>,
    /// Parts of TCP headers that `normalize` removed.
    #[serde(default)]
    pub removals: Vec<HeaderRemoval>,
    /// Its servers.
    pub servers: Vec<PacketServer>,
}

/// A part of TCP headers that is removed from packets of a service.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct HeaderRemoval {
    /// The key of `normalize` that removed it.
    pub field: String,
    /// How often it was removed.
    pub count: Counter,
}

/// An address or a network that sends many of the SYNs of a service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct FloodClient {
    /// `203.0.113.7`, or a network such as `203.0.113.0/24`.
    pub address: String,
    /// Its SYN packets in the sample.
    pub syns: u32,
}

/// A server of such a service.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PacketServer {
    /// `POOL/NAME`.
    pub name: String,
    /// Active connections.
    pub flows: u32,
    /// Connections sent to it.
    pub connections: Counter,
    /// Connections that began without a SYN; included in `connections`.
    #[serde(alias = "adopted")]
    pub without_syn: Counter,
    /// Bytes to the server.
    pub bytes_in: Counter,
    /// Bytes to clients; 0 if the server answers them directly.
    pub bytes_out: Counter,
    /// Its packets by outcome.
    pub outcomes: Vec<PacketOutcome>,
}
