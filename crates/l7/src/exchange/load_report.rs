//! Load reports of servers in response heads (ORCA), for pools that use them.

use model::config::{AgentKind, PoolConfig};
use model::load_report::orca::{HEADER_NAME, OrcaError, OrcaReport, parse};
use model::load_report::{ClampedReport, LoadSource, UtilizationReport};
use model::monotonic_time::MonotonicTime;
use model::stats::ServerStats;
use wire::http1::Header;

/// A server's load report, or why it is invalid.
pub type ServerLoadReport = Result<OrcaReport, OrcaError>;

/// The report in a response's head. Nothing is parsed unless the pool's agent is `answers`.
pub fn read_report(pool: &PoolConfig, headers: &[Header<'_>]) -> Option<ServerLoadReport> {
    pool.agent.as_ref().filter(|agent| agent.kind == AgentKind::Answers)?;
    let field = headers.iter().find(|header| header.name.eq_ignore_ascii_case(HEADER_NAME))?;
    Some(parse(field.value))
}

/// Stores a report; an invalid one is counted.
pub fn store_report(
    report: ServerLoadReport,
    live: &ServerStats,
    worker: usize,
    now: MonotonicTime,
) {
    let value = report.ok().and_then(|orca| orca.utilization());
    let clamped = match value {
        None => true,
        Some(value) => {
            let ClampedReport { report, clamped } =
                UtilizationReport::new_clamped(value, now, LoadSource::ResponseHeader);
            live.load.store(report);
            clamped
        }
    };
    if clamped && let Some(slot) = live.slots.get(worker) {
        slot.counters.load_refused.add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_kept_and_nonsense_is_counted() {
        let live = ServerStats::new(1);
        let now = MonotonicTime(5_000_000_000);
        store_report(parse(b"TEXT cpu_utilization=0.25"), &live, 0, now);
        let kept = live.load.load().unwrap();
        assert!((kept.value - 0.25).abs() < 1e-4 && kept.source == LoadSource::ResponseHeader);
        assert_eq!(live.slots[0].counters.load_refused.get(), 0);
        store_report(parse(b"TEXT cpu_utilization=40000"), &live, 0, now);
        assert_eq!(live.load.load().unwrap().value, 1.0);
        store_report(parse(b"much"), &live, 0, now);
        assert_eq!(live.slots[0].counters.load_refused.get(), 2);
        assert_eq!(live.load.load().unwrap().value, 1.0, "nonsense changes nothing");
    }
}
