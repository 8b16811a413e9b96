//! The local API: `api`'s routes over a unix socket, each mapped onto `Control`.
//!
//! Who may connect is the socket's mode; who did is read from the socket and kept with what they changed. Decisions
//! are the control's: nothing is decided here.

pub mod bind;
mod captures;
mod change;
mod context;
pub mod guard;
mod look;
mod orders;
mod peer;
mod refusal;
mod stream;
#[cfg(test)]
mod tests;

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use api::routes;
use axum::Router;
use axum::extract::{DefaultBodyLimit, Request};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use tokio::net::UnixListener;

use bind::{Bound, Place};
pub use context::{Asked, Context, Stop};
use guard::{Guarded, Terms};
use peer::Peer;
use refusal::Refusal;

/// Programs of this machine, so many at a time.
const TERMS: Terms =
    Terms { connections: 64, silence: Duration::from_secs(120), life: Duration::from_secs(86_400) };
/// The longest that one request may take; a report waits up to `INTERVAL_MS_MAX` of it.
const LONGEST: Duration = Duration::from_secs(90);
const _: () = assert!(LONGEST.as_millis() > api::types::report::INTERVAL_MS_MAX as u128);
/// Bodies that are not configurations.
const SMALL_BODY: usize = 64 * 1024;

/// Serves until `until` is done, then finishes what is under way and removes the socket's file.
///
/// # Errors
/// When the socket cannot be handed to the runtime.
pub async fn run(
    bound: Bound,
    context: Arc<Context>,
    until: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    // Also when the process does not wait for the end of this.
    let _removed_at_the_end = Leaves(bound.place());
    let listener = Guarded::new(UnixListener::from_std(bound.listener)?, TERMS);
    let service = router(context).into_make_service_with_connect_info::<Peer>();
    axum::serve(listener, service).with_graceful_shutdown(until).await
}

struct Leaves(Place);

impl Drop for Leaves {
    fn drop(&mut self) {
        self.0.remove();
    }
}

fn router(context: Arc<Context>) -> Router {
    let large = DefaultBodyLimit::max(routes::CONFIG_BYTES_MAX);
    Router::new()
        .route(routes::PLAN, post(change::plan))
        .route(routes::APPLY, post(change::apply))
        .layer(large)
        .merge(small())
        .fallback(async || Refusal::new(404, "no-route", "there is nothing at this path"))
        .method_not_allowed_fallback(async || {
            Refusal::new(405, "method", "this path takes another method")
        })
        .layer(from_fn(in_time))
        .with_state(context)
}

fn small() -> Router<Arc<Context>> {
    Router::new()
        .route(routes::STATUS, get(look::status))
        .route(routes::EXPLAIN_SERVER, get(look::explain_server))
        .route(routes::EXPLAIN_REQUEST, post(look::explain_request))
        .route(routes::EXPLAIN_SLOW, get(look::explain_slow))
        .route(routes::EXPLAIN_NAME, get(look::explain_name))
        .route(routes::REPORT, get(look::report))
        .route(routes::HISTORY, get(look::history))
        .route(routes::METRICS, get(look::metrics))
        .route(routes::CONFIG, get(look::config))
        .route(routes::EVENTS, get(stream::events))
        .route(routes::EVENTS_STREAM, get(stream::stream))
        .route(routes::GENERATIONS, get(look::generations))
        .route(routes::ROLLBACK, post(change::rollback))
        .route(routes::SERVER, post(orders::server))
        .route(routes::UNDO, post(orders::undo))
        .route(routes::AUDIT, get(orders::audit))
        .route(routes::TAKEOVER, post(orders::takeover))
        .route(routes::CAPTURES, get(captures::list))
        .route(routes::CAPTURE, post(captures::order))
        .route(routes::STOP, post(change::stop))
        .layer(DefaultBodyLimit::max(SMALL_BODY))
}

/// An order that was given is carried out even when its answer comes too late.
async fn in_time(request: Request, next: Next) -> Response {
    match tokio::time::timeout(LONGEST, next.run(request)).await {
        Ok(answer) => answer,
        Err(_) => {
            Refusal::new(504, "slow", "the daemon did not answer in time; look at its status")
                .into_response()
        }
    }
}
