//! Routes for events: the latest ones, and a stream of those to come (server-sent events, WHATWG HTML §9.2).
//!
//! A reader that is slow loses the oldest and is told how many; it never holds up who has something to say.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as Turn, Poll};
use std::time::Duration;

use api::types::{Event, Events, Level};
use axum::Json;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use hyper::body::Frame;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc;

use super::context::Context;

type Held = State<Arc<Context>>;

/// Frames that may wait for a reader.
const FRAMES: usize = 16;
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
