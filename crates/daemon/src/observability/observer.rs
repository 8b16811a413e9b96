//! The observer of the workers: passes what they report to the prober, the access log and the events. It is called on
//! workers, so nothing here waits for anything slow.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use l7::{PlaneObservation, PlaneObserver};

use crate::health::health_check::ConnectObserver;
use crate::observability::access_log::AccessLogger;
use crate::util::activity::ActivityMonitor;
use crate::util::event::EventLog;

/// Between two warnings about the same thing.
/// A minute: a condition that lasts stays visible and does not fill the log.
const REPORT_INTERVAL: Duration = Duration::from_secs(60);
/// The limit of reports whose time is stored. Beyond the limit all are dropped, so they may be logged repeatedly.
const MAX_REMEMBERED: usize = 4096;

#[derive(Debug)]
pub struct WorkerObserver {
    observer: ConnectObserver,
    access: Arc<AccessLogger>,
    events: EventLog,
    activity: Arc<ActivityMonitor>,
    last_reports: Mutex<HashMap<String, Instant>>,
}

impl WorkerObserver {
    /// Passing on to these.
    pub fn new(
        observer: ConnectObserver,
        access: Arc<AccessLogger>,
        events: EventLog,
        activity: Arc<ActivityMonitor>,
    ) -> WorkerObserver {
        WorkerObserver { observer, access, events, activity, last_reports: Mutex::default() }
    }

    /// Whether a report is due. The lock is held for one look-up only.
    fn may_report(&self, of: &str) -> bool {
        let mut told = self.last_reports.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if told.get(of).is_some_and(|last| now.duration_since(*last) < REPORT_INTERVAL) {
            return false;
        }
        if told.len() >= MAX_REMEMBERED {
            told.clear();
        }
        told.insert(of.to_owned(), now);
        true
    }
}

impl PlaneObserver for WorkerObserver {
    fn observe(&self, seen: PlaneObservation) {
        match seen {
            PlaneObservation::ConnectFailed { server, reason, .. } => {
                self.observer.connect_failed(server, reason);
            }
            PlaneObservation::ConnectSucceeded { server, .. } => {
                self.observer.connect_succeeded(server)
            }
            PlaneObservation::SourcePortsLow { source, destination, in_use, left } => {
                let from = source.map(|source| format!(" from {source}")).unwrap_or_default();
                let (grade, few) = match left {
                    0 => ("no", "no source port is left".to_owned()),
                    _ if left <= in_use / 10 => {
                        ("hardly any", format!("only {left} source ports are left"))
                    }
                    _ => ("few", format!("{left} source ports are left")),
                };
                if self.may_report(&format!("{grade} ports{from} {destination}")) {
                    self.events.warn(
                        "source-ports-low",
                        format!(
                            "{few}{from} towards {destination}, {in_use} are in use or rest in TIME_WAIT: give the pool \
                             more `source` addresses, or widen net.ipv4.ip_local_port_range"
                        ),
                    );
                }
            }
            PlaneObservation::NoDescriptor { worker } => {
                if self.may_report("descriptors") {
                    self.events.warn(
                        "no-descriptor",
                        format!(
                            "worker {worker} had no file descriptor for a connection: raise LimitNOFILE, or lower \
                             global.connections so that clients are refused before"
                        ),
                    );
                }
            }
        }
    }

    fn log(&self, lines: Vec<u8>) -> bool {
        self.access.log(lines)
    }

    fn turn_ended(&self) {
        self.activity.record();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_trouble_is_reported_once_a_minute() {
        let events = EventLog::quiet();
        let access =
            AccessLogger::start(&model::config::AccessLogTarget::Off, Box::new(drop)).unwrap();
        let observer = crate::health::health_check::new_prober().unwrap().observer;
        let ears =
            WorkerObserver::new(observer, Arc::new(access), events.clone(), ActivityMonitor::new());
        let low = |port, left| PlaneObservation::SourcePortsLow {
            source: None,
            destination: ([10, 0, 0, 1], port).into(),
            in_use: 100 - left,
            left,
        };
        for _ in 0..3 {
            ears.observe(PlaneObservation::NoDescriptor { worker: 0 });
            ears.observe(low(80, 20));
            ears.observe(low(81, 20));
            // Worse is news.
            ears.observe(low(80, 5));
            ears.observe(low(80, 0));
        }
        let events = events.recent();
        let what: Vec<_> = events.iter().map(|event| event.kind).collect();
        assert_eq!(what[0], "no-descriptor");
        assert_eq!(what[1..], ["source-ports-low"; 4]);
        assert!(events[4].text.starts_with("no source port is left towards"), "{}", events[4].text);
    }
}
