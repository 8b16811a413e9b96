//! What the process before this one has still, as it tells until it ends: for `status` and metrics.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use tokio::net::UnixStream;

use super::frame::{self, Word};
use crate::event::Events;

/// Between two times that the old process tells.
pub const EVERY: Duration = Duration::from_secs(1);
/// An old process that is silent for so long hangs, or does not tell: what it has is not known.
const SILENCE: Duration = Duration::from_secs(10);

/// What a process has that drains after it handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remains {
    /// The process.
    pub pid: u32,
    /// Since when.
    pub since: SystemTime,
    /// Client connections.
    pub connections: u64,
    /// Exchanges and `tcp` connections under way.
    pub exchanges: u64,
}

/// The process before, if it tells.
#[derive(Debug, Default)]
pub struct Predecessor(Mutex<Option<Remains>>);

impl Predecessor {
    /// What it has still; `None`: there is none, or it does not tell.
    pub fn remains(&self) -> Option<Remains> {
        *self.held()
    }

    /// Listens until it has ended.
    pub async fn follow(&self, pid: u32, mut line: UnixStream, events: Events) {
        let since = SystemTime::now();
        let mut told = false;
        while let Ok(Ok(Some(Word::Remains { connections, exchanges }))) =
            tokio::time::timeout(SILENCE, frame::hear(&mut line)).await
        {
            *self.held() = Some(Remains { pid, since, connections, exchanges });
            told = true;
        }
        *self.held() = None;
        if told {
            events.info("predecessor-left", format!("process {pid}, which handed over, has left"));
        }
    }

    fn held(&self) -> MutexGuard<'_, Option<Remains>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_told_is_shown_until_the_line_ends() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let (shown, events) = (std::sync::Arc::new(Predecessor::default()), Events::quiet());
        let mine = std::sync::Arc::clone(&shown);
        let said = events.clone();
        let follow = tokio::spawn(async move { mine.follow(7, ours, said).await });
        assert_eq!(shown.remains(), None);
        let word = Word::Remains { connections: 3, exchanges: 2 };
        frame::say(&mut theirs, &word).await.unwrap();
        while shown.remains().is_none() {
            tokio::task::yield_now().await;
        }
        let found = shown.remains().unwrap();
        assert_eq!((found.pid, found.connections, found.exchanges), (7, 3, 2));
        drop(theirs);
        follow.await.unwrap();
        assert_eq!(shown.remains(), None);
        assert!(events.recent().iter().any(|event| event.what == "predecessor-left"));
    }
}
