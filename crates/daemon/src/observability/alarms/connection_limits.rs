//! Alarms about connections evicted in favour of new ones, and about clients above their share: an event at most once a
//! minute, with the largest client. This module closes no connection.

use std::collections::BTreeMap;
use std::time::Duration;

use model::cause::Cause;
use model::config::EventLevel;
use model::monotonic_time::MonotonicTime;
use model::snapshot::ServiceView;
use model::stats::{Count, ServiceWorkerStats};

use crate::state::StateSnapshot;
use crate::util::admin_listeners::api_counters::ApiCounts;
use crate::util::event::{EventFields, EventLog};

/// Between two events about the same place.
/// A minute: a limit that is reached all the time stays visible and does not fill the log.
const PAUSE: Duration = Duration::from_secs(60);

/// The logged state of services and of the daemon's own listeners.
#[derive(Debug, Default)]
pub(super) struct ConnectionLimitAlarms(BTreeMap<String, ReportedCounts>);

#[derive(Clone, Copy, Debug, Default)]
struct ReportedCounts {
    counts: ConnectionLimitCounts,
    at: Option<MonotonicTime>,
}

/// Connections closed and rejected since the start, or since an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ConnectionLimitCounts {
    evicted: u64,
    refused: u64,
}

impl ConnectionLimitAlarms {
    /// Logs the differences from the alarms logged so far.
    pub(super) fn look(
        &mut self,
        events: &EventLog,
        snapshot: &StateSnapshot,
        served: &ApiCounts,
        now: MonotonicTime,
    ) {
        for view in snapshot.snapshot.services.values() {
            let counts = ConnectionLimitCounts { evicted: evicted(view), refused: refused(view) };
            let name = format!("service {}", view.config.name);
            let Some(new) = self.new_counts(&name, counts, now) else { continue };
            let ConnectionLimitCounts { evicted, refused } = new;
            let mut about = EventFields::from([("service", view.config.name.clone())]);
            let mut text = format!(
                "{name}: {evicted} connections that did nothing were closed for newcomers, {refused} refused because \
                 their client has its share"
            );
            if let Some(holder) = view.stats.client_connections.largest_clients(1).first() {
                let open = view.stats.open_connections.get();
                let client = holder.client;
                let held = holder.connections;
                text.push_str(&format!("; {client} has most: {held} of {open}"));
                about.insert("client", client.to_string());
                about.insert("connections", held.to_string());
            }
            report_limit(events, text, about, new);
        }
        let by_listener = served.evicted.iter().zip(&served.rejected);
        for (evicted, rejected) in by_listener {
            let listener = evicted.listener.name();
            let name = format!("control {listener}");
            let counts = ConnectionLimitCounts {
                evicted: evicted.connections,
                refused: rejected.connections,
            };
            let Some(new) = self.new_counts(&name, counts, now) else { continue };
            let text = format!(
                "control listener `{listener}`: {} connections were closed for newcomers, {} refused: all places were \
                 taken (ss -xp or ss -tnp names who holds them)",
                new.evicted, new.refused
            );
            report_limit(events, text, EventFields::from([("listener", listener.to_owned())]), new);
        }
    }

    /// The counts since the last event; `None`: there are none, or the last event is too recent.
    fn new_counts(
        &mut self,
        name: &str,
        counts: ConnectionLimitCounts,
        now: MonotonicTime,
    ) -> Option<ConnectionLimitCounts> {
        let reported = self.0.entry(name.to_owned()).or_default();
        let new = ConnectionLimitCounts {
            evicted: counts.evicted.saturating_sub(reported.counts.evicted),
            refused: counts.refused.saturating_sub(reported.counts.refused),
        };
        let soon = reported.at.is_some_and(|at| now.since(at) < PAUSE);
        if new == ConnectionLimitCounts::default() || soon {
            return None;
        }
        *reported = ReportedCounts { counts, at: Some(now) };
        Some(new)
    }
}

fn report_limit(
    events: &EventLog,
    text: String,
    mut about: EventFields,
    counts: ConnectionLimitCounts,
) {
    about.insert("evicted", counts.evicted.to_string());
    about.insert("refused", counts.refused.to_string());
    events.emit(EventLevel::Warning, "connections-evicted", text, about);
}

fn sum(view: &ServiceView, of: fn(&ServiceWorkerStats) -> &Count) -> u64 {
    view.stats.slots.iter().map(|slot| of(slot).get()).sum()
}

fn evicted(view: &ServiceView) -> u64 {
    sum(view, |slot| &slot.counters.evicted_silent)
        + sum(view, |slot| &slot.counters.evicted_stalled)
        + sum(view, |slot| &slot.counters.evicted_idle)
}

fn refused(view: &ServiceView) -> u64 {
    sum(view, |slot| &slot.causes[Cause::ClientLimit as usize])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observability::report::fixture;
    use crate::util::admin_listeners::api_counters::{ListenerCount, ListenerKind};
    use model::admission::ClientKey;

    const TEXT: &str = "[service.shop]\nlisten = \"127.0.0.1:8080\"\nforward = \"http\"\npool = \"web\"\n\
                        [pool.web]\nservers = [\"127.0.0.1:1001\"]\n";

    #[test]
    fn it_is_reported_once_a_minute_with_who_has_most() {
        let events = EventLog::quiet();
        let mut crowded = ConnectionLimitAlarms::default();
        let snapshot = fixture::state_snapshot(TEXT, 1);
        let view = snapshot.snapshot.services.values().next().unwrap();
        let at = |seconds| MonotonicTime(0) + Duration::from_secs(seconds);
        crowded.look(&events, &snapshot, &ApiCounts::default(), at(0));
        assert!(events.recent().is_empty());
        view.stats.client_connections.add(ClientKey::from_address([192, 0, 2, 7].into()));
        view.stats.slots[0].counters.evicted_silent.add(3);
        for second in 1..70 {
            crowded.look(&events, &snapshot, &ApiCounts::default(), at(second));
            view.stats.slots[0].causes[Cause::ClientLimit as usize].add(1);
        }
        let recent = events.recent();
        assert_eq!(recent.len(), 2, "{recent:?}");
        assert!(recent[0].text.contains("192.0.2.7 has most: 1 of 0"), "{}", recent[0].text);
        let on_socket = |connections| ListenerCount { listener: ListenerKind::Socket, connections };
        let served = ApiCounts {
            evicted: vec![on_socket(5)],
            rejected: vec![on_socket(1)],
            ..ApiCounts::default()
        };
        crowded.look(&events, &snapshot, &served, at(70));
        let recent = events.recent();
        assert!(recent[2].text.contains("`socket`: 5 connections"), "{recent:?}");
        assert_eq!(recent[2].about["refused"], "1");
    }
}
