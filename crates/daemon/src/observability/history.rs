//! The history of rates and states: each step a record of what changed since the last, written to disk by `store`.
//!
//! Disk errors are logged and counted; no other task waits for the disk.

pub mod digest;
mod packets;
pub mod store;
pub mod users;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use api::types::History;
use model::history::{HistoryRecord, MetricRow};
use model::id::ServerId;
use model::snapshot::{ServerState, WorkerSnapshot};
use tokio::time::Instant;

use crate::observability::report::report_sources::{ProcessFacts, ReportSources};
use crate::observability::report::sample::CounterSample;
use crate::observability::report::totals::{ServerTotals, ServiceTotals};
use crate::observability::slo::past_outcomes::UserHistory;
use crate::planes::packets::view::PacketPlaneView;
use crate::state::ControlHandle;
use crate::util::wall_clock::unix_ms;
use store::HistoryStore;

/// Between two looks at states.
/// States change by probes, whose interval is 2 s by default.
const LOOK: Duration = Duration::from_secs(2);
/// Rows of one record; the servers beyond are left out, and counted.
const ROWS: usize = 20_000;
/// Further failures between two warnings.
/// One warning an hour at the default step of a minute.
const REPORT_INTERVAL: u64 = 60;

/// The history of a daemon.
pub struct HistoryRecorder {
    state: Option<PathBuf>,
    store: Option<Arc<Mutex<HistoryStore>>>,
    failures: AtomicU64,
    clipped: AtomicU64,
}

impl HistoryRecorder {
    /// Records below this directory; `None`: none are stored.
    pub fn new(state: Option<PathBuf>) -> HistoryRecorder {
        let store =
            |state: &PathBuf| Arc::new(Mutex::new(HistoryStore::new(state.join("history"))));
        let store = state.as_ref().map(store);
        HistoryRecorder { state, store, failures: AtomicU64::new(0), clipped: AtomicU64::new(0) }
    }

    /// The daemon's state directory, if it has one.
    pub fn state(&self) -> Option<PathBuf> {
        self.state.clone()
    }

    /// Stores records until the daemon stops.
    pub async fn run(self: Arc<HistoryRecorder>, vitals: Arc<ReportSources>) {
        let mut before: Option<(CounterSample, Arc<PacketPlaneView>)> = None;
        let mut states: HashMap<ServerId, [u64; 5]> = HashMap::new();
        let mut began = Instant::now();
        let mut looked = Instant::now();
        let mut snapshots = vitals.control.watch();
        loop {
            let snapshot = snapshots.borrow_and_update().clone();
            let Some(keep) = snapshot.config.global.history else {
                before = None;
                began = Instant::now();
                if snapshots.changed().await.is_err() {
                    return;
                }
                continue;
            };
            let first = before.is_none();
            if !first {
                // States last until a snapshot changes them. Looks are not closer together than `LOOK`.
                let end = began + keep.step;
                tokio::time::sleep_until(end.min(Instant::now() + LOOK)).await;
                tokio::select! {
                    changed = snapshots.changed() => if changed.is_err() { return },
                    () = tokio::time::sleep_until(end) => {}
                }
            }
            let now = Instant::now();
            add_state_time(&snapshot.snapshot, now - looked, &mut states);
            looked = now;
            if !first && now - began < keep.step {
                continue;
            }
            let snapshot = vitals.control.state();
            let facts = vitals.collect(&snapshot);
            let now_is = (vitals.take_sample(&snapshot), Arc::clone(&facts.packets));
            if let Some((old, old_packets)) = before.replace(now_is)
                && let Some((new, new_packets)) = &before
            {
                let mut rows = rows(&snapshot.snapshot, &old, new, &states, &facts);
                rows.extend(packets::rows(&old_packets, new_packets));
                let clipped = rows.len().saturating_sub(ROWS) as u64;
                rows.truncate(ROWS);
                self.clipped.fetch_add(clipped, Ordering::Relaxed);
                let at = unix_ms(SystemTime::now()) / 1000;
                let span = u32::try_from((now - began).as_secs().max(1)).unwrap_or(u32::MAX);
                self.write(&vitals.control, HistoryRecord { at, span, rows }, keep).await;
            }
            states.clear();
            began = now;
        }
    }

    async fn write(
        &self,
        control: &ControlHandle,
        record: HistoryRecord,
        keep: model::config::HistoryRetention,
    ) {
        let Some(store) = self.store.clone() else { return };
        let events = control.events().clone();
        let write = move || {
            let mut store = store.lock().unwrap_or_else(PoisonError::into_inner);
            let written = store.add(&record, &keep);
            for file in store.take_refused() {
                crate::util::atomic_file::set_aside(&file.path, &file.error, &events);
            }
            written
        };
        // A disk that hangs holds up this task alone.
        let why = match tokio::task::spawn_blocking(write).await {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error.to_string(),
            Err(error) => error.to_string(),
        };
        let before = self.failures.fetch_add(1, Ordering::Relaxed);
        if before.is_multiple_of(REPORT_INTERVAL) {
            let text = format!("a record of history is lost: {why}; {} so far", before + 1);
            control.events().warn("history-not-saved", text);
        }
    }

    /// The history between two moments, in milliseconds since 1970.
    pub async fn between(
        &self,
        since_unix_ms: u64,
        until_unix_ms: u64,
    ) -> std::io::Result<History> {
        let failures = self.failures.load(Ordering::Relaxed);
        let Some(store) = self.store.clone() else { return Ok(History::default()) };
        let read = move || {
            let store = store.lock().unwrap_or_else(PoisonError::into_inner).reader();
            let read = store.read(since_unix_ms / 1000, until_unix_ms / 1000)?;
            Ok(History { failures, ..digest::build_history(read, since_unix_ms, until_unix_ms) })
        };
        tokio::task::spawn_blocking(read).await.map_err(std::io::Error::other)?
    }

    /// SLO outcomes of services between two moments, in seconds since 1970: the middle of each record, and its counts.
    pub async fn users(
        &self,
        services: Vec<String>,
        since: u64,
        until: u64,
    ) -> std::io::Result<UserHistory> {
        let Some(store) = self.store.clone() else { return Ok(UserHistory::new()) };
        let read = move || {
            let store = store.lock().unwrap_or_else(PoisonError::into_inner).reader();
            users::read(&store, &services, since, until)
        };
        tokio::task::spawn_blocking(read).await.map_err(std::io::Error::other)?
    }
}

/// Adds the time that each server has been in its state.
fn add_state_time(
    snapshot: &WorkerSnapshot,
    time: Duration,
    states: &mut HashMap<ServerId, [u64; 5]>,
) {
    let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    for view in snapshot.pools.values().flat_map(|pool| &pool.servers) {
        let at = match view.state {
            ServerState::Up => 0,
            ServerState::Down => 1,
            ServerState::Unknown => 2,
            ServerState::Drain => 3,
            ServerState::Disabled => 4,
        };
        states.entry(view.id).or_default()[at] += millis;
    }
}

/// The rows of a record, except packet rows.
fn rows(
    snapshot: &WorkerSnapshot,
    old: &CounterSample,
    new: &CounterSample,
    states: &HashMap<ServerId, [u64; 5]>,
    facts: &ProcessFacts,
) -> Vec<MetricRow> {
    let connections = u64::from(facts.open_counts.connections);
    let numbers = vec![facts.resident_bytes, facts.descriptors.in_use, connections];
    let mut rows = vec![MetricRow { name: "process".to_owned(), numbers }];
    let no_service = ServiceTotals::default();
    let no_server = ServerTotals::default();
    // Services that forward packets have separate rows.
    for view in snapshot.services.values().filter(|view| view.config.packets.is_none()) {
        let Some(sums) = new.services.get(&view.id) else { continue };
        let before = old.services.get(&view.id).map_or(&no_service, AsRef::as_ref);
        rows.push(MetricRow {
            name: format!("service/{}", view.config.name),
            numbers: service(before, sums),
        });
        rows.extend(users::row(&view.config.name, before, sums));
    }
    for pool in snapshot.pools.values() {
        for view in &pool.servers {
            let sums = new.servers.get(&view.id).map_or(&no_server, AsRef::as_ref);
            let before = old.servers.get(&view.id).map_or(&no_server, AsRef::as_ref);
            let mut numbers = server(before, sums, u64::from(view.stats.in_flight.get()));
            numbers.extend(states.get(&view.id).copied().unwrap_or_default());
            let name = format!("server/{}/{}", pool.config.name, view.config.name);
            rows.push(MetricRow { name, numbers });
        }
    }
    rows
}

/// In the order of `model::history::SERVICE`.
fn service(old: &ServiceTotals, new: &ServiceTotals) -> Vec<u64> {
    let was = &old.counters;
    let is = &new.counters;
    let slowest = new.phases[4].since(&old.phases[4]).quantile(1.0).unwrap_or_default();
    let grown = |was: u64, is: u64| is.saturating_sub(was);
    let failed = |of: &model::stats::ServiceCounters| of.answered_by_us.get() + of.aborted.get();
    vec![
        grown(was.accepted.get(), is.accepted.get()),
        grown(was.refused.get(), is.refused.get()),
        grown(was.requests.get(), is.requests.get()),
        grown(failed(was), failed(is)),
        grown(was.status_5xx.get(), is.status_5xx.get()),
        grown(was.client_in.get(), is.client_in.get()),
        grown(was.client_out.get(), is.client_out.get()),
        u64::from(new.open),
        u64::try_from(slowest.as_micros()).unwrap_or(u64::MAX),
    ]
}

/// In the order of `model::history::SERVER`, without the times in states.
fn server(old: &ServerTotals, new: &ServerTotals, in_flight: u64) -> Vec<u64> {
    let was = &old.counters;
    let is = &new.counters;
    let grown = |was: u64, is: u64| is.saturating_sub(was);
    vec![
        grown(was.requests.get(), is.requests.get()),
        grown(was.connect_failed.get(), is.connect_failed.get()),
        grown(was.status_5xx.get(), is.status_5xx.get()),
        in_flight,
    ]
}
