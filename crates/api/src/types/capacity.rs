//! What the configuration will carry, by what was measured of its own traffic, and how much of that is used.

use serde::{Deserialize, Serialize};

/// Answer of `GET /v1/capacity`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Capacity {
    /// Time of this answer.
    pub now_unix_ms: u64,
    /// Interval of the rates, milliseconds.
    pub interval_ms: u64,
    /// Resources of the machine.
    pub machine: CapacityMachine,
    /// Forecasts by service, each as if it were the only one.
    pub services: Vec<CapacityService>,
}

/// This machine, as far as forecasts need it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct CapacityMachine {
    /// Processors that the daemon may use.
    pub processors: u32,
    /// Limit of open file descriptors.
    pub descriptors: u64,
    /// Ephemeral ports for connections to servers, per source address.
    pub ports: u32,
    /// Processor time of the daemon per request, microseconds; absent: too few requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_us: Option<f64>,
}

/// A service.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct CapacityService {
    /// Name of the service.
    pub name: String,
    /// Forwarding method.
    pub forward: String,
    /// Current traffic.
    #[serde(alias = "carries")]
    pub demand: CapacityDemand,
    /// Limits, the one that is reached first at the top.
    pub limits: Vec<CapacityLimit>,
}

/// What a service carries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct CapacityDemand {
    /// Whether the figures were measured. If not, the service had no traffic yet, and they are typical values.
    pub measured: bool,
    /// Requests per second; connections per second for `tcp` and packet services.
    pub requests_per_second: f64,
    /// New client connections per second.
    pub connections_per_second: f64,
    /// Mean bytes of a request, with its headers.
    pub request_bytes: f64,
    /// Mean bytes of a response, with its headers.
    pub response_bytes: f64,
    /// Mean requests of a client connection.
    #[serde(alias = "per-connection")]
    pub requests_per_connection: f64,
    /// Mean requests of a connection to a server.
    #[serde(alias = "per-server-connection")]
    pub requests_per_server_connection: f64,
    /// Mean duration of a client connection, milliseconds.
    #[serde(alias = "life-ms")]
    pub connection_duration_ms: f64,
}

/// A limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct CapacityLimit {
    /// The limited resource: `ports`, `flows`, `connections`, `descriptors`, `bandwidth`, `processors` and others.
    pub kind: String,
    /// Requests per second at the limit.
    pub requests_per_second: f64,
    /// New client connections per second at the limit.
    pub connections_per_second: f64,
    /// Current use, percent of the limit.
    pub used_percent: f64,
    /// The calculation.
    #[serde(alias = "because")]
    pub reason: String,
    /// How to raise the limit.
    #[serde(alias = "change")]
    pub advice: String,
}
