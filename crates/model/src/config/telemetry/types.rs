//! What others are shown of this process without asking the API: the Prometheus endpoint, and a collector that is told.

use serde::Serialize;
use std::net::SocketAddr;

/// The Prometheus endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct MetricsConfig {
    /// Where it listens.
    pub listen: SocketAddr,
}

/// A collector of OpenTelemetry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct TelemetryConfig {
    /// Where it takes OTLP over HTTP.
    pub collector: SocketAddr,
    /// It is sent spans, and servers are told of traces.
    pub traces: bool,
    /// It is sent events.
    pub logs: bool,
    /// What this process is called.
    pub name: String,
}
