//! Routes for events: the latest ones, and a stream of those to come (server-sent events, WHATWG HTML §9.2), alone or
//! with state and rates.
//!
//! A reader that is slow loses the oldest and is told how many; it never holds up who has something to say.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as Turn, Poll};
use std::time::Duration;

use api::types::{Event, Events, Level, Lost};
use axum::Json;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use hyper::body::Frame;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, mpsc};

use super::context::Context;
use super::counts::Why;
use super::live::{STREAMS, Update};
use super::refusal::Refusal;

type Held = State<Arc<Context>>;

/// Frames that may wait for a reader.
const FRAMES: usize = 16;
/// The same of state, each of which may be megabytes.
const LARGE_FRAMES: usize = 1;
/// A comment after so long a silence, so that both ends know that the other one lives.
const SILENCE: Duration = Duration::from_secs(15);

pub(super) async fn events(State(context): Held) -> Json<Events> {
    let recent = context.vitals.control.events().recent();
    Json(Events { events: recent.iter().map(event).collect() })
}

pub(super) async fn stream(State(context): Held) -> Response {
    let mut events = context.vitals.control.events().follow();
    let (frames, body) = mpsc::channel(FRAMES);
    tokio::spawn(async move {
        loop {
            let text = match tokio::time::timeout(SILENCE, events.recv()).await {
                Ok(Ok(one)) => frame(&event(&one)),
                Ok(Err(RecvError::Lagged(lost))) => format!(": {lost} events were lost\n\n"),
                Ok(Err(RecvError::Closed)) => return,
                Err(_) => ": still here\n\n".to_owned(),
            };
            // A reader that takes nothing for so long has gone.
            let sent = frames.send_timeout(Bytes::from(text), SILENCE).await;
            if sent.is_err() {
                return;
            }
        }
    });
    let kind = [(header::CONTENT_TYPE, api::routes::EVENT_STREAM)];
    (kind, Body::new(Frames(body))).into_response()
}

pub(super) async fn live(State(context): Held) -> Result<Response, Refusal> {
    let counts = Arc::clone(&context.vitals.served);
    let Some((seat, last, updates)) = context.live.join() else {
        counts.refuse(Why::Streams);
        let detail = format!("{STREAMS} streams are open already, which is the most");
        return Err(
            Refusal::new(503, "streams", detail).advise("read /v1/status and /v1/report instead")
        );
    };
    let events = context.vitals.control.events().follow();
    let (frames, body) = mpsc::channel(LARGE_FRAMES);
    let lose = move |updates| counts.lose(updates);
    tokio::spawn(Follower { _seat: seat, updates, events, frames, seen: None }.run(last, lose));
    let kind = [(header::CONTENT_TYPE, api::routes::EVENT_STREAM)];
    Ok((kind, Body::new(Frames(body))).into_response())
}

/// Somebody who watches state, rates and events.
struct Follower<S> {
    /// Its place among those that may watch.
    _seat: S,
    updates: broadcast::Receiver<Arc<Update>>,
    events: broadcast::Receiver<crate::event::Event>,
    frames: mpsc::Sender<Bytes>,
    /// The number of the update that was sent last.
    seen: Option<u64>,
}

impl<S: Send> Follower<S> {
    /// Until it reads no more, or the daemon is gone.
    async fn run(mut self, last: Option<Arc<Update>>, lose: impl Fn(u64)) {
        if let Some(last) = last
            && !self.show(&last).await
        {
            return;
        }
        loop {
            let goes_on = tokio::select! {
                update = self.updates.recv() => match update {
                    Ok(update) => self.show(&update).await,
                    Err(RecvError::Lagged(updates)) => {
                        lose(updates);
                        self.seen = None;
                        self.tell_lost(Lost { updates, events: 0 }).await
                    }
                    Err(RecvError::Closed) => false,
                },
                one = self.events.recv() => match one {
                    Ok(one) => {
                        let json = serde_json::to_string(&event(&one)).unwrap_or_default();
                        self.send(format!("event: event\ndata: {json}\n\n").into()).await
                    }
                    Err(RecvError::Lagged(events)) => self.tell_lost(Lost { updates: 0, events }).await,
                    Err(RecvError::Closed) => false,
                },
                () = self.frames.closed() => false,
            };
            if !goes_on {
                return;
            }
        }
    }

    async fn show(&mut self, update: &Update) -> bool {
        if self.seen.is_some_and(|seen| update.sequence() <= seen) {
            return true;
        }
        let frame = update.frame(self.seen);
        self.seen = Some(update.sequence());
        self.send(frame).await
    }

    async fn tell_lost(&self, lost: Lost) -> bool {
        let json = serde_json::to_string(&lost).unwrap_or_default();
        self.send(format!("event: lost\ndata: {json}\n\n").into()).await
    }

    /// A reader that takes nothing for so long has gone.
    async fn send(&self, frame: Bytes) -> bool {
        self.frames.send_timeout(frame, SILENCE).await.is_ok()
    }
}

fn frame(event: &Event) -> String {
    // Strings and numbers: it cannot fail, and JSON has no line breaks of its own.
    let json = serde_json::to_string(event).unwrap_or_default();
    format!("event: {}\ndata: {json}\n\n", event.what)
}

fn event(event: &crate::event::Event) -> Event {
    let about = event.about.iter().map(|(key, value)| ((*key).to_owned(), value.clone()));
    Event {
        at_unix_ms: event.at_ms,
        level: match event.level {
            crate::event::Level::Info => Level::Info,
            crate::event::Level::Warning => Level::Warning,
            crate::event::Level::Error => Level::Error,
        },
        what: event.what.into(),
        text: event.text.clone(),
        about: about.collect(),
    }
}

/// Frames from a channel as a body.
struct Frames(mpsc::Receiver<Bytes>);

impl HttpBody for Frames {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        turn: &mut Turn<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(turn).map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// The next frame's kind.
    async fn kind(body: &mut mpsc::Receiver<Bytes>) -> String {
        let frame = body.recv().await.unwrap();
        let text = std::str::from_utf8(&frame).unwrap();
        text.lines().next().unwrap().trim_start_matches("event: ").to_owned()
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_reader_is_told_what_it_lost_and_then_gets_the_whole() {
        let (feed, updates) = broadcast::channel(4);
        let (_events, events) = broadcast::channel(4);
        let (frames, mut body) = mpsc::channel(LARGE_FRAMES);
        let lost = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&lost);
        let follower = Follower { _seat: (), updates, events, frames, seen: None };
        let first = Arc::new(Update::fake(1));
        let followed = tokio::spawn(follower.run(Some(first), move |updates| {
            count.fetch_add(updates, Ordering::Relaxed);
        }));
        assert_eq!(kind(&mut body).await, "state");
        feed.send(Arc::new(Update::fake(1))).unwrap();
        feed.send(Arc::new(Update::fake(2))).unwrap();
        assert_eq!(kind(&mut body).await, "change", "the first one had been sent");
        // One frame waits in the channel and one in the hand; of the others four are kept.
        for sequence in 3..13 {
            feed.send(Arc::new(Update::fake(sequence))).unwrap();
            tokio::task::yield_now().await;
        }
        let mut kinds = Vec::new();
        while kinds.last().is_none_or(|kind| kind != "state") {
            kinds.push(kind(&mut body).await);
        }
        assert_eq!(kinds.iter().filter(|kind| *kind == "lost").count(), 1, "{kinds:?}");
        assert!(lost.load(Ordering::Relaxed) > 0);
        drop(body);
        followed.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_reader_that_takes_nothing_is_left() {
        let (feed, updates) = broadcast::channel(4);
        let (_events, events) = broadcast::channel(4);
        let (frames, _body) = mpsc::channel(LARGE_FRAMES);
        let follower = Follower { _seat: (), updates, events, frames, seen: None };
        let followed = tokio::spawn(follower.run(None, drop));
        for sequence in 1..4 {
            feed.send(Arc::new(Update::fake(sequence))).unwrap();
        }
        followed.await.unwrap();
    }
}
