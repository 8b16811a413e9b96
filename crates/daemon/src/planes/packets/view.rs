//! The view of the packet plane for status, report, metrics and the weight controller.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use std::time::Instant;

use l4::counts::PlaneCounters;
use l4::flow_samples::SamplingCounters;
use model::flow_samples::FlowDelta;
use model::id::ServerId;

use super::fragmenter::FragmentTotals;
use super::half_open_clients::FloodSources;

/// The packet plane at one moment.
#[derive(Clone, Debug, Default)]
pub struct PacketPlaneView {
    /// Some service forwards packets.
    pub is_wanted: bool,
    /// The configuration was carried out, or rejected with its reason; nothing is pending.
    pub is_settled: bool,
    /// The configuration that the tables carry out.
    pub generation: u64,
    /// Why nothing is forwarded.
    pub last_error: Option<String>,
    /// The tables were there before this process.
    pub is_adopted: bool,
    pub interfaces: Vec<PlaneInterfaceView>,
    /// Services that are not forwarded, and why.
    pub obstacles: BTreeMap<String, String>,
    /// Addresses of services that the kernel may select for outgoing connections, and how to prevent it.
    pub sources: BTreeMap<IpAddr, String>,
    /// How things stand with the next hop of each server.
    pub hops: BTreeMap<IpAddr, NextHopView>,
    /// Connections by service and server, from the last sweep.
    pub flows: BTreeMap<String, ServiceFlows>,
    /// Indexes of services in the maps, by name.
    pub services: BTreeMap<String, u32>,
    /// Load of servers over all services.
    pub loads: HashMap<ServerId, ServerFlowLoad>,
    /// Bytes that the tables take.
    pub memory: u64,
    pub flow_samples: FlowSampleView,
    /// Packets to be fragmented, by result.
    pub fragments: FragmentTotals,
    pub current: Option<PlaneCounterSample>,
    /// Counters a while ago.
    pub previous: Option<PlaneCounterSample>,
    /// Counters at the start of this process.
    pub first: Option<PlaneCounterSample>,
}

/// The state of a server's next hop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextHopView {
    pub state: String,
    /// Why the plane sends nothing there.
    pub reason: Option<String>,
}

/// Counters and when they were read.
#[derive(Clone, Debug)]
pub struct PlaneCounterSample {
    pub at: Instant,
    pub counts: PlaneCounters,
}

/// What a read of the connection samples found.
#[derive(Clone, Debug)]
pub struct FlowSampleReading {
    /// What changed since the read before.
    pub deltas: Vec<FlowDelta>,
    pub view: FlowSampleView,
}

/// The state of sampling.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowSampleView {
    /// One connection in this many; `None`: none.
    pub sample: Option<u32>,
    /// Connections that are watched now.
    pub watched: usize,
    /// Selected connections by result, since the tables were made.
    pub outcomes: SamplingCounters,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaneInterfaceView {
    pub name: String,
    /// `native` or `generic`; none when it is not attached.
    pub mode: Option<&'static str>,
    /// Why it is not; of one that is attached, why not in its driver, or that frames are lost there.
    pub last_error: Option<String>,
}

/// Connections of one service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServiceFlows {
    pub flows: u32,
    /// Without a complete handshake.
    pub half_open: u32,
    /// The alarm for half-open connections is raised.
    pub alarm: bool,
    /// Who floods, while the alarm is raised.
    pub flood_sources: FloodSources,
    pub servers: Vec<ServerFlows>,
    /// Ports of return addresses by server and protocol.
    pub ports: Vec<ReturnPorts>,
    /// Indexes of all servers with packets of this service, including draining ones.
    pub indexes: BTreeSet<u32>,
}

/// Connections of one server of a service.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ServerFlows {
    pub pool: String,
    pub name: String,
    /// Its index in the maps.
    pub index: u32,
    pub flows: u32,
}

/// Ports of a server's return addresses; with clients' own addresses, places for their connections.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReturnPorts {
    pub pool: String,
    pub name: String,
    pub protocol: u8,
    /// Servers see the client's own address.
    pub keeps_client_address: bool,
    /// Indexes of their shares in the maps: who has the same ones has the same ports.
    pub shares: Vec<u32>,
    /// In use, including resting ones.
    pub used: u64,
    pub total: u64,
}

/// The load of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerFlowLoad {
    pub flows: u32,
    /// Connections that chose it since this process began.
    pub opened: u64,
    /// Clients with affinity to it while it drains; `None`: not counted.
    pub sticky_clients: Option<u32>,
}
