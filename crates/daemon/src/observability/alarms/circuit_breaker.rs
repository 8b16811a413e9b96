//! Circuit breakers that are open and queues that are shed: one event at the beginning and one at the end. It opens and
//! closes none.

use std::collections::BTreeMap;

use model::circuit_breaker::{BreakerResource, CircuitState};
use model::config::EventLevel;
use model::snapshot::PoolView;

use crate::state::StateSnapshot;
use crate::util::event::{EventFields, EventLog};

/// Open breakers, with the time of opening on the workers' clock.
#[derive(Debug, Default)]
pub(super) struct CircuitBreakerAlarms(BTreeMap<BreakerKey, ReportedOpening>);

/// A breaker of a pool, by the limit that opens it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct BreakerKey {
    pool: String,
    /// `None`: the queue.
    limit: Option<&'static str>,
}

/// The logged state of one breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ReportedOpening {
    /// When the last logged period ended; 0: there was none.
    ended: u64,
    open: bool,
}

impl CircuitBreakerAlarms {
    /// Whether the end of some opening is still to be logged.
    pub(super) fn is_open(&self) -> bool {
        self.0.values().any(|reported| reported.open)
    }

    /// Logs the differences from the alarms logged so far. `now`: on the workers' clock.
    pub(super) fn look(&mut self, events: &EventLog, snapshot: &StateSnapshot, now: u64) {
        let mut next = BTreeMap::new();
        for view in snapshot.snapshot.pools.values() {
            let limited = BreakerResource::ALL
                .iter()
                .filter(|bound| view.config.breaker.limit_of(**bound).is_some());
            let runs =
                limited.map(|bound| (Some(*bound), view.stats.breakers.get(*bound).state(now)));
            let runs = runs.chain([(None, view.stats.shed_streak.state(now))]);
            for (bound, state) in runs {
                let pool = view.config.name.clone();
                let key = BreakerKey { pool, limit: bound.map(BreakerResource::name) };
                let before =
                    self.0.get(&key).copied().unwrap_or(ReportedOpening { ended: 0, open: false });
                let change = compared(before, state);
                if change.began {
                    report_breaker(events, view, bound, true);
                }
                if change.ended {
                    report_breaker(events, view, bound, false);
                }
                next.insert(key, change.seen);
            }
        }
        self.0 = next;
    }
}

/// What a breaker did since the last look; a run that was shorter than a look began and ended.
struct OpeningChange {
    began: bool,
    ended: bool,
    seen: ReportedOpening,
}

fn compared(before: ReportedOpening, state: CircuitState) -> OpeningChange {
    let newly = !before.open;
    let (began, ended, seen) = match state {
        CircuitState::Open(_) => (newly, false, ReportedOpening { open: true, ..before }),
        CircuitState::Closed(Some(at)) if at != before.ended => {
            (newly, true, ReportedOpening { ended: at, open: false })
        }
        CircuitState::Closed(_) => (false, before.open, ReportedOpening { open: false, ..before }),
    };
    OpeningChange { began, ended, seen }
}

fn report_breaker(
    events: &EventLog,
    view: &PoolView,
    bound: Option<BreakerResource>,
    begins: bool,
) {
    let pool = &view.config.name;
    let Some(bound) = bound else {
        let about = EventFields::from([("pool", pool.clone())]);
        return if begins {
            let text = format!("pool {pool}: its queue is held to what its servers take in time");
            events.emit(EventLevel::Warning, "shedding-begun", text, about);
        } else {
            let text = format!("pool {pool}: its queue is not held any more");
            events.emit(EventLevel::Info, "shedding-ended", text, about);
        };
    };
    let name = bound.name();
    let limit = view.config.breaker.limit_of(bound).unwrap_or_default();
    let about = EventFields::from([
        ("pool", pool.clone()),
        ("bound", name.to_owned()),
        ("limit", limit.to_string()),
    ]);
    if begins {
        let text = format!("pool {pool}: its breaker of {name} refuses beyond {limit}");
        events.emit(EventLevel::Warning, "breaker-open", text, about);
    } else {
        let text = format!("pool {pool}: its breaker of {name} does not refuse any more");
        events.emit(EventLevel::Info, "breaker-closed", text, about);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observability::report::fixture;

    const TEXT: &str = "[service.shop]\nlisten = \"127.0.0.1:1\"\nforward = \"http\"\npool = \"web\"\n\
                        [pool.web]\ncircuit-breaker = { requests = 2 }\nservers = [\"127.0.0.1:2\"]\n";

    #[test]
    fn each_run_is_reported_twice_however_short_it_is() {
        let snapshot = fixture::state_snapshot(TEXT, 1);
        let events = EventLog::quiet();
        let mut breaking = CircuitBreakerAlarms::default();
        let mut look = |now: u64| {
            let before = events.recent().len();
            breaking.look(&events, &snapshot, now);
            let new = events.recent().split_off(before);
            new.iter().map(|event| event.kind).collect::<Vec<_>>()
        };
        let live = &snapshot.snapshot.pools.values().next().unwrap().stats;
        assert!(look(1_000).is_empty());
        live.record_refusal(BreakerResource::Requests, 0, 2_000);
        assert_eq!(look(2_100), ["breaker-open"]);
        live.record_refusal(BreakerResource::Requests, 0, 2_900);
        assert!(look(3_500).is_empty());
        assert_eq!(look(4_000), ["breaker-closed"]);
        assert!(look(9_000).is_empty());
        // Begun and over between two looks.
        live.record_refusal(BreakerResource::Requests, 0, 9_100);
        assert_eq!(look(12_000), ["breaker-open", "breaker-closed"]);
        live.record_shed(0, 20_000);
        assert_eq!(look(20_001), ["shedding-begun"]);
        assert_eq!(look(30_000), ["shedding-ended"]);
        assert!(look(40_000).is_empty());
    }
}
