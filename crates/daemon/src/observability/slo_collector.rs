//! The task that reads the outcome counters of the workers every two seconds, and the history for services that are
//! new.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::observability::history::HistoryRecorder;
use crate::observability::slo::SloLedgers;
use crate::observability::slo::past_outcomes::UserHistory;
use crate::state::ControlHandle;

/// Alarms of users' experience look at minutes: a shorter step would change no verdict.
const UPDATE_INTERVAL: Duration = Duration::from_secs(2);

/// Runs until the daemon stops.
pub async fn run(control: ControlHandle, users: Arc<SloLedgers>, history: Arc<HistoryRecorder>) {
    let events = control.events();
    let mut snapshots = control.watch();
    loop {
        let snapshot = snapshots.borrow_and_update().clone();
        let now = seconds();
        let new = users.services_without_ledger(&snapshot.snapshot);
        if !new.is_empty() {
            let names = new.iter().map(|view| view.config.name.clone()).collect();
            let windows = new.iter().filter_map(|view| view.config.objective.as_ref());
            let longest = windows.map(|objective| objective.window.as_secs()).max().unwrap_or(0);
            let found = history.users(names, now.saturating_sub(longest), now).await;
            let past = found.unwrap_or_else(|error| {
                let text = format!(
                    "what users met before is not known: the history cannot be read: {error}; look at its directory"
                );
                events.warn("history-not-read", text);
                UserHistory::new()
            });
            users.add_ledgers(&new, &past);
        }
        users.update(&snapshot.snapshot, events, seconds());
        if users.is_empty() {
            if snapshots.changed().await.is_err() {
                return;
            }
        } else {
            tokio::time::sleep(UPDATE_INTERVAL).await;
        }
    }
}

fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
