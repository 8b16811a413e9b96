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
use axum::routing::{MethodRouter, get, post, put};

use super::context::ApiContext;
use super::earlier_fields::with_earlier_names;
use super::idempotency::run_once;
use super::path_parameters::{ObjectPath, PoolPath, RulePath, ServerPath, ServicePath};
use super::problem::ApiProblem;
use super::{
    capture_routes, change_routes, config_routes, event_stream, log_route, read_routes,
    server_routes, trace_routes,
};

/// The longest that one request may take; a report waits up to `INTERVAL_MS_MAX` of it.
/// Above `INTERVAL_MS_MAX`, 60 s, and above the limits of everything that a request waits for.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(90);
const _: () = assert!(REQUEST_TIMEOUT.as_millis() > api::types::report::INTERVAL_MS_MAX as u128);
/// Bodies that are not configurations.
/// Commands have a few fields.
const SMALL_BODY: usize = 64 * 1024;

pub(super) fn build_router(context: Arc<ApiContext>) -> Router {
    let large = DefaultBodyLimit::max(routes::CONFIG_BYTES_MAX);
    Router::new()
        .route(routes::PLAN, post(change_routes::plan))
        .route(routes::APPLY, post(change_routes::apply))
        .route(
            routes::CONFIG,
            get(read_routes::config)
                .put(config_routes::put_config)
                .patch(config_routes::patch_config),
        )
        .route(routes::CONFIG_SERVICE, object_routes::<ServicePath>())
        .route(routes::CONFIG_RULE, object_routes::<RulePath>())
        .route(routes::CONFIG_POOL, object_routes::<PoolPath>())
        .route(routes::CONFIG_SERVER, object_routes::<ServerPath>())
        .layer(large)
        .route(routes::EXPLAIN_TRACE, post(trace_routes::explain_upload))
        .merge(limit_body())
        .fallback(async || ApiProblem::new(404, "no-route", "there is nothing at this path"))
        .method_not_allowed_fallback(async || {
            ApiProblem::new(405, "method", "this path takes another method")
        })
        .layer(from_fn(with_earlier_names))
        .layer(from_fn(with_deadline))
        .layer(from_fn_with_state(Arc::clone(&context.idempotency), run_once))
        .with_state(context)
}

fn object_routes<P: ObjectPath + 'static>() -> MethodRouter<Arc<ApiContext>> {
    get(config_routes::get_object::<P>)
        .put(config_routes::put_object::<P>)
        .patch(config_routes::patch_object::<P>)
        .delete(config_routes::delete_object::<P>)
}

fn limit_body() -> Router<Arc<ApiContext>> {
    Router::new()
        .route(routes::STATUS, get(read_routes::status))
        .route(routes::EXPLAIN_SERVER, get(read_routes::explain_server))
        .route(routes::EXPLAIN_REQUEST, post(read_routes::explain_request))
        .route(routes::EXPLAIN_SLOW, get(read_routes::explain_slow))
        .route(routes::EXPLAIN_USERS, get(read_routes::explain_users))
        .route(routes::EXPLAIN_NAME, get(read_routes::explain_name))
        .route(routes::EXPLAIN_CAPTURE, get(trace_routes::explain_stored))
        .route(routes::CONFIG_KEYS, get(read_routes::get_config_keys))
        .route(routes::CAPACITY, get(read_routes::capacity))
        .route(routes::REPORT, get(read_routes::report))
        .route(routes::REFUSED, get(read_routes::refused_requests))
        .route(routes::LOG, get(log_route::get_log))
        .route(routes::HISTORY, get(read_routes::history))
        .route(routes::METRICS, get(read_routes::metrics))
        .route(routes::ME, get(read_routes::get_identity))
        .route(routes::OPENAPI, get(read_routes::openapi))
        .route(routes::EVENTS, get(event_stream::recent_events))
        .route(routes::EVENTS_STREAM, get(event_stream::stream_events))
        .route(routes::STREAM, get(event_stream::stream_live))
        .route(routes::GENERATIONS, get(read_routes::generations))
        .route(routes::RELOAD, post(change_routes::reload))
        .route(routes::ROLLBACK, post(change_routes::rollback))
        .route(routes::SERVER, post(server_routes::command_server))
        .route(routes::UNDO, post(server_routes::undo_change))
        .route(routes::AUDIT, get(server_routes::get_audit))
        .route(routes::TAKEOVER, post(server_routes::takeover))
        .route(routes::LEASE, put(server_routes::request_lease))
        .route(routes::CAPTURES, get(capture_routes::list_captures))
        .route(routes::CAPTURE, post(capture_routes::start_capture))
        .route(routes::STOP, post(change_routes::stop))
        .layer(DefaultBodyLimit::max(SMALL_BODY))
}

/// An accepted command is carried out even if its response exceeds the deadline.
async fn with_deadline(request: Request, next: Next) -> Response {
    match tokio::time::timeout(REQUEST_TIMEOUT, next.run(request)).await {
        Ok(answer) => answer,
        Err(_) => {
            ApiProblem::new(504, "slow", "the daemon did not answer in time; look at its status")
                .into_response()
        }
    }
}
