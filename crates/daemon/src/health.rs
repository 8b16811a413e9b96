//! Server health: active health checks, outlier detection and weights.

pub mod adaptive_balancing;
pub mod health_check;
