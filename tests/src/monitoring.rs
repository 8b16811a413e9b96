//! What a monitoring system is given: the rules and the dashboard read, the expressions in them, and the metrics that
//! a scrape, the page about them and the source know. It judges nothing: `tests/monitoring.rs` does.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests, which may fail")]

pub mod known;
pub mod promql;
pub mod yaml;
