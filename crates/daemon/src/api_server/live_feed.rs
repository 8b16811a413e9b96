//! State and rates for watchers: sampled once a step however many watch, and not at all without any.
//!
//! Each update is serialized once, as a difference and on demand as a whole, and shared. A reader that is slow loses
//! updates and is notified; it never blocks the others.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

use api::types::StateUpdate;
use axum::body::Bytes;
use tokio::sync::{Notify, broadcast};

use super::difference::scene_difference;
use crate::observability::report;
use crate::observability::report::report_sources::ReportSources;
use crate::observability::report::sample::MANY;

/// Streams of state, over both listeners.
/// Each is a browser or a tool; more readers share by a proxy.
pub(super) const STREAMS: u64 = 32;
/// Updates that wait for a reader before it loses the oldest.
const UPDATES: usize = 4;
/// The page draws one point a second.
const STEP: Duration = Duration::from_secs(1);
/// The same with more than `MANY` servers.
/// With thousands of servers a snapshot has megabytes, and each reader gets one.
const LONG_STEP: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) struct LiveUpdate {
    state: StateUpdate,
    /// The difference to the previous update; `None`: only the whole scene describes it.
    change: Option<Bytes>,
    full_frame: OnceLock<Bytes>,
}

impl LiveUpdate {
    /// An update that holds nothing but its number.
    #[cfg(test)]
    pub(super) fn fake(sequence: u64) -> LiveUpdate {
        let snapshot = report::fixture::state_snapshot("", 1);
        let facts = report::report_sources::ProcessFacts::default();
        let now = SystemTime::UNIX_EPOCH;
        let status = report::status::build_status(&snapshot, &facts, |_| None, now);
        let at = std::time::Instant::now();
        let sample = report::sample::CounterSample::read(&snapshot.snapshot, 0, at, None);
        let sample = Arc::new(sample);
        let report = report::build_report(&snapshot.snapshot, &sample, &sample, &facts, now);
        let scene = StateUpdate { sequence, next_ms: 1000, status, report };
        let change = Some(frame("change", &scene));
        LiveUpdate { state: scene, change, full_frame: OnceLock::new() }
    }

    pub(super) fn sequence(&self) -> u64 {
        self.state.sequence
    }

    /// The frame for a reader that has seen `seen` last.
    pub(super) fn frame(&self, seen: Option<u64>) -> Bytes {
        match &self.change {
            Some(change) if seen.is_some_and(|seen| seen + 1 == self.state.sequence) => {
                change.clone()
            }
            _ => self.full_frame.get_or_init(|| frame("state", &self.state)).clone(),
        }
    }
}

/// The live feed: one scene, computed once for all subscribers.
pub struct LiveFeed {
    report_sources: Arc<ReportSources>,
    updates: broadcast::Sender<Arc<LiveUpdate>>,
    last: Mutex<Option<Arc<LiveUpdate>>>,
    wake: Notify,
}

/// A reader's place; it ends with it.
pub(super) struct FeedSubscription {
    report_sources: Arc<ReportSources>,
}

/// A reader of the feed that has received nothing yet.
pub(super) struct LiveFeedReader {
    pub(super) subscription: FeedSubscription,
    /// The latest update, if there is one.
    pub(super) last: Option<Arc<LiveUpdate>>,
    /// The later updates.
    pub(super) updates: broadcast::Receiver<Arc<LiveUpdate>>,
}

impl Drop for FeedSubscription {
    fn drop(&mut self) {
        self.report_sources.api_counters.end_stream();
    }
}

impl LiveFeed {
    pub fn new(vitals: Arc<ReportSources>) -> LiveFeed {
        LiveFeed {
            report_sources: vitals,
            updates: broadcast::Sender::new(UPDATES),
            last: Mutex::default(),
            wake: Notify::new(),
        }
    }

    /// Subscribes. `None`: the limit of subscribers is reached.
    pub(super) fn subscribe(&self) -> Option<LiveFeedReader> {
        if !self.report_sources.api_counters.try_begin_stream(STREAMS) {
            return None;
        }
        let subscription = FeedSubscription { report_sources: Arc::clone(&self.report_sources) };
        // First, so that nothing is missed in between.
        let updates = self.updates.subscribe();
        let last = self.last().clone();
        self.wake.notify_one();
        Some(LiveFeedReader { subscription, last, updates })
    }

    /// Computes one update for each step while there are subscribers, until the daemon stops.
    pub async fn run(self: Arc<LiveFeed>) {
        let mut sequence = 0;
        loop {
            if self.updates.receiver_count() == 0 {
                *self.last() = None;
                self.wake.notified().await;
                continue;
            }
            sequence += 1;
            let update = Arc::new(self.update(sequence));
            let step = Duration::from_millis(update.state.next_ms);
            *self.last() = Some(Arc::clone(&update));
            // The last reader may have disconnected just now.
            let _ = self.updates.send(update);
            tokio::time::sleep(step).await;
        }
    }

    fn update(&self, sequence: u64) -> LiveUpdate {
        let vitals = &self.report_sources;
        let snapshot = vitals.control.state();
        let facts = vitals.collect(&snapshot);
        let now = SystemTime::now();
        let status = report::status::build_status(
            &snapshot,
            &facts,
            |server| vitals.evidence.latest(server.id),
            now,
        );
        let sample = Arc::new(vitals.take_sample(&snapshot));
        let before = vitals.samples.older().unwrap_or_else(|| Arc::clone(&sample));
        let report = report::build_report(&snapshot.snapshot, &before, &sample, &facts, now);
        let step = if snapshot.servers.len() > MANY { LONG_STEP } else { STEP };
        let next_ms = u64::try_from(step.as_millis()).unwrap_or(u64::MAX);
        let mut scene = StateUpdate { sequence, next_ms, status, report };
        let change =
            self.last().as_ref().and_then(|last| scene_difference(&last.state, &mut scene));
        let change = change.map(|change| frame("change", &change));
        LiveUpdate { state: scene, change, full_frame: OnceLock::new() }
    }

    fn last(&self) -> std::sync::MutexGuard<'_, Option<Arc<LiveUpdate>>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn frame(kind: &str, scene: &StateUpdate) -> Bytes {
    // The types hold strings and numbers only, so serializing cannot fail; JSON escapes line breaks.
    let json = serde_json::to_string(scene).unwrap_or_default();
    Bytes::from(format!("event: {kind}\nid: {}\ndata: {json}\n\n", scene.sequence))
}
