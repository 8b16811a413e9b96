//! Connections that the predecessor still has, as it reports until it ends: for `status` and metrics.

use std::time::{Duration, SystemTime};

use tokio::net::UnixStream;

use super::message::{self, UpgradeMessage};
use crate::state::predecessor::{DrainingConnections, Predecessor};
use crate::util::event::EventLog;

/// Between two times that the old process tells.
pub const EVERY: Duration = Duration::from_secs(1);
/// An old process that is silent for so long hangs, or does not tell: what it has is not known.
const SILENCE: Duration = Duration::from_secs(10);

/// Listens until it has ended.
pub async fn follow_predecessor(
    predecessor: &Predecessor,
    pid: u32,
    mut line: UnixStream,
    events: EventLog,
) {
    let since = SystemTime::now();
    let mut told = false;
    while let Ok(Ok(Some(UpgradeMessage::Remains { connections, exchanges }))) =
        tokio::time::timeout(SILENCE, message::receive_message(&mut line)).await
    {
        predecessor.replace(Some(DrainingConnections { pid, since, connections, exchanges }));
        told = true;
    }
    predecessor.replace(None);
    if told {
        events.info("predecessor-left", format!("process {pid}, which handed over, has left"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_told_is_shown_until_the_line_ends() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let shown = std::sync::Arc::new(Predecessor::default());
        let events = EventLog::quiet();
        let mine = std::sync::Arc::clone(&shown);
        let said = events.clone();
        let follow = tokio::spawn(async move { follow_predecessor(&mine, 7, ours, said).await });
        assert_eq!(shown.draining(), None);
        let word = UpgradeMessage::Remains { connections: 3, exchanges: 2 };
        message::send_message(&mut theirs, &word).await.unwrap();
        while shown.draining().is_none() {
            tokio::task::yield_now().await;
        }
        let found = shown.draining().unwrap();
        assert_eq!((found.pid, found.connections, found.exchanges), (7, 3, 2));
        drop(theirs);
        follow.await.unwrap();
        assert_eq!(shown.draining(), None);
        assert!(events.recent().iter().any(|event| event.what == "predecessor-left"));
    }
}
