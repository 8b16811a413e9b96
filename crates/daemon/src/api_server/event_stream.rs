//! Routes for events: the latest ones, and a stream of those to come (server-sent events, WHATWG HTML §9.2), alone or
//! with state and rates.
//!
//! A reader that is slow loses the oldest and is sent their number; it never blocks the sender.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as Turn, Poll};
use std::time::Duration;

use api::types::{Event, Events, Level, LostUpdates};
use axum::Json;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use hyper::body::Frame;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, mpsc};

use super::context::ApiContext;
use super::live_feed::{LiveFeedReader, LiveUpdate, STREAMS};
use super::problem::ApiProblem;
use crate::util::admin_listeners::api_counters::RefusalReason;

type SharedContext = State<Arc<ApiContext>>;

/// Frames that may wait for a reader.
/// Some seconds of events for a reader that is busy.
const FRAMES: usize = 16;
/// The same of state, each of which may be megabytes.
const LARGE_FRAMES: usize = 1;
/// A comment is sent after this silence, so that both ends notice a dead connection within it.
/// Proxies in between close silent connections; nginx does after 60 s by default (proxy_read_timeout).
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);

pub(super) async fn recent_events(State(context): SharedContext) -> Json<Events> {
    let recent = context.report_sources.control.events().recent();
    Json(Events { events: recent.iter().map(event).collect() })
}

pub(super) async fn stream_events(State(context): SharedContext) -> Response {
    let mut events = context.report_sources.control.events().follow();
    let (frames, body) = mpsc::channel(FRAMES);
    tokio::spawn(async move {
        loop {
            let text = match tokio::time::timeout(KEEP_ALIVE_INTERVAL, events.recv()).await {
                Ok(Ok(logged)) => frame(&event(&logged)),
                Ok(Err(RecvError::Lagged(lost))) => format!(": {lost} events were lost\n\n"),
                Ok(Err(RecvError::Closed)) => return,
                Err(_) => ": still here\n\n".to_owned(),
            };
            // A client that reads nothing for this time counts as disconnected.
            let sent = frames.send_timeout(Bytes::from(text), KEEP_ALIVE_INTERVAL).await;
            if sent.is_err() {
                return;
            }
        }
    });
    let kind = [(header::CONTENT_TYPE, api::routes::EVENT_STREAM)];
    (kind, Body::new(FrameBody(body))).into_response()
}

pub(super) async fn stream_live(State(context): SharedContext) -> Result<Response, ApiProblem> {
    let counts = Arc::clone(&context.report_sources.api_counters);
    let Some(LiveFeedReader { subscription, last, updates }) = context.live.subscribe() else {
        counts.record_refusal(RefusalReason::Streams);
        let detail = format!("{STREAMS} streams are open already, which is the most");
        return Err(ApiProblem::new(503, "streams", detail)
            .with_hint("read /v1/status and /v1/report instead"));
    };
    let events = context.report_sources.control.events().follow();
    let (frames, body) = mpsc::channel(LARGE_FRAMES);
    let lose = move |updates| counts.record_lost_updates(updates);
    tokio::spawn(
        EventSubscriber {
            _subscription: subscription,
            updates,
            events,
            frames,
            last_sequence: None,
        }
        .run(last, lose),
    );
    let kind = [(header::CONTENT_TYPE, api::routes::EVENT_STREAM)];
    Ok((kind, Body::new(FrameBody(body))).into_response())
}

/// One client of the event stream.
struct EventSubscriber<S> {
    /// Counts against the limit of subscribers.
    _subscription: S,
    updates: broadcast::Receiver<Arc<LiveUpdate>>,
    events: broadcast::Receiver<crate::util::event::DaemonEvent>,
    frames: mpsc::Sender<Bytes>,
    /// The number of the update that was sent last.
    last_sequence: Option<u64>,
}

impl<S: Send> EventSubscriber<S> {
    /// Runs until the client stops reading, or the daemon stops.
    async fn run(mut self, last: Option<Arc<LiveUpdate>>, lose: impl Fn(u64)) {
        if let Some(last) = last
            && !self.send_update(&last).await
        {
            return;
        }
        loop {
            let goes_on = tokio::select! {
                update = self.updates.recv() => match update {
                    Ok(update) => self.send_update(&update).await,
                    Err(RecvError::Lagged(updates)) => {
                        lose(updates);
                        self.last_sequence = None;
                        self.send_lost(LostUpdates { updates, events: 0 }).await
                    }
                    Err(RecvError::Closed) => false,
                },
                received = self.events.recv() => match received {
                    Ok(received) => {
                        let json = serde_json::to_string(&event(&received)).unwrap_or_default();
                        self.send(format!("event: event\ndata: {json}\n\n").into()).await
                    }
                    Err(RecvError::Lagged(events)) => self.send_lost(LostUpdates { updates: 0, events }).await,
                    Err(RecvError::Closed) => false,
                },
                () = self.frames.closed() => false,
            };
            if !goes_on {
                return;
            }
        }
    }

    async fn send_update(&mut self, update: &LiveUpdate) -> bool {
        if self.last_sequence.is_some_and(|seen| update.sequence() <= seen) {
            return true;
        }
        let frame = update.frame(self.last_sequence);
        self.last_sequence = Some(update.sequence());
        self.send(frame).await
    }

    async fn send_lost(&self, lost: LostUpdates) -> bool {
        let json = serde_json::to_string(&lost).unwrap_or_default();
        self.send(format!("event: lost\ndata: {json}\n\n").into()).await
    }

    /// A client that reads nothing for this time counts as disconnected.
    async fn send(&self, frame: Bytes) -> bool {
        self.frames.send_timeout(frame, KEEP_ALIVE_INTERVAL).await.is_ok()
    }
}

fn frame(event: &Event) -> String {
    // The types hold strings and numbers only, so serializing cannot fail; JSON escapes line breaks.
    let json = serde_json::to_string(event).unwrap_or_default();
    format!("event: {}\ndata: {json}\n\n", event.kind)
}

fn event(event: &crate::util::event::DaemonEvent) -> Event {
    let about = event.about.iter().map(|(key, value)| ((*key).to_owned(), value.clone()));
    Event {
        at_unix_ms: event.at_ms,
        level: match event.level {
            model::config::EventLevel::Info => Level::Info,
            model::config::EventLevel::Warning => Level::Warning,
            model::config::EventLevel::Error => Level::Error,
        },
        kind: event.kind.into(),
        text: event.text.clone(),
        about: about.collect(),
    }
}

/// Frames from a channel as a body.
struct FrameBody(mpsc::Receiver<Bytes>);

impl HttpBody for FrameBody {
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
    async fn a_slow_reader_learns_what_it_lost_and_then_gets_the_whole() {
        let (feed, updates) = broadcast::channel(4);
        let (_events, events) = broadcast::channel(4);
        let (frames, mut body) = mpsc::channel(LARGE_FRAMES);
        let lost = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&lost);
        let follower =
            EventSubscriber { _subscription: (), updates, events, frames, last_sequence: None };
        let first = Arc::new(LiveUpdate::fake(1));
        let followed = tokio::spawn(follower.run(Some(first), move |updates| {
            count.fetch_add(updates, Ordering::Relaxed);
        }));
        assert_eq!(kind(&mut body).await, "state");
        feed.send(Arc::new(LiveUpdate::fake(1))).unwrap();
        feed.send(Arc::new(LiveUpdate::fake(2))).unwrap();
        assert_eq!(kind(&mut body).await, "change", "the first one had been sent");
        // One frame waits in the channel and one is being sent; four of the others are stored.
        for sequence in 3..13 {
            feed.send(Arc::new(LiveUpdate::fake(sequence))).unwrap();
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
        let follower =
            EventSubscriber { _subscription: (), updates, events, frames, last_sequence: None };
        let followed = tokio::spawn(follower.run(None, drop));
        for sequence in 1..4 {
            feed.send(Arc::new(LiveUpdate::fake(sequence))).unwrap();
        }
        followed.await.unwrap();
    }
}
