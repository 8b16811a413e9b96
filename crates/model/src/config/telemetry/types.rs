//! The checked configuration of metrics and telemetry: the Prometheus endpoint, and an OpenTelemetry collector.

use crate::config::event_level::EventLevel;
use serde::Serialize;
use std::net::SocketAddr;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct MetricsConfig {
    pub listen: SocketAddr,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct TelemetryConfig {
    /// The collector's address for OTLP over HTTP.
    pub collector: SocketAddr,
    /// Whether spans are exported and trace context is sent to servers.
    pub traces: bool,
    /// Whether events are exported.
    pub logs: bool,
    /// Events below this level are not exported.
    pub level: EventLevel,
    /// The service name of this process.
    pub name: String,
}
