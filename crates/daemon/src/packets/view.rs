//! What the packet plane shows of itself to status, report and metrics. Facts only.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Instant;

use l4::counts::Counts;

/// The packet plane at one moment.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// Some service forwards packets.
    pub wanted: bool,
    /// Why nothing is forwarded at all.
    pub broken: Option<String>,
    /// The tables were there before this process.
    pub adopted: bool,
    /// Where packets are taken.
    pub interfaces: Vec<InterfaceView>,
    /// Services that are not forwarded, and why.
    pub obstacles: BTreeMap<String, String>,
    /// How things stand with the next hop of each server.
    pub hops: BTreeMap<IpAddr, (String, Option<String>)>,
    /// Connections by service and server, from the last sweep.
    pub flows: BTreeMap<String, ServiceFlows>,
    /// Indexes of services in the maps, by name.
    pub services: BTreeMap<String, u32>,
    /// Bytes that the tables take.
    pub memory: u64,
    /// Counters now.
    pub now: Option<Sample>,
    /// Counters a while ago.
    pub before: Option<Sample>,
}

/// Counters and when they were read.
#[derive(Clone, Debug)]
pub struct Sample {
    /// When.
    pub at: Instant,
    /// What.
    pub counts: Counts,
}

/// Where packets are taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterfaceView {
    /// Its name.
    pub name: String,
    /// `native` or `generic`; none when it is not attached.
    pub mode: Option<&'static str>,
    /// Why it is not.
    pub problem: Option<String>,
}

/// Connections of one service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServiceFlows {
    /// Under way.
    pub flows: u32,
    /// Without a complete handshake.
    pub half_open: u32,
    /// At or above the alarm's threshold.
    pub alarm: bool,
    /// By server: pool, name, index in the maps, flows.
    pub servers: Vec<(String, String, u32, u32)>,
}
