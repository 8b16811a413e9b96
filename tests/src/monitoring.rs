//! Inputs of a monitoring system: rules, dashboard and their expressions, and the metrics of a scrape, of the reference
//! page and of the source. `tests/monitoring.rs` compares them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests, which may fail")]

pub mod known;
pub mod promql;
pub mod yaml;
