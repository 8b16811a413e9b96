//! The view of uplinks, for `status` and metrics. The thread publishes it.

use std::net::IpAddr;
use std::time::Duration;

use links::uplink::datapath::UplinkCounters;

#[derive(Clone, Debug, Default)]
pub struct UplinksView {
    /// One for each family of each uplink, by name.
    pub paths: Vec<UplinkPathView>,
    /// Rules and programs that could not be installed, in sentences.
    pub errors: Vec<String>,
    /// The first of the rules.
    pub first_rule: u32,
}

/// An uplink in one family.
#[derive(Clone, Debug)]
pub struct UplinkPathView {
    pub name: String,
    pub v6: bool,
    pub interface: String,
    pub gateway: IpAddr,
    /// The source address of packets that leave by it.
    pub source: Option<IpAddr>,
    /// New connections may take it.
    pub up: bool,
    /// Why, in a sentence.
    pub reason: String,
    pub weight: u16,
    pub priority: u8,
    /// Of new connections, 0–1.
    pub share: f64,
    /// The least of the last round trips to a target.
    pub round_trip: Option<Duration>,
    /// Of the last questions, the share without an answer.
    pub loss: f64,
    pub table: u32,
    pub mark: u32,
    /// Connections of both families.
    pub counts: UplinkCounters,
}
