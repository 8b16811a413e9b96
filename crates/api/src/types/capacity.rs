//! What the configuration will carry, by what was measured of its own traffic, and how much of that is used.

use serde::{Deserialize, Serialize};

/// Answer of `GET /v1/capacity`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Capacity {
    /// Now.
    pub now_unix_ms: u64,
    /// Rates are those of so long.
    pub interval_ms: u64,
    /// What carries it.
    pub machine: CapacityMachine,
    /// Services by name, each forecast as if alone.
    pub services: Vec<CapacityService>,
}

/// This machine, as far as forecasts need it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct CapacityMachine {
    /// Processors that the daemon may use.
    pub processors: u32,
    /// Descriptors that it may open.
    pub descriptors: u64,
    /// Ports that the kernel gives connections towards servers, for each address.
    pub ports: u32,
    /// Processor time of everything that the daemon did, divided by the requests that it carried, microseconds; absent:
    /// they were too few to tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_us: Option<f64>,
}

/// A service.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct CapacityService {
    /// Its name.
    pub name: String,
    /// How it forwards.
    pub forward: String,
    /// What it carries now.
    #[serde(alias = "carries")]
    pub demand: CapacityDemand,
    /// Limits, the one that will be met first first.
    pub limits: Vec<CapacityLimit>,
}

/// What a service carries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct CapacityDemand {
    /// Measured of its own traffic; not: it has carried nothing yet, and what is usual stands here.
    pub measured: bool,
    /// Requests a second; connections, where packets or bytes are forwarded.
    pub requests_per_second: f64,
    /// Connections of clients a second.
    pub connections_per_second: f64,
    /// Bytes of a request, head included.
    pub request_bytes: f64,
    /// Bytes of an answer, head included.
    pub response_bytes: f64,
    /// Requests of a client's connection.
    #[serde(alias = "per-connection")]
    pub requests_per_connection: f64,
    /// Requests of a connection to a server.
    #[serde(alias = "per-server-connection")]
    pub requests_per_server_connection: f64,
    /// How long a client's connection lasts.
    #[serde(alias = "life-ms")]
    pub connection_duration_ms: f64,
}

/// A limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct CapacityLimit {
    /// `ports`, `flows`, `connections`, `descriptors`, `bandwidth`, `processors` and others.
    pub kind: String,
    /// Requests a second at which it is met.
    pub requests_per_second: f64,
    /// Connections of clients a second at which it is met.
    pub connections_per_second: f64,
    /// How much of it is used now.
    pub used_percent: f64,
    /// The arithmetic.
    #[serde(alias = "because")]
    pub reason: String,
    /// What raises it.
    #[serde(alias = "change")]
    pub advice: String,
}
