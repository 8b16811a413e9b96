//! Load reports in the heads of answers, where the pool asks for them. It parses nothing itself and weighs nothing.

use model::config::{AgentKind, Pool};
use model::live::ServerLive;
use model::load::orca::{FIELD, Orca, OrcaError, parse};
use model::load::{Report, Source};
use model::moment::Moment;
use wire::http1::Header;

/// What a server said of its load.
pub type Reported = Result<Orca, OrcaError>;

/// The report in an answer's head; nothing is looked for unless the pool's agent is `answers`.
pub fn read(pool: &Pool, headers: &[Header<'_>]) -> Option<Reported> {
    pool.agent.as_ref().filter(|agent| agent.kind == AgentKind::Answers)?;
    let field = headers.iter().find(|header| header.name.eq_ignore_ascii_case(FIELD))?;
    Some(parse(field.value))
}

/// Keeps a report; what is not understood or out of range is counted.
pub fn keep(report: Reported, live: &ServerLive, worker: usize, now: Moment) {
    let value = report.ok().and_then(|orca| orca.utilization());
    let clamped = match value {
        None => true,
        Some(value) => {
            let (report, clamped) = Report::clamped(value, now, Source::Answer);
            live.load.put(report);
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
        let live = ServerLive::new(1);
        let now = Moment(5_000_000_000);
        keep(parse(b"TEXT cpu_utilization=0.25"), &live, 0, now);
        let kept = live.load.read().unwrap();
        assert!((kept.value - 0.25).abs() < 1e-4 && kept.source == Source::Answer);
        assert_eq!(live.slots[0].counters.load_refused.get(), 0);
        keep(parse(b"TEXT cpu_utilization=40000"), &live, 0, now);
        assert_eq!(live.load.read().unwrap().value, 1.0);
        keep(parse(b"much"), &live, 0, now);
        assert_eq!(live.slots[0].counters.load_refused.get(), 2);
        assert_eq!(live.load.read().unwrap().value, 1.0, "nonsense changes nothing");
    }
}
