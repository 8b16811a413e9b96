//! The capacity of this machine for a load generator, and the limits that a plan will reach or a run has reached.
//!
//! A limit of the client must never be reported as one of the server. It reads no files.

use std::collections::BTreeMap;
use std::time::Duration;

use model::capacity::ports::{
    LINUX_TIME_WAIT, TimeWaitPolicy, is_loopback, ports_in_range, sustained_rate,
};

use crate::load::{ClosingSide, ConnectionReuse, FailureCause, LoadModel, LoadPlan, LoadReport};
use crate::result_note::{NoteSeverity, ResultNote};

/// The source ports that the kernel gives to connections (net.ipv4.ip_local_port_range).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LocalPortRange {
    pub first: u16,
    pub last: u16,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MachineFacts {
    pub host: String,
    pub kernel: String,
    pub processor: String,
    /// Processors that this process may use.
    pub processors: u32,
    /// Limit for open descriptors of this process.
    pub descriptors: u64,
    /// Descriptors that this process has open.
    pub open: u64,
    pub ports: LocalPortRange,
    pub time_wait: u64,
    /// The largest send buffer to which the kernel grows a connection's, bytes.
    pub send_buffer: u64,
    /// The largest receive buffer to which the kernel grows a connection's, bytes.
    pub receive_buffer: u64,
    /// Kernel settings that affect measurements, by name.
    pub sysctls: BTreeMap<String, String>,
}

impl MachineFacts {
    /// How long the ports of connections closed on this side are unavailable.
    pub fn time_wait_period(&self) -> TimeWaitPolicy {
        let number = |name: &str| self.sysctls.get(name)?.parse().ok();
        TimeWaitPolicy::from_sysctls(
            number("net.ipv4.tcp_tw_reuse"),
            number("net.ipv4.tcp_timestamps"),
            number("net.ipv4.tcp_tw_reuse_delay"),
        )
    }
}

/// The limits that a plan will reach on this machine.
pub fn forecast_limits(facts: &MachineFacts, plan: &LoadPlan) -> Vec<ResultNote> {
    let mut notes = Vec::new();
    let connections = plan.connections() as u64;
    let free = facts.descriptors.saturating_sub(facts.open + SPARE);
    if connections > free {
        let text = format!(
            "{connections} connections need as many descriptors, and {free} are free: expect {}; raise the limit \
             (ulimit -n {})",
            FailureCause::NoResource.name(),
            connections + facts.open + SPARE
        );
        notes.push(ResultNote { weight: NoteSeverity::ClientLimit, text });
    }
    let ports = port_count(facts);
    let sources = plan.sources.len().max(1) as u32;
    if connections > u64::from(ports) * u64::from(sources) {
        let text = format!(
            "{connections} connections to one address need as many ports, and {sources} source addresses have {ports} \
             each: give more with --from, or widen net.ipv4.ip_local_port_range"
        );
        notes.push(ResultNote { weight: NoteSeverity::ClientLimit, text });
    }
    notes.extend(ports_over_time(facts, plan, ports, sources));
    if plan.threads > facts.processors as usize {
        let text = format!("{} threads share {} processors", plan.threads, facts.processors);
        notes.push(ResultNote { weight: NoteSeverity::Hint, text });
    }
    notes
}

/// Whether ports in TIME_WAIT will run out, if this side closes connections.
fn ports_over_time(
    facts: &MachineFacts,
    plan: &LoadPlan,
    ports: u32,
    sources: u32,
) -> Option<ResultNote> {
    let ours = matches!(
        plan.persist,
        ConnectionReuse::PerRequest | ConnectionReuse::ClosedBy(ClosingSide::Client)
    );
    if !ours {
        return None;
    }
    let rest = facts.time_wait_period().port_rest_time(is_loopback(plan.target.ip()));
    let rate = sustained_rate(ports, sources, Duration::ZERO, rest).0;
    let stock = u64::from(ports) * u64::from(sources);
    let wanted = match (plan.pace, plan.requests) {
        (LoadModel::Open { per_second, .. }, None) => {
            let time = plan.time.unwrap_or(Duration::MAX).min(rest);
            per_second * time.as_secs_f64()
        }
        (LoadModel::Open { per_second, .. }, Some(requests)) => {
            (requests as f64).min(per_second * rest.as_secs_f64())
        }
        (LoadModel::Closed { .. }, Some(requests)) => requests as f64,
        (LoadModel::Closed { .. }, None) => f64::INFINITY,
    };
    // Existing TIME_WAIT sockets count only if they last the full time. How many of them lead to this target is
    // unknown.
    let resting = if rest < LINUX_TIME_WAIT { 0 } else { facts.time_wait };
    let enough = wanted + resting as f64 <= stock as f64;
    let text = format!(
        "ports of connections that are closed from here rest {} s in TIME_WAIT: {ports} ports × {sources} source addresses \
         sustain {rate:.0} connections a second to one address (a burst of {stock} before); use --close reset or \
         --close server, more addresses with --from, or a wider net.ipv4.ip_local_port_range",
        rest.as_secs_f64()
    );
    (!enough).then_some(ResultNote { weight: NoteSeverity::Hint, text })
}

/// The limits of the generator during a run, which make its figures a lower bound for the target.
///
/// `busiest`: the largest processor share of one of its threads in a second, 0 to 1.
pub fn generator_limits(
    facts: &MachineFacts,
    plan: &LoadPlan,
    report: &LoadReport,
    busiest: f64,
) -> Vec<ResultNote> {
    let mut notes = Vec::new();
    let mut limit =
        |text: String| notes.push(ResultNote { weight: NoteSeverity::ClientLimit, text });
    let starved = report.count(FailureCause::NoResource);
    if starved > 0 {
        limit(format!(
            "{starved} requests failed because this machine had no source port, descriptor or memory left ({} ports, {} \
             descriptors): they say nothing about the target",
            port_count(facts),
            facts.descriptors
        ));
    }
    if busiest > SATURATED {
        limit(format!(
            "a thread of the generator used {:.0} % of a processor: the target may be faster than measured; use more \
             --threads, or another machine",
            busiest * 100.0
        ));
    }
    let late = report.lag.p99_us;
    if matches!(plan.pace, LoadModel::Open { .. })
        && late > LATE_START_US.max(report.latency.p50_us)
    {
        limit(format!(
            "one in a hundred requests started {:.1} ms late or later because this program was not run in time: latencies \
             hold that wait; lower the rate, or leave the generator a processor of its own",
            late / 1e3
        ));
    }
    if report.broken_threads > 0 {
        limit(format!("{} threads of the generator broke down", report.broken_threads));
    }
    notes
}

fn port_count(facts: &MachineFacts) -> u32 {
    ports_in_range(facts.ports.first, facts.ports.last)
}

/// Descriptors that a run needs beside its connections.
const SPARE: u64 = 32;
/// A thread with a larger processor share was saturated.
/// The counters have ticks of 10 ms, and the rest goes to interrupts.
pub const SATURATED: f64 = 0.92;
/// Starts that are noticed later than this, and later than the usual response, distort latencies.
const LATE_START_US: f64 = 1_000.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{HttpPlan, LoadProtocol};
    use std::net::SocketAddr;

    fn facts() -> MachineFacts {
        MachineFacts {
            processors: 2,
            descriptors: 1_024,
            ports: LocalPortRange { first: 32_768, last: 60_999 },
            ..MachineFacts::default()
        }
    }

    fn plan(connections: usize) -> LoadPlan {
        let target = SocketAddr::from(([127, 0, 0, 1], 80));
        LoadPlan::new(target, LoadProtocol::Http(HttpPlan::get("h", "/")), connections)
    }

    fn words(facts: &MachineFacts, plan: &LoadPlan) -> String {
        forecast_limits(facts, plan)
            .into_iter()
            .map(|note| note.text)
            .collect::<Vec<_>>()
            .join("\n")
    }

    // Rows: L06
    #[test]
    fn descriptors_and_ports_are_foretold() {
        assert_eq!(words(&facts(), &plan(100)), "");
        assert!(words(&facts(), &plan(1_000)).contains("ulimit -n 1032"));
        let rich = MachineFacts { descriptors: 1 << 20, ..facts() };
        assert_eq!(words(&rich, &plan(28_232)), "");
        assert!(words(&rich, &plan(28_233)).contains("--from"));
        let mut two = plan(28_233);
        two.sources = vec![[127, 0, 0, 1].into(), [127, 0, 0, 2].into()];
        assert_eq!(words(&rich, &two), "");
    }

    #[test]
    fn the_rate_of_connections_is_foretold() {
        let mut many = plan(10);
        many.persist = ConnectionReuse::ClosedBy(ClosingSide::Client);
        many.requests = Some(28_000);
        assert_eq!(words(&facts(), &many), "");
        many.requests = Some(30_000);
        assert!(
            words(&facts(), &many).contains("sustain 471 connections"),
            "{}",
            words(&facts(), &many)
        );
        many.persist = ConnectionReuse::ClosedBy(ClosingSide::Reset);
        assert_eq!(words(&facts(), &many), "", "a reset leaves no TIME_WAIT");
        let busy = MachineFacts { time_wait: 20_000, ..facts() };
        many.persist = ConnectionReuse::ClosedBy(ClosingSide::Client);
        many.requests = Some(10_000);
        assert!(words(&busy, &many).contains("TIME_WAIT"));
    }

    #[test]
    fn ports_that_the_kernel_gives_again_are_reckoned_with() {
        let of = |reuse: &str| {
            let settings =
                [("tcp_tw_reuse", reuse), ("tcp_timestamps", "1"), ("tcp_tw_reuse_delay", "1000")];
            let named =
                |(name, value): (&str, &str)| (format!("net.ipv4.{name}"), value.to_owned());
            MachineFacts { sysctls: settings.map(named).into(), time_wait: 20_000, ..facts() }
        };
        let rate = |target: [u8; 4], reuse, per_second| {
            let mut many = plan(10);
            many.target = SocketAddr::from((target, 80));
            many.persist = ConnectionReuse::ClosedBy(ClosingSide::Client);
            many.pace = LoadModel::Open { per_second, connections: 10 };
            many.time = Some(Duration::from_secs(600));
            words(&of(reuse), &many)
        };
        let here = [127, 0, 0, 1];
        let there = [192, 0, 2, 1];
        for (target, reuse) in [(here, "2"), (here, "1"), (there, "1")] {
            assert_eq!(rate(target, reuse, 28_000.0), "");
            let words = rate(target, reuse, 29_000.0);
            assert!(words.contains("rest 1 s") && words.contains("sustain 28232 "), "{words}");
        }
        for (target, reuse) in [(here, "0"), (there, "0"), (there, "2")] {
            // Of 28,232 ports, 20,000 are already in TIME_WAIT.
            assert_eq!(rate(target, reuse, 130.0), "");
            let words = rate(target, reuse, 140.0);
            assert!(words.contains("rest 60 s") && words.contains("sustain 471 "), "{words}");
        }
    }
}
