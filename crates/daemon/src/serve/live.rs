//! State and rates for those who watch: looked at once a step however many watch, and not at all while nobody does.
//!
//! Each update is written once, as a difference and when somebody needs it as a whole, and shared. A reader that is
//! slow loses updates and is told; it never holds up the others.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

use api::types::Scene;
use axum::body::Bytes;
use tokio::sync::{Notify, broadcast};

use super::difference::difference;
use crate::report;
use crate::report::sample::MANY;
use crate::report::vitals::Vitals;

/// Streams of state, over both listeners.
pub(super) const STREAMS: u64 = 32;
/// Updates that wait for a reader before it loses the oldest.
const UPDATES: usize = 4;
/// Between two updates.
const STEP: Duration = Duration::from_secs(1);
/// The same with more than `MANY` servers.
const LONG_STEP: Duration = Duration::from_secs(5);

/// One update.
#[derive(Debug)]
pub(super) struct Update {
    scene: Scene,
    /// As a `change` to the one before; `None`: only the whole tells.
    change: Option<Bytes>,
    whole: OnceLock<Bytes>,
}

impl Update {
    /// One that says nothing but its number.
    #[cfg(test)]
    pub(super) fn fake(sequence: u64) -> Update {
        let picture = report::fixture::picture("", 1);
        let facts = report::vitals::Facts::default();
        let now = SystemTime::UNIX_EPOCH;
        let status = report::status::status(&picture, &facts, |_| None, now);
        let at = std::time::Instant::now();
        let sample = report::sample::Sample::take(&picture.snapshot, 0, at, None);
        let sample = Arc::new(sample);
        let report = report::report(&picture.snapshot, &sample, &sample, &facts, now);
        let scene = Scene { sequence, next_ms: 1000, status, report };
        let change = Some(frame("change", &scene));
        Update { scene, change, whole: OnceLock::new() }
    }

    /// Its number.
    pub(super) fn sequence(&self) -> u64 {
        self.scene.sequence
    }

    /// The frame for a reader that has seen `seen` last.
    pub(super) fn frame(&self, seen: Option<u64>) -> Bytes {
        match &self.change {
            Some(change) if seen.is_some_and(|seen| seen + 1 == self.scene.sequence) => {
                change.clone()
            }
            _ => self.whole.get_or_init(|| frame("state", &self.scene)).clone(),
        }
    }
}

/// What is being watched.
pub struct Live {
    vitals: Arc<Vitals>,
    feed: broadcast::Sender<Arc<Update>>,
    last: Mutex<Option<Arc<Update>>>,
    wake: Notify,
}

/// A reader's place; it ends with it.
pub(super) struct Seat {
    vitals: Arc<Vitals>,
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.vitals.served.end();
    }
}

impl Live {
    /// Nobody watches yet.
    pub fn new(vitals: Arc<Vitals>) -> Live {
        Live {
            vitals,
            feed: broadcast::Sender::new(UPDATES),
            last: Mutex::default(),
            wake: Notify::new(),
        }
    }

    /// Begins to watch: the latest update if there is one, and those to come. `None`: too many watch.
    #[allow(
        clippy::type_complexity,
        reason = "a seat, what is, and what comes: named where they are taken"
    )]
    pub(super) fn join(
        &self,
    ) -> Option<(Seat, Option<Arc<Update>>, broadcast::Receiver<Arc<Update>>)> {
        if !self.vitals.served.begin(STREAMS) {
            return None;
        }
        let seat = Seat { vitals: Arc::clone(&self.vitals) };
        // First, so that nothing is missed in between.
        let updates = self.feed.subscribe();
        let last = self.last().clone();
        self.wake.notify_one();
        Some((seat, last, updates))
    }

    /// Looks once a step while somebody watches, until the daemon is gone.
    pub async fn run(self: Arc<Live>) {
        let mut sequence = 0;
        loop {
            if self.feed.receiver_count() == 0 {
                *self.last() = None;
                self.wake.notified().await;
                continue;
            }
            sequence += 1;
            let update = Arc::new(self.update(sequence));
            let step = Duration::from_millis(update.scene.next_ms);
            *self.last() = Some(Arc::clone(&update));
            // The last reader may just have gone.
            let _ = self.feed.send(update);
            tokio::time::sleep(step).await;
        }
    }

    fn update(&self, sequence: u64) -> Update {
        let vitals = &self.vitals;
        let picture = vitals.control.picture();
        let facts = vitals.facts(&picture);
        let now = SystemTime::now();
        let status =
            report::status::status(&picture, &facts, |server| vitals.board.read(server.id), now);
        let sample = Arc::new(vitals.sample(&picture));
        let before = vitals.samples.older().unwrap_or_else(|| Arc::clone(&sample));
        let report = report::report(&picture.snapshot, &before, &sample, &facts, now);
        let step = if picture.servers.len() > MANY { LONG_STEP } else { STEP };
        let next_ms = u64::try_from(step.as_millis()).unwrap_or(u64::MAX);
        let mut scene = Scene { sequence, next_ms, status, report };
        let change = self.last().as_ref().and_then(|last| difference(&last.scene, &mut scene));
        let change = change.map(|change| frame("change", &change));
        Update { scene, change, whole: OnceLock::new() }
    }

    fn last(&self) -> std::sync::MutexGuard<'_, Option<Arc<Update>>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn frame(kind: &str, scene: &Scene) -> Bytes {
    // Strings and numbers: it cannot fail, and JSON has no line breaks of its own.
    let json = serde_json::to_string(scene).unwrap_or_default();
    Bytes::from(format!("event: {kind}\nid: {}\ndata: {json}\n\n", scene.sequence))
}
