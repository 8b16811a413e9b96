//! The figures of a method, as a line of the table and as JSON.
//!
//! It measures nothing.

use std::time::Duration;

use lab::load::{ConnectionReuse, LoadReport};
use serde::Serialize;

use super::method::DemoMethod;
use crate::show::unit::{count, micros, rate};

/// Reused connections, then one connection for each request.
pub const PERSISTS: [ConnectionReuse; 2] =
    [ConnectionReuse::KeepAlive, ConnectionReuse::PerRequest];

/// One measurement.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct MethodMeasurement {
    /// The method.
    pub method: DemoMethod,
    /// Whether connections served many requests.
    pub kept: bool,
    /// Requests answered.
    pub answered: u64,
    /// Requests failed.
    pub failed: u64,
    /// Answered requests a second.
    pub per_second: f64,
    /// Processor time of the whole machine for each answered request, microseconds: client and servers included.
    pub cpu_us: Option<f64>,
    /// Half of the answers took at most so long, microseconds.
    pub p50_us: u64,
    /// 99 % took at most so long, microseconds.
    pub p99_us: u64,
    /// Packets that the packet plane sent on meanwhile, as far as it had counted.
    pub forwarded_packets: u64,
}

impl MethodMeasurement {
    /// From a finished load and the machine's activity meanwhile.
    pub fn new(
        method: DemoMethod,
        persist: ConnectionReuse,
        report: &LoadReport,
        busy: Option<Duration>,
        forwarded_packets: u64,
    ) -> MethodMeasurement {
        let each = |busy: Duration| busy.as_secs_f64() * 1e6 / report.answered as f64;
        MethodMeasurement {
            method,
            kept: persist == ConnectionReuse::KeepAlive,
            answered: report.answered,
            failed: report.failed,
            per_second: report.answered_per_second,
            cpu_us: busy.filter(|_| report.answered > 0).map(each),
            p50_us: report.latency.p50_us as u64,
            p99_us: report.latency.p99_us as u64,
            forwarded_packets,
        }
    }

    pub fn render_row(&self) -> String {
        let connections = if self.kept { "kept" } else { "one each" };
        let cpu = self.cpu_us.map_or("-".to_owned(), |us| format!("{us:.1} us"));
        format!(
            "{:<8}{:<12}{:>12}{:>14}{:>10}{:>10}{:>12}{:>8}\n",
            self.method.name(),
            connections,
            rate(self.per_second),
            cpu,
            micros(self.p50_us),
            micros(self.p99_us),
            count(self.forwarded_packets),
            count(self.failed)
        )
    }
}

pub fn render_head() -> String {
    format!(
        "a client, a router, the balancer and four servers in namespaces of this machine\n\n\
         {:<8}{:<12}{:>12}{:>14}{:>10}{:>10}{:>12}{:>8}\n",
        "forward", "connections", "requests/s", "CPU/request", "p50", "p99", "packets", "failed"
    )
}

/// The interpretation of the figures.
pub fn render_foot(failed: u64) -> String {
    format!(
        "\nCPU/request is the whole machine's, client and servers included; direct is without a balancer, so that\n\
         what a method costs is its difference to direct. packets are those that the packet plane sent on. failed requests: {}\n",
        count(failed)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_stand_under_their_headings() {
        let row = MethodMeasurement {
            method: DemoMethod::Tunnel,
            kept: false,
            answered: 1,
            failed: 0,
            per_second: 23_456.0,
            cpu_us: Some(41.27),
            p50_us: 310,
            p99_us: 2_400,
            forwarded_packets: 184_000,
        };
        let head = render_head();
        let columns = head.lines().last().unwrap();
        let line = row.render_row();
        assert_eq!(
            line.trim_end(),
            "tunnel  one each          23,456       41.3 us    310 us    2.4 ms     184,000       0"
        );
        assert_eq!(line.trim_end().len(), columns.len());
    }
}
