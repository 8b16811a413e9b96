//! The access log's thread: takes batches, writes them, follows orders between two of them.
//!
//! It decides nothing about what is logged and never makes a worker wait.

use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::sync::atomic::Ordering;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use model::config::{AccessLogTarget, SyslogTransport};
use rustix::io::Errno;

use super::shared::{AccessLogMessage, NoticeCallback, SharedAccessLog, count_lines};
use super::sink::AccessLogSink;

/// Each cause is logged at most once in this time.
/// A minute: a disk that stays full is seen and does not fill the event log.
const QUIET: Duration = Duration::from_secs(60);
/// The delay before a retry of a target that did not open. A pipe without a reader or a full disk is noticed within a
/// second of its repair.
const OPEN_AGAIN: Duration = Duration::from_secs(1);

/// The state of the writer thread.
pub(super) struct AccessLogWriter {
    shared: Arc<SharedAccessLog>,
    sink: Option<AccessLogSink>,
    target: AccessLogTarget,
    notice: NoticeCallback,
    last_notices: HashMap<NoticeCause, Instant>,
    opened: Instant,
    /// The last line was cut by an error: the next write begins with a line feed.
    torn: bool,
}

/// Why the target fails, as far as notices about it are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct NoticeCause {
    /// What could not be done.
    action: &'static str,
    /// The error number of the system call.
    errno: Option<i32>,
}

/// A write that failed on its way.
struct PartialWrite {
    /// Bytes that were written before.
    written: usize,
    error: io::Error,
}

impl AccessLogWriter {
    pub(super) fn new(
        shared: Arc<SharedAccessLog>,
        sink: Option<AccessLogSink>,
        notice: NoticeCallback,
    ) -> AccessLogWriter {
        let target = shared.target.lock().unwrap_or_else(PoisonError::into_inner).clone();
        AccessLogWriter {
            shared,
            sink,
            target,
            notice,
            last_notices: HashMap::new(),
            opened: Instant::now(),
            torn: false,
        }
    }

    /// Runs until it is stopped and the queue is empty, or until it must give up.
    pub(super) fn run(mut self, inbox: &Receiver<AccessLogMessage>) {
        loop {
            // Loaded before the queue is read: lines that were queued before `stop` are still written.
            let stopping = self.shared.stop.load(Ordering::Acquire);
            let message = if stopping { inbox.try_recv().ok() } else { inbox.recv().ok() };
            let Some(message) = message else { return };
            self.handle_requests();
            if let AccessLogMessage::Lines(lines) = message {
                self.shared.queued.fetch_sub(lines.len(), Ordering::Relaxed);
                self.batch(&lines);
                self.keep(lines);
            }
            // Checked after the batch, so that lines removed from the queue are written or counted.
            if self.shared.give_up.load(Ordering::Acquire) {
                return;
            }
        }
    }

    /// Reopens the target on request, and after a failure.
    fn handle_requests(&mut self) {
        // A request after the swap sets the flag for the next turn.
        let asked = self.shared.reopen.swap(false, Ordering::AcqRel);
        let missing = self.sink.is_none() && self.target != AccessLogTarget::Off;
        let again = missing && self.opened.elapsed() >= OPEN_AGAIN;
        if !asked && !again {
            return;
        }
        self.target = self.shared.target.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.opened = Instant::now();
        match AccessLogSink::open(&self.target) {
            Ok(sink) => {
                self.sink = sink;
                self.torn = false;
            }
            Err(error) => self.failed("opened", &error),
        }
    }

    /// Keeps lines for those who ask, also when the target did not take them.
    fn keep(&self, lines: Vec<u8>) {
        if self.target != AccessLogTarget::Off {
            let count = count_lines(&lines);
            self.shared.recent.lock().unwrap_or_else(PoisonError::into_inner).add(lines, count);
        }
    }

    fn batch(&mut self, lines: &[u8]) {
        if self.sink.is_none() {
            if self.target != AccessLogTarget::Off {
                self.shared.dropped_target.fetch_add(count_lines(lines), Ordering::Relaxed);
            }
            return;
        }
        if self.torn {
            match self.write_all(b"\n") {
                Ok(()) => self.torn = false,
                Err(PartialWrite { error, .. }) => return self.lost(lines, 0, &error),
            }
        }
        let mut rest = lines;
        loop {
            match self.write_all(rest) {
                Ok(()) => {
                    self.shared.written.fetch_add(count_lines(rest), Ordering::Relaxed);
                    self.shared.failing.store(false, Ordering::Relaxed);
                    return;
                }
                // No datagram has room for this line; the others may fit.
                Err(PartialWrite { written, error })
                    if error.raw_os_error() == Some(Errno::MSGSIZE.raw_os_error()) =>
                {
                    let line = rest[written..].split_inclusive(|byte| *byte == b'\n').next();
                    let end = written + line.map_or(0, <[u8]>::len);
                    self.lost(&rest[..end], written, &error);
                    rest = &rest[end..];
                }
                Err(PartialWrite { written, error }) => return self.lost(rest, written, &error),
            }
        }
    }

    /// All of it, or how much was written and why not more.
    fn write_all(&mut self, bytes: &[u8]) -> Result<(), PartialWrite> {
        let Some(sink) = &mut self.sink else { return Ok(()) };
        let mut written = 0;
        while written < bytes.len() {
            match sink.write(&bytes[written..]) {
                Ok(0) => {
                    return Err(PartialWrite { written, error: ErrorKind::WriteZero.into() });
                }
                Ok(n) => written += n,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(PartialWrite { written, error }),
            }
        }
        Ok(())
    }

    fn lost(&mut self, lines: &[u8], done: usize, error: &io::Error) {
        let whole = count_lines(&lines[..done]);
        self.shared.written.fetch_add(whole, Ordering::Relaxed);
        self.shared.dropped_target.fetch_add(count_lines(lines) - whole, Ordering::Relaxed);
        self.torn |= done > 0 && lines[done - 1] != b'\n';
        let is_over = match &self.target {
            // A pipe whose reader left may get a new one, a file on a full disk may be rotated away.
            AccessLogTarget::File(_) => error.kind() == ErrorKind::BrokenPipe,
            AccessLogTarget::Syslog(server) => {
                server.transport != SyslogTransport::Udp && error.kind() != ErrorKind::WouldBlock
            }
            AccessLogTarget::Stdout | AccessLogTarget::Stderr | AccessLogTarget::Off => false,
        };
        if is_over {
            self.sink = None;
            self.torn = false;
        }
        self.failed("written", error);
    }

    fn failed(&mut self, what: &'static str, error: &io::Error) {
        self.shared.errors.fetch_add(1, Ordering::Relaxed);
        self.shared.failing.store(true, Ordering::Relaxed);
        let why = match error.kind() {
            ErrorKind::WouldBlock => "nobody reads from it".to_owned(),
            ErrorKind::StorageFull => "the disk is full".to_owned(),
            _ => error.to_string(),
        };
        let now = Instant::now();
        let cause = NoticeCause { action: what, errno: error.raw_os_error() };
        if self.last_notices.get(&cause).is_some_and(|at| now.duration_since(*at) < QUIET) {
            return;
        }
        self.last_notices.insert(cause, now);
        let target = match &self.target {
            AccessLogTarget::File(path) => path.display().to_string(),
            AccessLogTarget::Stdout => "standard output".into(),
            AccessLogTarget::Stderr => "standard error".into(),
            AccessLogTarget::Syslog(server) => server.to_string(),
            AccessLogTarget::Off => "off".into(),
        };
        (self.notice)(format!(
            "access log: {target} cannot be {what}: {why}; lines are dropped and counted until it can"
        ));
    }
}
