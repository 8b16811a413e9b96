//! The access log's writer: one thread behind a bounded queue.
//!
//! Workers send batches of whole lines and never wait: a full queue drops the batch and counts it. Problems of the
//! target (a full disk, a pipe without a reader, a missing directory) affect this thread alone. It counts them, logs an
//! event once a minute for each cause, and retries. It formats nothing: lines arrive complete.

pub mod recent_lines;
mod shared;
mod sink;
mod syslog_message;
mod syslog_sink;
mod syslog_tls;
#[cfg(test)]
mod tests;
mod writer;

use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use model::config::{AccessLogTarget, SyslogTransport};

use crate::state::ControlHandle;
use recent_lines::LinesAfter;
pub use shared::NoticeCallback;
use shared::{AccessLogMessage, SharedAccessLog, count_lines};
use sink::AccessLogSink;
use syslog_tls::SyslogTlsSession;
use writer::AccessLogWriter;

/// The key of the settings for a syslog server over TLS.
const TLS: &str = "access-log.tls";

/// Batches that may wait for the thread.
/// A batch has 32 KiB as a rule: 8 MiB of lines.
pub const QUEUE_BATCHES: usize = 256;
/// Bytes that may wait for the thread.
/// A disk that stalls for a second at 50,000 lines of 300 bytes loses none.
pub const QUEUE_BYTES: usize = 16 << 20;

#[derive(Debug)]
pub struct AccessLogger {
    shared: Arc<SharedAccessLog>,
    queue: SyncSender<AccessLogMessage>,
    ended: Mutex<Option<Receiver<()>>>,
}

/// Why the access log could not be started or pointed elsewhere.
#[derive(Debug, thiserror::Error)]
pub enum AccessLogOpenError {
    /// The file cannot be opened, and waiting will not change that.
    #[error("access-log.target: {} cannot be opened for appending: {source}", path.display())]
    File {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    /// The certificate of the syslog server cannot be verified with these settings.
    #[error("{TLS}: {0}")]
    Tls(#[source] std::io::Error),
    /// The thread could not be started.
    #[error("the access log's thread cannot be started: {0}")]
    Thread(#[source] std::io::Error),
}

/// The writer's counters since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccessCounts {
    pub written: u64,
    /// Lines dropped because the queue was full; workers count these by service too.
    pub dropped_queue: u64,
    /// Lines dropped because the target did not take them.
    pub dropped_target: u64,
    /// Failed attempts to open or write the target.
    pub errors: u64,
    /// The last attempt failed.
    pub failing: bool,
}

impl AccessLogger {
    /// Opens the target and starts the thread.
    ///
    /// # Errors
    /// When the target cannot be opened for a reason that does not pass by itself (a missing directory, no
    /// permission), or the thread cannot be started. A full disk or a pipe without reader is not an error here.
    pub fn start(
        target: &AccessLogTarget,
        notice: NoticeCallback,
    ) -> Result<AccessLogger, AccessLogOpenError> {
        let sink = AccessLogSink::open(target).or_else(|error| open_or_retry(target, error))?;
        let (queue, inbox) = sync_channel(QUEUE_BATCHES);
        let (end, ended) = sync_channel(1);
        let shared = Arc::new(SharedAccessLog {
            target: Mutex::new(target.clone()),
            ..SharedAccessLog::default()
        });
        let writer = AccessLogWriter::new(Arc::clone(&shared), sink, notice);
        std::thread::Builder::new()
            .name("access-log".into())
            .spawn(move || {
                writer.run(&inbox);
                // The receiver no longer exists if the caller has stopped waiting.
                let _ = end.send(());
            })
            .map_err(AccessLogOpenError::Thread)?;
        Ok(AccessLogger { shared, queue, ended: Mutex::new(Some(ended)) })
    }

    /// Takes a batch of whole lines, or drops and counts it. Never blocks.
    pub fn log(&self, lines: Vec<u8>) -> bool {
        let size = lines.len();
        if size == 0 {
            return true;
        }
        let room = self.shared.queued.fetch_add(size, Ordering::Relaxed) + size <= QUEUE_BYTES;
        let sent = if room {
            self.queue.try_send(AccessLogMessage::Lines(lines))
        } else {
            Err(TrySendError::Full(AccessLogMessage::Lines(lines)))
        };
        let Err(
            TrySendError::Full(AccessLogMessage::Lines(lines))
            | TrySendError::Disconnected(AccessLogMessage::Lines(lines)),
        ) = sent
        else {
            return true;
        };
        self.shared.queued.fetch_sub(size, Ordering::Relaxed);
        self.shared.dropped_queue.fetch_add(count_lines(&lines), Ordering::Relaxed);
        false
    }

    /// Closes and reopens the target, as after a rotation (SIGUSR1). The old target is used until the new one is open.
    pub fn reopen(&self) {
        // Release pairs with the Acquire of the writer's thread, here and in `stop`.
        self.shared.reopen.store(true, Ordering::Release);
        self.wake();
    }

    /// Switches to another target without losing queued lines.
    ///
    /// # Errors
    /// As `start`; the old target then stays.
    pub fn retarget(&self, target: &AccessLogTarget) -> Result<(), AccessLogOpenError> {
        // A server is connected to by the thread alone, and nothing about it is refused here.
        if !matches!(target, AccessLogTarget::Syslog(_)) {
            drop(AccessLogSink::open(target).or_else(|error| open_or_retry(target, error))?);
        }
        *self.shared.target.lock().unwrap_or_else(PoisonError::into_inner) = target.clone();
        self.reopen();
        Ok(())
    }

    /// The newest lines, after the one with this number.
    pub fn recent_lines(&self, after: Option<u64>) -> LinesAfter {
        self.shared.recent.lock().unwrap_or_else(PoisonError::into_inner).after(after)
    }

    pub fn counts(&self) -> AccessCounts {
        AccessCounts {
            written: self.shared.written.load(Ordering::Relaxed),
            dropped_queue: self.shared.dropped_queue.load(Ordering::Relaxed),
            dropped_target: self.shared.dropped_target.load(Ordering::Relaxed),
            errors: self.shared.errors.load(Ordering::Relaxed),
            failing: self.shared.failing.load(Ordering::Relaxed),
        }
    }

    /// Writes the queue and ends the thread; `false` if the target did not take all of it within `limit`.
    pub fn stop(&self, limit: Duration) -> bool {
        let Some(ended) = self.ended.lock().unwrap_or_else(PoisonError::into_inner).take() else {
            return true;
        };
        // Set before the wake-up message, so that the thread finds the flag when it handles the message.
        self.shared.stop.store(true, Ordering::Release);
        self.wake();
        if ended.recv_timeout(limit).is_err() {
            // The flag ends the thread between two batches; it cannot interrupt a write that hangs.
            self.shared.give_up.store(true, Ordering::Release);
            return false;
        }
        true
    }

    /// A full queue needs no waking: its thread looks at the orders between two batches.
    fn wake(&self) {
        let _ = self.queue.try_send(AccessLogMessage::Wake);
    }
}

/// Follows the active configuration's target until the daemon stops.
pub async fn follow_config(control: ControlHandle, log: Arc<AccessLogger>) {
    let mut snapshots = control.watch();
    let mut target = snapshots.borrow_and_update().config.global.access_log.target.clone();
    while snapshots.changed().await.is_ok() {
        let wanted = snapshots.borrow_and_update().config.global.access_log.target.clone();
        if wanted != target {
            if let Err(error) = log.retarget(&wanted) {
                control
                    .events()
                    .error("access-log", format!("{error}; the log goes on where it was"));
            }
            target = wanted;
        }
    }
}

/// A target that may open later is no reason to refuse a configuration.
/// Why the certificate of the configured syslog server cannot be verified, for `check`.
pub fn syslog_tls_error(target: &AccessLogTarget) -> Option<String> {
    let AccessLogTarget::Syslog(server) = target else { return None };
    let is_tls = server.transport == SyslogTransport::Tls;
    let opened = is_tls.then(|| SyslogTlsSession::open(server));
    opened.and_then(Result::err).map(|error| error.to_string())
}

fn open_or_retry(
    target: &AccessLogTarget,
    error: std::io::Error,
) -> Result<Option<AccessLogSink>, AccessLogOpenError> {
    use rustix::io::Errno;
    let passes = [
        Errno::NXIO,
        Errno::NOSPC,
        Errno::DQUOT,
        Errno::IO,
        Errno::MFILE,
        Errno::NFILE,
        Errno::INTR,
    ]
    .iter()
    .any(|errno| error.raw_os_error() == Some(errno.raw_os_error()));
    match target {
        AccessLogTarget::File(path) if !passes => {
            Err(AccessLogOpenError::File { path: path.clone(), source: error })
        }
        AccessLogTarget::Syslog(_) if error.kind() == ErrorKind::InvalidInput => {
            Err(AccessLogOpenError::Tls(error))
        }
        _ => Ok(None),
    }
}
