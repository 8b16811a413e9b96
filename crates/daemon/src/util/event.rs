//! Events of the daemon: one line an event to standard error, the last ones kept in memory for the API.
//!
//! Emitting an event never blocks: lines go through a bounded queue to a thread of their own, and those that find it
//! full are counted. Exchanges are not events: they go to the access log.

use std::collections::{BTreeMap, VecDeque};
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use files::plain_error::plain_error_text;
use model::config::EventLevel;
use serde::Serialize;
use tokio::sync::broadcast;

use super::lasting_faults::LastingFaults;

/// Lines that may wait for standard error.
/// A burst, such as a pool whose servers all go down, fits; with `TEXT_BYTES` each, the memory stays at about 2 MiB.
const QUEUE: usize = 1024;
/// Bounds the events stored for the API, and for a slow subscriber.
/// The page and `status` show the last ones; the log has all.
const RECENT_EVENTS: usize = 256;
/// Bytes of one event's sentence; more is cut.
/// Sentences have one or two lines. A text from outside must not fill the log.
const TEXT_BYTES: usize = 2048;
/// The limit of `flush`, so that a stuck reader of standard error does not prevent the process from ending.
const FLUSH: Duration = Duration::from_secs(1);

/// The fields of an event, for programs: values by name.
pub type EventFields = BTreeMap<&'static str, String>;

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct DaemonEvent {
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    pub level: EventLevel,
    /// Its kind, kebab-case, which scripts match on.
    pub kind: &'static str,
    /// A sentence for people.
    pub text: String,
    /// Its fields, for programs.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub about: EventFields,
}

/// The form of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// `level what: text`, with the priority prefix of sd-daemon(3) when the journal reads it.
    #[default]
    Text,
    Json,
}

/// Where events go; cheap to clone.
#[derive(Clone, Debug)]
pub struct EventLog {
    shared: Arc<SharedEventLog>,
}

#[derive(Debug)]
struct SharedEventLog {
    format: LogFormat,
    journal: bool,
    queue: Option<SyncSender<EventLogMessage>>,
    recent: Mutex<VecDeque<DaemonEvent>>,
    followers: broadcast::Sender<DaemonEvent>,
    dropped: AtomicU64,
    counted: Mutex<BTreeMap<&'static str, u64>>,
    /// The least level that is written.
    level: Mutex<EventLevel>,
    faults: LastingFaults,
}

enum EventLogMessage {
    Line(Vec<u8>),
    Flush(SyncSender<()>),
}

impl EventLog {
    /// Writes events to standard error. If no writer thread can be started, they are stored for the API only.
    pub fn stderr(form: LogFormat) -> EventLog {
        // Set by systemd when standard error is the journal.
        EventLog::with_writer(
            form,
            std::env::var_os("JOURNAL_STREAM").is_some(),
            Box::new(std::io::stderr()),
        )
    }

    /// Events that go to `to`.
    pub fn to_writer(form: LogFormat, to: Box<dyn Write + Send>) -> EventLog {
        EventLog::with_writer(form, false, to)
    }

    /// Stores events for the API and writes them nowhere: for `try` and for tests.
    pub fn quiet() -> EventLog {
        EventLog::from_parts(LogFormat::Text, false, None)
    }

    fn with_writer(form: LogFormat, journal: bool, mut to: Box<dyn Write + Send>) -> EventLog {
        let (queue, lines) = sync_channel(QUEUE);
        let thread = std::thread::Builder::new().name("events".to_owned()).spawn(move || {
            for message in lines {
                match message {
                    // If standard error is closed or full, there is nowhere else to report it.
                    EventLogMessage::Line(line) => drop(to.write_all(&line)),
                    EventLogMessage::Flush(done) => {
                        // A failed flush has no other place to be reported. The waiting side may have given up after
                        // its limit.
                        drop(to.flush());
                        let _ = done.try_send(());
                    }
                }
            }
        });
        EventLog::from_parts(form, journal, thread.ok().map(|_| queue))
    }

    fn from_parts(
        form: LogFormat,
        journal: bool,
        queue: Option<SyncSender<EventLogMessage>>,
    ) -> EventLog {
        let (followers, _) = broadcast::channel(RECENT_EVENTS);
        let kept = Mutex::new(VecDeque::with_capacity(RECENT_EVENTS));
        let dropped = AtomicU64::new(0);
        let counted = Mutex::default();
        let shared = SharedEventLog {
            format: form,
            journal,
            queue,
            recent: kept,
            followers,
            dropped,
            counted,
            level: Mutex::default(),
            faults: LastingFaults::default(),
        };
        EventLog { shared: Arc::new(shared) }
    }

    pub fn info(&self, what: &'static str, text: impl Into<String>) {
        self.emit(EventLevel::Info, what, text, EventFields::new());
    }

    /// Something to look at.
    pub fn warn(&self, what: &'static str, text: impl Into<String>) {
        self.emit(EventLevel::Warning, what, text, EventFields::new());
    }

    /// Logs that a requested action failed.
    pub fn error(&self, what: &'static str, text: impl Into<String>) {
        self.emit(EventLevel::Error, what, text, EventFields::new());
    }

    /// Events below this level are not written from now on. Followers and the API get them all the same.
    pub fn set_level(&self, level: EventLevel) {
        *self.shared.level.lock().unwrap_or_else(PoisonError::into_inner) = level;
    }

    /// The last events, oldest first.
    pub fn recent(&self) -> Vec<DaemonEvent> {
        self.lock_recent().iter().cloned().collect()
    }

    /// Faults that events began, and that are not over.
    pub fn faults(&self) -> &LastingFaults {
        &self.shared.faults
    }

    /// Follows events from now on; a slow follower loses the oldest.
    pub fn follow(&self) -> broadcast::Receiver<DaemonEvent> {
        self.shared.followers.subscribe()
    }

    /// Lines that were not written because too many were waiting.
    pub fn dropped(&self) -> u64 {
        self.shared.dropped.load(Ordering::Relaxed)
    }

    /// Waits until all events are written, for at most a second.
    pub fn flush(&self) {
        let Some(queue) = &self.shared.queue else { return };
        let (done, wait) = sync_channel(1);
        if queue.try_send(EventLogMessage::Flush(done)).is_ok() {
            // After the timeout the caller continues; the thread still writes the queued lines.
            let _ = wait.recv_timeout(FLUSH);
        }
    }

    /// Logs an event with fields for programs.
    pub fn emit(
        &self,
        level: EventLevel,
        what: &'static str,
        text: impl Into<String>,
        about: EventFields,
    ) {
        let mut text = plain_error_text(text);
        cut(&mut text);
        *self.lock_counts().entry(what).or_default() += 1;
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let at_ms = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        let event = DaemonEvent { at_ms, level, kind: what, text, about };
        let least = *self.shared.level.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(queue) = self.shared.queue.as_ref().filter(|_| level >= least) {
            let line = line(&event, self.shared.format, self.shared.journal);
            if let Err(TrySendError::Full(_)) = queue.try_send(EventLogMessage::Line(line)) {
                self.shared.dropped.fetch_add(1, Ordering::Relaxed);
            }
        }
        // An error means that there is no subscriber.
        let _ = self.shared.followers.send(event.clone());
        let mut kept = self.lock_recent();
        if kept.len() == RECENT_EVENTS {
            kept.pop_front();
        }
        kept.push_back(event);
    }

    /// How many of each kind there were.
    pub fn counts(&self) -> BTreeMap<&'static str, u64> {
        self.lock_counts().clone()
    }

    fn lock_counts(&self) -> MutexGuard<'_, BTreeMap<&'static str, u64>> {
        self.shared.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_recent(&self) -> MutexGuard<'_, VecDeque<DaemonEvent>> {
        self.shared.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Cuts at `TEXT_BYTES`, at a character's boundary.
fn cut(text: &mut String) {
    if text.len() > TEXT_BYTES {
        let mut end = TEXT_BYTES;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text.push('…');
    }
}

/// One event in text. Each line of a text with several lines (a list of mistakes) gets the prefix.
fn line(event: &DaemonEvent, form: LogFormat, journal: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(event.text.len() + 64);
    if form == LogFormat::Json {
        // Strings and numbers only: it cannot fail, and if it did the line would merely be short.
        drop(serde_json::to_writer(&mut out, event));
        out.push(b'\n');
        return out;
    }
    let (word, priority) = match event.level {
        EventLevel::Info => ("info", "<6>"),
        EventLevel::Warning => ("warning", "<4>"),
        EventLevel::Error => ("error", "<3>"),
    };
    let prefix = if journal { priority } else { "" };
    let mut lines = event.text.split('\n');
    let first = lines.next().unwrap_or_default();
    out.extend_from_slice(format!("{prefix}{word} {}: {first}\n", event.kind).as_bytes());
    for more in lines {
        out.extend_from_slice(format!("{prefix}  {more}\n").as_bytes());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    struct CapturedOutput(Arc<Mutex<Vec<u8>>>);

    impl Write for CapturedOutput {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn written(form: LogFormat, say: impl FnOnce(&EventLog)) -> String {
        let out = Arc::new(Mutex::new(Vec::new()));
        let events = EventLog::to_writer(form, Box::new(CapturedOutput(out.clone())));
        say(&events);
        events.flush();
        let bytes = out.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn text_is_a_line_an_event_and_several_lines_are_indented() {
        let text = written(LogFormat::Text, |events| {
            events.info("ready", "two services");
            events.error("config-invalid", "first\nsecond");
        });
        assert_eq!(text, "info ready: two services\nerror config-invalid: first\n  second\n");
    }

    #[test]
    fn json_is_one_object_a_line_whatever_the_text_holds() {
        let text = written(LogFormat::Json, |events| events.warn("odd", "a\n\"b\""));
        assert_eq!(text.matches('\n').count(), 1);
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["level"], "warning");
        assert_eq!(value["text"], "a\n\"b\"");
    }

    // Rows: I43
    #[test]
    fn events_below_the_level_are_not_written_and_are_kept_for_the_api() {
        for (level, expected) in [
            (EventLevel::Info, "info a: x\nwarning b: y\nerror c: z\n"),
            (EventLevel::Warning, "warning b: y\nerror c: z\n"),
            (EventLevel::Error, "error c: z\n"),
        ] {
            let text = written(LogFormat::Text, |events| {
                events.set_level(level);
                let mut follower = events.follow();
                events.info("a", "x");
                events.warn("b", "y");
                events.error("c", "z");
                assert_eq!((events.recent().len(), events.counts().len()), (3, 3));
                assert_eq!(follower.try_recv().map(|event| event.kind), Ok("a"));
            });
            assert_eq!(text, expected, "{level:?}");
        }
    }

    // Rows: I43
    #[test]
    fn the_journal_gets_priorities() {
        let event = DaemonEvent {
            at_ms: 0,
            level: EventLevel::Warning,
            kind: "w",
            text: "a\nb".to_owned(),
            about: EventFields::new(),
        };
        assert_eq!(line(&event, LogFormat::Text, true), b"<4>warning w: a\n<4>  b\n");
    }

    #[test]
    fn what_is_kept_and_how_long_a_text_may_be_is_bounded() {
        let events = EventLog::quiet();
        let mut follower = events.follow();
        for _ in 0..RECENT_EVENTS + 10 {
            events.info("again", "é".repeat(TEXT_BYTES));
        }
        assert_eq!(events.recent().len(), RECENT_EVENTS);
        assert!(events.recent()[0].text.len() <= TEXT_BYTES + '…'.len_utf8());
        assert!(matches!(
            follower.try_recv(),
            Err(tokio::sync::broadcast::error::TryRecvError::Lagged(10))
        ));
    }
}
