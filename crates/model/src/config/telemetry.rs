//! The OpenTelemetry collector.

mod build;
mod keys;
mod types;

pub(super) use build::build_telemetry;
pub(super) use keys::TELEMETRY;
pub use types::{MetricsConfig, TelemetryConfig};
