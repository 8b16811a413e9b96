//! Counters and gauges in the OpenMetrics text format, encoded from the live slots at the moment of asking.
//!
//! No second copy is kept: what is removed from the configuration disappears, what stays never goes backwards.
//! Rates and quantiles are the reader's; `report` has them for people.

mod capture;
mod certificates;
mod earlier_names;
mod error_origins;
mod family;
mod gzip;
mod handshake_groups;
mod heartbeat;
mod insight;
mod links;
pub mod listen;
mod names;
mod packets;
mod pool;
mod process;
mod rule;
mod server;
mod service;
mod service_causes;
mod service_phases;
mod slo;
mod slow;
mod telemetry;
#[cfg(test)]
mod tests;
mod uplinks;
mod vrrp;

use std::sync::Arc;

use model::snapshot::{PoolView, ServiceView, WorkerSnapshot};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, text::encode};
use prometheus_client::registry::Registry;

use crate::observability::report::report_sources::ProcessFacts;

/// The answer's content type (OpenMetrics 1.0).
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Everything a scrape shows.
#[derive(Debug)]
pub struct ScrapeInput {
    /// The snapshot that workers use.
    pub snapshot: Arc<WorkerSnapshot>,
    /// Facts about the process.
    pub facts: ProcessFacts,
    /// The moment on the workers' clock (`model::breaker::clock`).
    pub now: u64,
}

/// The scrape as text, with renamed metrics under their earlier names too.
///
/// # Errors
/// Only when a label cannot be formatted, which no name that the configuration takes can cause.
pub fn encode_metrics(scrape: ScrapeInput) -> Result<String, std::fmt::Error> {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(scrape));
    let mut out = String::new();
    encode(&mut out, &registry)?;
    Ok(earlier_names::add_earlier_names(&out))
}

impl Collector for ScrapeInput {
    fn encode(&self, mut to: DescriptorEncoder) -> Result<(), std::fmt::Error> {
        process::encode(&self.facts, self.snapshot.generation, &mut to)?;
        let services = services(&self.snapshot);
        service::encode(&services, &mut to)?;
        slow::encode(&services, &self.facts.slow_exchanges, &mut to)?;
        slo::encode(&services, &self.facts.slo, &mut to)?;
        rule::encode(&services, &mut to)?;
        let pools = pools(&self.snapshot);
        pool::encode(&pools, self.now, &mut to)?;
        server::encode(&pools, &mut to)?;
        packets::encode(&self.facts.packets, &mut to)?;
        insight::encode(&services, &self.facts.flow_samples, &self.facts.packets, &mut to)?;
        capture::encode(self.facts.captures, &mut to)?;
        telemetry::encode(self.facts.telemetry, &mut to)?;
        certificates::encode(&self.facts, &mut to)?;
        vrrp::encode(&self.facts.vrrp, &mut to)?;
        heartbeat::encode(&self.facts.vrrp, &mut to)?;
        links::encode(&self.facts.links, &mut to)?;
        uplinks::encode(&self.facts.uplinks, &mut to)?;
        names::encode(&self.facts.names, &mut to)
    }
}

/// By name, so that two scrapes read alike.
fn services(snapshot: &WorkerSnapshot) -> Vec<&ServiceView> {
    let mut all: Vec<_> = snapshot.services.values().map(Arc::as_ref).collect();
    all.sort_by(|a, b| a.config.name.cmp(&b.config.name));
    all
}

fn pools(snapshot: &WorkerSnapshot) -> Vec<&PoolView> {
    let mut all: Vec<_> = snapshot.pools.values().map(Arc::as_ref).collect();
    all.sort_by(|a, b| a.config.name.cmp(&b.config.name));
    all
}
