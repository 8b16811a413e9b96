//! Connections that the predecessor still has, as it reports until it ends: for `status` and metrics.

use std::time::{Duration, SystemTime};

use tokio::net::UnixStream;

use super::message::{self, UpgradeMessage};
use crate::state::predecessor::{DrainingConnections, Predecessor};
use crate::util::event::EventLog;

/// The interval of the old process's reports.
/// Operators watch a drain in seconds.
pub const EVERY: Duration = Duration::from_secs(1);
/// An old process without a report for ten intervals is stuck or does not report, so its connections are unknown.
const SILENCE: Duration = Duration::from_secs(10);

/// Listens until it has ended.
pub async fn follow_predecessor(
    predecessor: &Predecessor,
    pid: u32,
    mut line: UnixStream,
    events: EventLog,
) {
    let since = SystemTime::now();
    let mut reported = false;
    while let Ok(Ok(Some(UpgradeMessage::Remains { connections, exchanges }))) =
        tokio::time::timeout(SILENCE, message::receive_message(&mut line)).await
    {
        predecessor.replace(Some(DrainingConnections { pid, since, connections, exchanges }));
        reported = true;
    }
    predecessor.replace(None);
    if reported {
        events.info("predecessor-left", format!("process {pid}, which handed over, has left"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_reported_is_shown_until_the_line_ends() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let shown = std::sync::Arc::new(Predecessor::default());
        let events = EventLog::quiet();
        let mine = std::sync::Arc::clone(&shown);
        let task_events = events.clone();
        let follow =
            tokio::spawn(async move { follow_predecessor(&mine, 7, ours, task_events).await });
        assert_eq!(shown.draining(), None);
        let report = UpgradeMessage::Remains { connections: 3, exchanges: 2 };
        message::send_message(&mut theirs, &report).await.unwrap();
        while shown.draining().is_none() {
            tokio::task::yield_now().await;
        }
        let draining = shown.draining().unwrap();
        assert_eq!((draining.pid, draining.connections, draining.exchanges), (7, 3, 2));
        drop(theirs);
        follow.await.unwrap();
        assert_eq!(shown.draining(), None);
        assert!(events.recent().iter().any(|event| event.kind == "predecessor-left"));
    }
}
