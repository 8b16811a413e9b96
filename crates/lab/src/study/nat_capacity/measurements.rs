//! The measurements: connection rates by return addresses and closing time, and forwarding methods under load.

use std::collections::BTreeMap;

/// A measured row of Table 1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CapacityRow {
    pub addresses: u32,
    /// How long a port is unavailable after close, seconds.
    pub closing: f64,
    /// Ports of each return address.
    pub ports: Vec<u32>,
    /// Connections a second that the ports allow.
    pub allowed: f64,
    /// Connections a second that the load generator tried.
    pub offered: f64,
    /// Connections a second whose request was answered.
    pub rate: f64,
    /// Connections that were not established in time, including those without a free port.
    pub no_port: u64,
    /// All failed connections, by cause.
    pub failed: BTreeMap<String, u64>,
    /// Processor share of the load generator's busiest thread.
    pub generator_busy: f64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct CapacityMeasurements {
    pub rows: Vec<CapacityRow>,
    pub methods: Vec<MethodRuns>,
}

/// How a connection is forwarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForwardingMethod {
    /// By rewriting the destination link address.
    Mac,
    Nat,
    /// At HTTP level, with this many rules to match.
    Content(u32),
}

/// A forwarding method and its runs, at least one.
#[derive(Clone, Debug, PartialEq)]
pub struct MethodRuns {
    pub method: ForwardingMethod,
    pub runs: Vec<MethodRun>,
}

/// A forwarding method under load.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MethodRun {
    /// Connections a second, each with one request.
    pub rate: f64,
    /// Median latency, microseconds.
    pub latency_us: f64,
    /// Processor time of the whole machine per connection, microseconds.
    pub machine_us: f64,
    /// Processor time of the balancer's process per connection, microseconds.
    pub process_us: f64,
    /// Connections that failed, by cause.
    pub failed: BTreeMap<String, u64>,
}

impl MethodRuns {
    /// One figure of every run.
    pub fn figures(&self, of: fn(&MethodRun) -> f64) -> Vec<f64> {
        self.runs.iter().map(of).collect()
    }

    /// Failed connections of all runs, by cause.
    pub fn failed(&self) -> BTreeMap<&str, u64> {
        let mut out = BTreeMap::new();
        for (cause, count) in self.runs.iter().flat_map(|turn| &turn.failed) {
            *out.entry(cause.as_str()).or_default() += count;
        }
        out
    }
}

impl ForwardingMethod {
    pub fn name(self) -> String {
        match self {
            ForwardingMethod::Mac => "mac".to_owned(),
            ForwardingMethod::Nat => "nat".to_owned(),
            ForwardingMethod::Content(1) => "http, 1 rule".to_owned(),
            ForwardingMethod::Content(rules) => format!("http, {rules} rules"),
        }
    }
}
