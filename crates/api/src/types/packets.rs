//! What is said of the packet plane in `status` and `report`. Nothing but data.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::counter::Counter;

/// The packet plane.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PacketsStatus {
    /// Why nothing is forwarded at all; absent: it is.
    #[serde(alias = "broken")]
    pub problem: Option<String>,
    /// The configuration that the tables carry out.
    #[serde(default)]
    pub generation: u64,
    /// Its connections were there before this process.
    pub adopted: bool,
    /// Bytes that its tables take.
    pub memory_bytes: u64,
    /// What is watched of connections.
    #[serde(default)]
    #[serde(alias = "insight")]
    pub flow_samples: FlowSampleStatus,
    /// Where packets are taken.
    pub interfaces: Vec<PacketInterface>,
    /// Next hops of servers.
    pub neighbours: Vec<Neighbour>,
}

/// What is watched of connections, for `explain slow`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct FlowSampleStatus {
    /// One connection in so many is watched; absent: none is.
    #[serde(alias = "sample")]
    pub one_in: Option<u32>,
    /// Connections watched now.
    pub watched: usize,
    /// Connections that were begun to be watched, since the tables were made.
    #[serde(alias = "begun")]
    pub started: u64,
    /// Drawn and not watched: the table was full.
    pub full: u64,
    /// Idle ones that gave way to others.
    pub evicted: u64,
    /// Replaced before they were read.
    pub unread: u64,
}

/// An interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PacketInterface {
    /// Its name.
    pub name: String,
    /// `native` (in the driver) or `generic`; absent: not attached.
    pub mode: Option<String>,
    /// Why it is not attached; of one that is, why not in its driver, or that frames are lost there.
    pub problem: Option<String>,
}

/// The next hop of a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Neighbour {
    /// The server's address.
    pub address: IpAddr,
    /// `ok`, `trying`, `error`, `no-interface`, `down` or `local`.
    pub state: String,
    /// More about it.
    pub reason: Option<String>,
    /// Servers at this address: `POOL/NAME`.
    pub servers: Vec<String>,
}

/// Packets by where they ended. Each packet is in exactly one outcome.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PacketsReport {
    /// Packets that arrived.
    pub received: Counter,
    /// Packets that ended in one of the outcomes.
    pub accounted: Counter,
    /// Received and in no outcome; a few while packets arrive, since counters are read one after the other.
    pub unaccounted: i64,
    /// All outcomes that happened.
    pub outcomes: Vec<PacketOutcome>,
    /// Of those accounted: packets of servers that were gone before this process; how they ended is not known any more.
    #[serde(default)]
    pub earlier: u64,
    /// Open connections removed from the table for new ones.
    pub evicted: Counter,
    /// Notices that were lost.
    pub events_lost: Counter,
    /// By service.
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
    /// Its name: `forwarded`, `no-port`.
    pub name: String,
    /// What became of them.
    #[serde(default)]
    #[serde(alias = "end")]
    pub disposition: PacketDisposition,
    /// What the name means, in a sentence.
    #[serde(default)]
    pub meaning: String,
    /// All of them.
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
    /// Its name.
    pub name: String,
    /// Its method.
    pub forward: String,
    /// Connections under way; one a client, also where both directions come through here.
    pub flows: u32,
    /// Half-open connections: without a complete handshake.
    pub half_open: u32,
    /// Half-open connections are at the threshold.
    pub alarm: bool,
    /// SYNs of the last seconds that were sampled, while the alarm stands.
    #[serde(default)]
    pub sampled_syns: u32,
    /// Addresses that sent most of the sampled SYNs, the largest first.
    #[serde(default)]
    pub flood_clients: Vec<FloodClient>,
    /// Networks of them: of 24 bits with IPv4, 64 with IPv6.
    #[serde(default)]
    pub flood_networks: Vec<FloodClient>,
    /// Where its packets ended, servers' included.
    pub outcomes: Vec<PacketOutcome>,
    /// Parts of TCP headers that `normalize` removed; only those that it did.
    #[serde(default)]
    pub removals: Vec<HeaderRemoval>,
    /// By server.
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
    /// How many of the sampled SYNs it sent, at least.
    pub syns: u32,
}

/// A server of such a service.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PacketServer {
    /// `POOL/NAME`.
    pub name: String,
    /// Connections under way.
    pub flows: u32,
    /// Connections that chose it.
    pub connections: Counter,
    /// Of these, those that chose without a SYN.
    pub adopted: Counter,
    /// Bytes towards it.
    pub bytes_in: Counter,
    /// Bytes towards clients; 0 where it answers them directly.
    pub bytes_out: Counter,
    /// Where its packets ended.
    pub outcomes: Vec<PacketOutcome>,
}
