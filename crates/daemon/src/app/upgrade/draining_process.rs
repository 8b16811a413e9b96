//! What the process before this one has still, as it tells until it ends: for `status` and metrics.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use tokio::net::UnixStream;

use super::message::{self, UpgradeMessage};
use crate::util::event::EventLog;

/// Between two times that the old process tells.
pub const EVERY: Duration = Duration::from_secs(1);
/// An old process that is silent for so long hangs, or does not tell: what it has is not known.
const SILENCE: Duration = Duration::from_secs(10);

/// What a process has that drains after it handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DrainingConnections {
    pub pid: u32,
    pub since: SystemTime,
    pub connections: u64,
    /// Exchanges and `tcp` connections under way.
    pub exchanges: u64,
}

/// The process before, if it tells.
#[derive(Debug, Default)]
pub struct Predecessor(Mutex<Option<DrainingConnections>>);

impl Predecessor {
    /// What it has still; `None`: there is none, or it does not tell.
    pub fn draining(&self) -> Option<DrainingConnections> {
        *self.lock()
    }

    /// Listens until it has ended.
    pub async fn follow(&self, pid: u32, mut line: UnixStream, events: EventLog) {
        let since = SystemTime::now();
        let mut told = false;
        while let Ok(Ok(Some(UpgradeMessage::Remains { connections, exchanges }))) =
            tokio::time::timeout(SILENCE, message::receive_message(&mut line)).await
        {
            *self.lock() = Some(DrainingConnections { pid, since, connections, exchanges });
            told = true;
        }
        *self.lock() = None;
        if told {
            events.info("predecessor-left", format!("process {pid}, which handed over, has left"));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<DrainingConnections>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
        let follow = tokio::spawn(async move { mine.follow(7, ours, said).await });
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
