//! The end of the demonstration as text and JSON. Pure.
//!
//! One number decides the exit code: failed requests.

use std::collections::BTreeMap;

use serde::Serialize;

use super::event_log::{DemoEvent, DemoEventKind, DemoLog};
use super::snapshot::DemoSnapshot;
use crate::outcome::CommandOutcome;
use crate::show::unit::{count, micros};

/// The summary of the whole demonstration.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct DemoSummary {
    /// How long the load lasted.
    pub seconds: f64,
    /// Requests and echoed messages.
    pub requests: u64,
    /// Of those, answered.
    pub answered: u64,
    /// Of those, failed.
    pub failed_requests: u64,
    /// Failed by cause.
    pub failed_by_cause: BTreeMap<&'static str, u64>,
    /// Neither answered nor failed when the load ended.
    pub in_flight: u64,
    /// Attempts of the balancer after the first, and replays.
    pub retried: u64,
    /// By service.
    pub services: Vec<ServiceSummary>,
    /// By server.
    pub servers: Vec<ServerSummary>,
    /// The operations and their effects.
    pub events: Vec<DemoEvent>,
}

/// One service.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ServiceSummary {
    /// Its name.
    pub name: &'static str,
    /// `http` or `tcp`.
    pub forward: &'static str,
    /// Answered.
    pub answered: u64,
    /// Half took at most so many microseconds, from their intended start.
    pub p50_us: u64,
    /// 99 % did.
    pub p99_us: u64,
}

/// One server.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ServerSummary {
    /// `POOL/NAME`.
    pub name: String,
    /// Requests or connections that it was given.
    pub requests: u64,
    /// Of those, ended other than well at this server.
    pub failures: u64,
}

impl DemoSummary {
    /// Of the last look.
    pub fn from_log(look: &DemoSnapshot, chronicle: &DemoLog) -> DemoSummary {
        let mut failed_by_cause = BTreeMap::new();
        for (cause, n) in look.clients.iter().flat_map(|clients| &clients.report.failed_by_cause) {
            *failed_by_cause.entry(*cause).or_default() += n;
        }
        let services = look.clients.iter().map(|clients| ServiceSummary {
            name: clients.service,
            forward: clients.forward,
            answered: clients.report.answered,
            p50_us: clients.report.latency.p50_us as u64,
            p99_us: clients.report.latency.p99_us as u64,
        });
        let servers = look.servers.iter().map(|server| ServerSummary {
            name: server.name.clone(),
            requests: server.requests,
            failures: server.failures,
        });
        DemoSummary {
            seconds: (look.at.as_secs_f64() * 10.0).round() / 10.0,
            requests: look.requests(),
            answered: look.clients.iter().map(|clients| clients.report.answered).sum(),
            failed_requests: look.failed(),
            failed_by_cause,
            in_flight: look.clients.iter().map(|clients| clients.report.in_flight).sum(),
            retried: look.retried,
            services: services.collect(),
            servers: servers.collect(),
            events: chronicle.events().cloned().collect(),
        }
    }

    pub fn outcome(&self) -> CommandOutcome {
        if self.failed_requests == 0 { CommandOutcome::Done } else { CommandOutcome::Negative }
    }

    pub fn render(&self) -> String {
        let mut out = format!("{:.1} s of load\n", self.seconds);
        for service in &self.services {
            out.push_str(&format!(
                "  {} ({}): {} answered, p50 {}, p99 {}\n",
                service.name,
                service.forward,
                count(service.answered),
                micros(service.p50_us),
                micros(service.p99_us)
            ));
        }
        let shares = self.servers.iter().map(|one| format!("{} {}", one.name, count(one.requests)));
        out.push_str(&format!("  by server: {}\n", shares.collect::<Vec<_>>().join(", ")));
        if !self.events.is_empty() {
            out.push_str("what was done\n");
        }
        for event in &self.events {
            out.push_str(event.describe().trim_end());
            if event.kind == DemoEventKind::Drained && event.effect_ms.is_some() {
                out.push_str(&format!(", {} requests since", count(event.requests_after)));
            }
            out.push('\n');
        }
        out.push_str(&format!("tried again by the balancer: {}\n", count(self.retried)));
        if self.in_flight > 0 {
            out.push_str(&format!("still in flight: {}\n", count(self.in_flight)));
        }
        out.push_str(&format!("failed requests: {}\n", count(self.failed_requests)));
        for (cause, n) in &self.failed_by_cause {
            out.push_str(&format!("  {cause}: {}\n", count(*n)));
        }
        out
    }
}
