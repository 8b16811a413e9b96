//! The inputs of forecasts: the traffic, and the machine that carries it.

use std::time::Duration;

use serde::Serialize;

use super::ports::TimeWaitPolicy;
use super::quantity::{BitRate, ByteCount};
use super::wire::Duplex;

/// The traffic of clients.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct TrafficDemand {
    /// Bytes of a request, head included.
    pub request: ByteCount,
    /// Bytes of a response, head included.
    pub response: ByteCount,
    /// Requests of a client's connection; at least 1.
    pub per_connection: f64,
    /// Requests of a connection between the balancer and a server; at least 1. With 1, connections are not reused.
    pub per_server_connection: f64,
    /// How long a client's connection lasts; above 0.
    pub life: Duration,
    /// Round trip to clients; `None`: not stated.
    pub round_trip: Option<Duration>,
}

impl Default for TrafficDemand {
    /// Typical values if nothing is known: small requests, responses of 8 KiB, one request per connection.
    fn default() -> TrafficDemand {
        TrafficDemand {
            request: ByteCount(400.0),
            response: ByteCount(8.0 * 1024.0),
            per_connection: 1.0,
            per_server_connection: 100.0,
            life: Duration::from_secs(1),
            round_trip: None,
        }
    }
}

/// The machine that carries the traffic.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct MachineCapacity {
    /// Processors that this process may use.
    pub processors: u32,
    /// File descriptors that this process may open.
    pub descriptors: u64,
    /// Ports available for connections towards servers, for each source address.
    pub ports: u32,
    /// How long a port is unavailable after the balancer closed a connection.
    pub time_wait: TimeWaitPolicy,
    /// Rate of the link; `None`: not stated.
    pub link: Option<BitRate>,
    /// Whether both directions share the link.
    pub duplex: Duplex,
    /// The largest receive buffer that the kernel grows a connection to.
    pub receive_buffer: ByteCount,
    pub send_buffer: ByteCount,
    /// Processor time of the balancer on this machine; `None`: not measured.
    pub cost: Option<ProcessingCost>,
}

/// Processor time of a proxied exchange, as measured on a machine.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ProcessingCost {
    /// Microseconds of a request with a small response on an open connection.
    pub request_us: f64,
    /// Additional microseconds to open a client's connection, and to close it when the client closes.
    pub connection_us: f64,
    /// Additional microseconds for each KiB of a response.
    pub kibibyte_us: f64,
}

impl ProcessingCost {
    /// Microseconds of processor time for an exchange.
    pub fn exchange_us(self, demand: &TrafficDemand) -> f64 {
        let opening = self.connection_us / demand.per_connection;
        self.request_us + opening + self.kibibyte_us * demand.response.kibibytes()
    }
}
