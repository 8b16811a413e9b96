//! What the daemon shows: reports, metrics, logs, histories, captures, alarms.

pub(crate) mod access_log;
pub(crate) mod alarms;
pub mod capture;
pub(crate) mod exchange_collector;
pub(crate) mod headroom;
pub mod history;
pub(crate) mod hook;
pub mod metrics;
pub(crate) mod observer;
pub mod report;
pub mod slo;
pub(crate) mod slo_collector;
pub mod slow_exchanges;
pub mod telemetry;
