//! The options of `steelyard agent`.
//!
//! They are used in `agent/serve.rs`.

use std::net::SocketAddr;
use std::time::Duration;

use model::config::unit::Time;

use super::sample::LoadMetric;
use super::script::LoadScript;

/// Report the load of this machine to balancers.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
The balancer requests it with `agent = \"text\"` (port 9707) or `agent = { kind = \"orca\", port = 9708 }`
in its pool.
HAProxy's `agent-check agent-port 9707` understands the line too.

Examples:
  steelyard agent                                  on ports 9707 (line) and 9708 (HTTP)
  steelyard agent --metrics cpu,memory             load is the higher of both
  steelyard agent --script queue=/opt/queue-share  a program that prints 0 to 100 counts too
  steelyard agent --once                           print the report, and end
  curl http://localhost:9708/                      everything as JSON; /orca as a load report")]
pub struct AgentArgs {
    /// Where to serve the text line, such as `58% up`: the share of its capacity that this machine
    /// has free.
    #[arg(long = "text", value_name = "ADDRESS:PORT", default_value = "0.0.0.0:9707")]
    pub line: SocketAddr,
    /// Where to serve HTTP: `/` as JSON, `/orca` as ORCA, `/line` as the text line.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "0.0.0.0:9708")]
    pub http: SocketAddr,
    /// What counts as load: the highest of these values. Scripts always count.
    #[arg(
        long = "metrics",
        value_name = "METRICS",
        value_delimiter = ',',
        default_value = "cpu,run-queue"
    )]
    pub count: Vec<LoadMetric>,
    /// A program that prints a number from 0 to 100 on its first line.
    #[arg(long, value_name = "NAME=PROGRAM")]
    pub script: Vec<LoadScript>,
    /// Time between two measurements.
    #[arg(long = "interval", value_name = "TIME", default_value = "1s", value_parser = every)]
    pub every: Duration,
    /// Measure once, print the report as JSON, and end.
    #[arg(long)]
    pub once: bool,
}

fn every(text: &str) -> Result<Duration, String> {
    let Time(time) = text.parse().map_err(|error| format!("{error}"))?;
    // Below 100 ms the counters of /proc, in ticks of 10 ms, are too coarse. A minute is the longest useful age of a
    // load.
    let bounds = Duration::from_millis(100)..=Duration::from_secs(60);
    if bounds.contains(&time) { Ok(time) } else { Err("expected 100ms to 1m".to_owned()) }
}
