//! Which handler answers which path; the same over the unix socket and over TCP.
//!
//! Who may ask is decided before a request comes here.

use std::sync::Arc;
use std::time::Duration;

use api::routes;
use axum::Router;
use axum::extract::{DefaultBodyLimit, Request};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post, put};

use super::context::Context;
use super::once::once;
use super::refusal::Refusal;
use super::{captures, change, edit, look, orders, stream, traces};

/// The longest that one request may take; a report waits up to `INTERVAL_MS_MAX` of it.
const LONGEST: Duration = Duration::from_secs(90);
const _: () = assert!(LONGEST.as_millis() > api::types::report::INTERVAL_MS_MAX as u128);
/// Bodies that are not configurations.
const SMALL_BODY: usize = 64 * 1024;

/// All routes.
pub(super) fn router(context: Arc<Context>) -> Router {
    let large = DefaultBodyLimit::max(routes::CONFIG_BYTES_MAX);
    Router::new()
        .route(routes::PLAN, post(change::plan))
        .route(routes::APPLY, post(change::apply))
        .route(routes::CONFIG, get(look::config).put(edit::put).patch(edit::patch_whole))
        .route(routes::CONFIG_SERVICE, get(edit::service).patch(edit::patch_service))
        .route(routes::CONFIG_RULE, get(edit::rule).patch(edit::patch_rule))
        .route(routes::CONFIG_POOL, get(edit::pool).patch(edit::patch_pool))
        .route(routes::CONFIG_SERVER, get(edit::server).patch(edit::patch_server))
        .layer(large)
        .route(routes::EXPLAIN_TRACE, post(traces::sent))
        .merge(small())
        .fallback(async || Refusal::new(404, "no-route", "there is nothing at this path"))
        .method_not_allowed_fallback(async || {
            Refusal::new(405, "method", "this path takes another method")
        })
        .layer(from_fn(in_time))
        .layer(from_fn_with_state(Arc::clone(&context.once), once))
        .with_state(context)
}

fn small() -> Router<Arc<Context>> {
    Router::new()
        .route(routes::STATUS, get(look::status))
        .route(routes::EXPLAIN_SERVER, get(look::explain_server))
        .route(routes::EXPLAIN_REQUEST, post(look::explain_request))
        .route(routes::EXPLAIN_SLOW, get(look::explain_slow))
        .route(routes::EXPLAIN_USERS, get(look::explain_users))
        .route(routes::EXPLAIN_NAME, get(look::explain_name))
        .route(routes::EXPLAIN_CAPTURE, get(traces::stored))
        .route(routes::CONFIG_KEYS, get(look::keys))
        .route(routes::CAPACITY, get(look::capacity))
        .route(routes::REPORT, get(look::report))
        .route(routes::REFUSED, get(look::refused))
        .route(routes::HISTORY, get(look::history))
        .route(routes::METRICS, get(look::metrics))
        .route(routes::ME, get(look::me))
        .route(routes::OPENAPI, get(look::openapi))
        .route(routes::EVENTS, get(stream::events))
        .route(routes::EVENTS_STREAM, get(stream::stream))
        .route(routes::STREAM, get(stream::live))
        .route(routes::GENERATIONS, get(look::generations))
        .route(routes::ROLLBACK, post(change::rollback))
        .route(routes::SERVER, post(orders::server))
        .route(routes::UNDO, post(orders::undo))
        .route(routes::AUDIT, get(orders::audit))
        .route(routes::TAKEOVER, post(orders::takeover))
        .route(routes::LEASE, put(orders::lease))
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
