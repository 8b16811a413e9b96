//! What the daemon has to say about itself: one line an event to standard error, the last ones kept for the API.
//!
//! Saying something never blocks: lines go through a bounded queue to a thread of their own, and what finds it
//! full is counted. Exchanges are not events: the access log has them.

use std::collections::{BTreeMap, VecDeque};
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;
use tokio::sync::broadcast;

/// Lines that may wait for standard error.
const QUEUE: usize = 1024;
/// Events kept for the API, and for a subscriber that is slow.
const KEPT: usize = 256;
/// Bytes of one event's sentence; more is cut.
const TEXT_BYTES: usize = 2048;
/// How long `flush` waits for a standard error that nobody reads.
const FLUSH: Duration = Duration::from_secs(1);

/// How grave an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// Good to know.
    Info,
    /// Something to look at.
    Warning,
    /// Something that was asked for could not be done.
    Error,
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Event {
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// How grave.
    pub level: Level,
    /// Its kind, kebab-case: what scripts look for.
    pub what: &'static str,
    /// A sentence for people.
    pub text: String,
    /// What it is about, for programs.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub about: BTreeMap<&'static str, String>,
}

/// The form of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// `level what: text`, with the priority prefix of sd-daemon(3) when the journal reads it.
    #[default]
    Text,
    /// One JSON object.
    Json,
}

/// Where events go; cheap to clone.
#[derive(Clone, Debug)]
pub struct Events {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    form: Form,
    journal: bool,
    queue: Option<SyncSender<Message>>,
    kept: Mutex<VecDeque<Event>>,
    followers: broadcast::Sender<Event>,
    dropped: AtomicU64,
    counted: Mutex<BTreeMap<&'static str, u64>>,
}

enum Message {
    Line(Vec<u8>),
    Flush(SyncSender<()>),
}

impl Events {
    /// Events that go to standard error. Without a thread to write them (none could be started) they are kept
    /// for the API all the same.
    pub fn stderr(form: Form) -> Events {
        // Set by systemd when standard error is the journal.
        Events::with(
            form,
            std::env::var_os("JOURNAL_STREAM").is_some(),
            Box::new(std::io::stderr()),
        )
    }

    /// Events that go to `to`.
    pub fn to(form: Form, to: Box<dyn Write + Send>) -> Events {
        Events::with(form, false, to)
    }

    /// Events that are kept for the API and written nowhere: for `try` and for tests.
    pub fn quiet() -> Events {
        Events::made(Form::Text, false, None)
    }

    fn with(form: Form, journal: bool, mut to: Box<dyn Write + Send>) -> Events {
        let (queue, lines) = sync_channel(QUEUE);
        let thread = std::thread::Builder::new().name("events".to_owned()).spawn(move || {
            for message in lines {
                match message {
                    // A standard error that is closed or full has nobody to complain to.
                    Message::Line(line) => drop(to.write_all(&line)),
                    Message::Flush(done) => {
                        drop(to.flush());
                        let _ = done.try_send(());
                    }
                }
            }
        });
        Events::made(form, journal, thread.ok().map(|_| queue))
    }

    fn made(form: Form, journal: bool, queue: Option<SyncSender<Message>>) -> Events {
        let (followers, _) = broadcast::channel(KEPT);
        let kept = Mutex::new(VecDeque::with_capacity(KEPT));
        let (dropped, counted) = (AtomicU64::new(0), Mutex::default());
        let shared = Shared { form, journal, queue, kept, followers, dropped, counted };
        Events { shared: Arc::new(shared) }
    }

    /// Good to know.
    pub fn info(&self, what: &'static str, text: impl Into<String>) {
        self.tell(Level::Info, what, text, &[]);
    }

    /// Something to look at.
    pub fn warn(&self, what: &'static str, text: impl Into<String>) {
        self.tell(Level::Warning, what, text, &[]);
    }

    /// Something that was asked for could not be done.
    pub fn error(&self, what: &'static str, text: impl Into<String>) {
        self.tell(Level::Error, what, text, &[]);
    }

    /// The last events, oldest first.
    pub fn recent(&self) -> Vec<Event> {
        self.kept().iter().cloned().collect()
    }

    /// Follows events from now on; a slow follower loses the oldest.
    pub fn follow(&self) -> broadcast::Receiver<Event> {
        self.shared.followers.subscribe()
    }

    /// Lines that were not written because too many were waiting.
    pub fn dropped(&self) -> u64 {
        self.shared.dropped.load(Ordering::Relaxed)
    }

    /// Waits, for a second at most, until what was said so far is written.
    pub fn flush(&self) {
        let Some(queue) = &self.shared.queue else { return };
        let (done, wait) = sync_channel(1);
        if queue.try_send(Message::Flush(done)).is_ok() {
            let _ = wait.recv_timeout(FLUSH);
        }
    }

    /// Says something with what it is about, for programs.
    pub fn tell(
        &self,
        level: Level,
        what: &'static str,
        text: impl Into<String>,
        about: &[(&'static str, String)],
    ) {
        let mut text = text.into();
        cut(&mut text);
        *self.counted().entry(what).or_default() += 1;
        let about = about.iter().cloned().collect();
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let at_ms = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        let event = Event { at_ms, level, what, text, about };
        if let Some(queue) = &self.shared.queue {
            let line = line(&event, self.shared.form, self.shared.journal);
            if let Err(TrySendError::Full(_)) = queue.try_send(Message::Line(line)) {
                self.shared.dropped.fetch_add(1, Ordering::Relaxed);
            }
        }
        // Nobody may be following.
        let _ = self.shared.followers.send(event.clone());
        let mut kept = self.kept();
        if kept.len() == KEPT {
            kept.pop_front();
        }
        kept.push_back(event);
    }

    /// How many of each kind there were.
    pub fn counts(&self) -> Vec<(&'static str, u64)> {
        self.counted().iter().map(|(what, count)| (*what, *count)).collect()
    }

    fn counted(&self) -> MutexGuard<'_, BTreeMap<&'static str, u64>> {
        self.shared.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<Event>> {
        self.shared.kept.lock().unwrap_or_else(PoisonError::into_inner)
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

/// One line. A sentence of several lines (a list of mistakes) keeps them as text, each with the prefix.
fn line(event: &Event, form: Form, journal: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(event.text.len() + 64);
    if form == Form::Json {
        // Strings and numbers only: it cannot fail, and if it did the line would merely be short.
        drop(serde_json::to_writer(&mut out, event));
        out.push(b'\n');
        return out;
    }
    let (word, priority) = match event.level {
        Level::Info => ("info", "<6>"),
        Level::Warning => ("warning", "<4>"),
        Level::Error => ("error", "<3>"),
    };
    let prefix = if journal { priority } else { "" };
    let mut lines = event.text.split('\n');
    let first = lines.next().unwrap_or_default();
    out.extend_from_slice(format!("{prefix}{word} {}: {first}\n", event.what).as_bytes());
    for more in lines {
        out.extend_from_slice(format!("{prefix}  {more}\n").as_bytes());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Out(Arc<Mutex<Vec<u8>>>);

    impl Write for Out {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn written(form: Form, say: impl FnOnce(&Events)) -> String {
        let out = Arc::new(Mutex::new(Vec::new()));
        let events = Events::to(form, Box::new(Out(out.clone())));
        say(&events);
        events.flush();
        let bytes = out.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn text_is_a_line_an_event_and_several_lines_are_indented() {
        let text = written(Form::Text, |events| {
            events.info("ready", "two services");
            events.error("config-invalid", "first\nsecond");
        });
        assert_eq!(text, "info ready: two services\nerror config-invalid: first\n  second\n");
    }

    #[test]
    fn json_is_one_object_a_line_whatever_the_text_holds() {
        let text = written(Form::Json, |events| events.warn("odd", "a\n\"b\""));
        assert_eq!(text.matches('\n').count(), 1);
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["level"], "warning");
        assert_eq!(value["text"], "a\n\"b\"");
    }

    #[test]
    fn the_journal_gets_priorities() {
        let event = Event {
            at_ms: 0,
            level: Level::Warning,
            what: "w",
            text: "a\nb".to_owned(),
            about: BTreeMap::new(),
        };
        assert_eq!(line(&event, Form::Text, true), b"<4>warning w: a\n<4>  b\n");
    }

    #[test]
    fn what_is_kept_and_how_long_a_text_may_be_is_bounded() {
        let events = Events::quiet();
        let mut follower = events.follow();
        for _ in 0..KEPT + 10 {
            events.info("again", "é".repeat(TEXT_BYTES));
        }
        assert_eq!(events.recent().len(), KEPT);
        assert!(events.recent()[0].text.len() <= TEXT_BYTES + '…'.len_utf8());
        assert!(matches!(
            follower.try_recv(),
            Err(tokio::sync::broadcast::error::TryRecvError::Lagged(10))
        ));
    }
}
