//! What was measured: connections a second for return addresses and a closing time, and forwarding methods under load.

use std::collections::BTreeMap;

/// A row of Table 1 as it was measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CapacityRow {
    pub addresses: u32,
    /// How long a port rests, seconds.
    pub closing: f64,
    /// Ports of each return address.
    pub ports: Vec<u32>,
    /// Connections a second that these allow.
    pub allowed: f64,
    /// Connections a second that were tried.
    pub offered: f64,
    /// Connections a second that were answered.
    pub rate: f64,
    /// Connections that were not opened in time: those without a port among them.
    pub no_port: u64,
    /// All that failed, by cause.
    pub failed: Vec<(String, u64)>,
    /// Share of a processor that the busiest thread of the generator used.
    pub generator_busy: f64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct CapacityMeasurements {
    /// The rows of Table 1.
    pub rows: Vec<CapacityRow>,
    pub methods: Vec<MethodRuns>,
}

/// How a connection is forwarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForwardingMethod {
    /// With another link address.
    Mac,
    Nat,
    /// As requests, held against so many rules.
    Content(u32),
}

/// A forwarding method and its turns, of which there is at least one.
#[derive(Clone, Debug, PartialEq)]
pub struct MethodRuns {
    pub method: ForwardingMethod,
    /// One after the other.
    pub runs: Vec<MethodRun>,
}

/// A forwarding method under load.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MethodRun {
    /// Connections a second, each with one request.
    pub rate: f64,
    /// Half were answered within this, microseconds.
    pub latency_us: f64,
    /// Processor time of the whole machine for each, microseconds.
    pub machine_us: f64,
    /// Of the balancer's process for each, microseconds.
    pub process_us: f64,
    /// Connections that failed, by cause.
    pub failed: BTreeMap<String, u64>,
}

impl MethodRuns {
    /// A figure of each turn.
    pub fn figures(&self, of: fn(&MethodRun) -> f64) -> Vec<f64> {
        self.runs.iter().map(of).collect()
    }

    /// Connections that failed in all turns, by cause.
    pub fn failed(&self) -> BTreeMap<&str, u64> {
        let mut out = BTreeMap::new();
        for (cause, count) in self.runs.iter().flat_map(|turn| &turn.failed) {
            *out.entry(cause.as_str()).or_default() += count;
        }
        out
    }
}

impl ForwardingMethod {
    /// What it is called.
    pub fn name(self) -> String {
        match self {
            ForwardingMethod::Mac => "mac".to_owned(),
            ForwardingMethod::Nat => "nat".to_owned(),
            ForwardingMethod::Content(1) => "http, 1 rule".to_owned(),
            ForwardingMethod::Content(rules) => format!("http, {rules} rules"),
        }
    }
}
