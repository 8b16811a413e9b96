//! Errors of the last seconds: what `status` shows and what alarms follow, from the samples of reports.
//!
//! A share of two seconds says little where requests are few, and one of an hour hides what is over. The window grows
//! to twice `HALF` and then drops its older half. It keeps two tallies of each object, and no history.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use api::types::ErrorCounts;
use model::exchange_error::{ErrorLevel, ErrorTally};
use model::id::{ServerId, ServiceId};

use super::counts::error_counts;
use super::sample::CounterSample;
use super::totals::{RequestCost, ServerTotals};
use crate::util::wall_clock::unix_ms;

/// Half of the longest window.
/// Ten seconds hold enough requests of a small site, and an alarm ends within twenty.
const HALF: Duration = Duration::from_secs(10);

/// The tallies of all objects at one moment.
#[derive(Debug)]
struct WindowBase {
    at: Instant,
    services: HashMap<ServiceId, ErrorTally>,
    servers: HashMap<ServerId, WindowServer>,
}

/// What the window compares of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct WindowServer {
    errors: ErrorTally,
    cost: RequestCost,
}

impl WindowServer {
    fn of_totals(totals: &ServerTotals) -> WindowServer {
        WindowServer { errors: totals.errors, cost: totals.cost() }
    }
}

/// A service or a server within the window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WindowErrors {
    /// Totals since the start; rates and the share cover the window.
    pub counts: ErrorCounts,
    /// How grave its share is, and since when; `None`: it is ordinary.
    pub raised: Option<RaisedLevel>,
    /// What requests to a server took within the window.
    pub cost: RequestCost,
}

/// A share of errors that is not ordinary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RaisedLevel {
    pub level: ErrorLevel,
    pub since_unix_ms: u64,
}

/// The errors of all objects at the last sample.
#[derive(Clone, Debug, Default)]
pub struct WindowSummary {
    pub interval: Duration,
    /// Nothing was counted within the window, so the summary holds until something is.
    pub is_empty: bool,
    services: HashMap<ServiceId, WindowErrors>,
    servers: HashMap<ServerId, WindowErrors>,
}

impl WindowSummary {
    pub fn service(&self, id: ServiceId) -> WindowErrors {
        self.services.get(&id).cloned().unwrap_or_default()
    }

    pub fn server(&self, id: ServerId) -> WindowErrors {
        self.servers.get(&id).cloned().unwrap_or_default()
    }
}

/// Keeps the bases of the window and the result.
#[derive(Debug, Default)]
pub struct ErrorWindow(Mutex<WindowState>);

#[derive(Debug, Default)]
struct WindowState {
    older: Option<WindowBase>,
    newer: Option<WindowBase>,
    summary: Arc<WindowSummary>,
}

impl ErrorWindow {
    pub fn summary(&self) -> Arc<WindowSummary> {
        Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner).summary)
    }

    /// Works the window out anew from a sample.
    pub fn update(&self, sample: &CounterSample, now: SystemTime) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now_unix_ms = unix_ms(now);
        let base = state.older.as_ref().or(state.newer.as_ref());
        let before = Arc::clone(&state.summary);
        let interval = base.map_or(Duration::ZERO, |base| sample.at.duration_since(base.at));
        let window = |old: ErrorTally, new: &ErrorTally, was: Option<RaisedLevel>| WindowErrors {
            counts: error_counts(&old, new, interval.as_secs_f64()),
            raised: raised(&new.since(&old), was, now_unix_ms),
            cost: RequestCost::default(),
        };
        let services = sample.services.iter().map(|(id, totals)| {
            // An object without a base is new: all of its counts are of the window.
            let old = base.and_then(|base| base.services.get(id)).copied().unwrap_or_default();
            let was = before.services.get(id).and_then(|one| one.raised);
            (*id, window(old, &totals.errors, was))
        });
        let servers = sample.servers.iter().map(|(id, totals)| {
            let old = base.and_then(|base| base.servers.get(id)).copied().unwrap_or_default();
            let was = before.servers.get(id).and_then(|one| one.raised);
            let cost = totals.cost().since(&old.cost);
            (*id, WindowErrors { cost, ..window(old.errors, &totals.errors, was) })
        });
        let summary = WindowSummary {
            interval,
            is_empty: base.is_some_and(|base| base.is_current(sample)),
            services: services.collect(),
            servers: servers.collect(),
        };
        state.summary = Arc::new(summary);
        state.advance(sample);
    }

    /// Has the window begin at the sample, after a time in which nothing was counted.
    pub fn begin_at(&self, sample: &CounterSample) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.older = None;
        state.newer = Some(WindowBase::of_sample(sample));
    }
}

impl WindowState {
    /// Makes the sample a base when the last one is half a window old.
    fn advance(&mut self, sample: &CounterSample) {
        let is_due =
            self.newer.as_ref().is_none_or(|base| sample.at.duration_since(base.at) >= HALF);
        if is_due {
            self.older = self.newer.replace(WindowBase::of_sample(sample));
        }
    }
}

impl WindowBase {
    fn of_sample(sample: &CounterSample) -> WindowBase {
        let servers = sample.servers.iter();
        WindowBase {
            at: sample.at,
            services: sample.services.iter().map(|(id, totals)| (*id, totals.errors)).collect(),
            servers: servers.map(|(id, totals)| (*id, WindowServer::of_totals(totals))).collect(),
        }
    }

    /// Whether nothing was counted since.
    fn is_current(&self, sample: &CounterSample) -> bool {
        let mut services = sample.services.iter();
        let mut servers = sample.servers.iter();
        services
            .all(|(id, totals)| self.services.get(id).copied().unwrap_or_default() == totals.errors)
            && servers.all(|(id, totals)| {
                let old = self.servers.get(id).copied().unwrap_or_default();
                old == WindowServer::of_totals(totals)
            })
    }
}

/// The level of a window; it stands since it was left last.
fn raised(grown: &ErrorTally, was: Option<RaisedLevel>, now_unix_ms: u64) -> Option<RaisedLevel> {
    let level = ErrorLevel::of_percent(grown.error_percent()?)?;
    let since_unix_ms = was.map_or(now_unix_ms, |was| was.since_unix_ms);
    Some(RaisedLevel { level, since_unix_ms })
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;
    use crate::observability::report::fixture;

    const TEXT: &str = r#"
[service.shop]
listen = "127.0.0.1:8080"
forward = "http"
pool = "web"
[pool.web]
servers = ["127.0.0.1:1001", "127.0.0.1:1002"]
"#;

    #[test]
    fn a_share_is_raised_while_errors_are_within_the_window_and_no_longer() {
        let state = fixture::state_snapshot(TEXT, 1);
        let snapshot = &state.snapshot;
        let service = snapshot.services.values().next().unwrap();
        let server = &snapshot.pools.values().next().unwrap().servers[0];
        let begun = Instant::now();
        let window = ErrorWindow::default();
        let mut raised_at = Vec::new();
        for second in (0..60_u64).step_by(2) {
            let counters = &service.stats.slots[0].counters;
            counters.answered.add(10);
            server.stats.slots[0].counters.answered.add(10);
            if (20..24).contains(&second) {
                counters.complete_5xx.add(10);
                server.stats.slots[0].counters.complete_5xx.add(10);
            }
            let at = begun + Duration::from_secs(second);
            let sample = CounterSample::read(snapshot, 0, at, None);
            window.update(&sample, UNIX_EPOCH + Duration::from_secs(second));
            let summary = window.summary();
            assert!(summary.interval <= 2 * HALF, "{:?}", summary.interval);
            let [of_service, of_server] = [summary.service(service.id), summary.server(server.id)];
            assert_eq!(of_service.raised, of_server.raised, "{second}");
            if let Some(raised) = of_service.raised {
                assert_eq!(raised.since_unix_ms, 20_000);
                raised_at.push(second);
            }
        }
        assert_eq!(raised_at.first(), Some(&20));
        assert!(raised_at.last().is_some_and(|last| (22..=44).contains(last)), "{raised_at:?}");
        let counts = window.summary().service(service.id).counts;
        assert_eq!((counts.errors.total, counts.errors.rate, counts.percent), (20, 0.0, Some(0.0)));
        assert_eq!(counts.server_5xx.total, 20);
    }
}
