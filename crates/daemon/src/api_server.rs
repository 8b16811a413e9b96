//! The API: `api`'s routes over a unix socket and, where configured, over TCP with a page for browsers. Each route
//! calls the control actor.
//!
//! The mode of the socket decides who may connect; the peer's credentials are recorded with each change. Over TCP a
//! token or a client certificate is required.

mod apply_response;
mod authentication;
mod capture_routes;
mod change_impact;
mod change_routes;
mod config_routes;
mod content_security_policy;
mod context;
pub mod control_socket;
mod difference;
mod earlier_fields;
mod event_stream;
pub mod idempotency;
pub mod lease_server;
pub mod live_feed;
mod log_route;
mod malformed_request;
mod origin_check;
mod path_parameters;
mod peer;
mod precondition;
mod problem;
mod quota;
mod read_routes;
pub mod remote;
mod router;
mod server_routes;
#[cfg(test)]
mod tests;
mod tls_listener;
pub mod token_file;
pub mod tokens;
mod trace_routes;

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::middleware::{from_fn, from_fn_with_state};
use tokio::net::UnixListener;

use crate::util::admin_listeners::api_counters::ListenerKind;
use crate::util::admin_listeners::connection_guard::{
    ConnectionLimits, GuardedListener, HEAD_TIMEOUT,
};
use crate::util::admin_listeners::connection_slots::ConnectionSlots;
pub use context::{ApiContext, StopCallback, StopRequest};
use control_socket::{BoundControlSocket, SocketPath};
use peer::{RequestConnection, attach_peer};
use router::build_router;

/// Limits of the unix socket, which serves programs of this machine only.
const CONNECTION_LIMITS: ConnectionLimits = ConnectionLimits {
    connections: 64,
    head_timeout: HEAD_TIMEOUT,
    idle_timeout: Duration::from_secs(120),
    max_lifetime: Duration::from_secs(86_400),
};

/// Serves until `until` completes, then finishes pending requests and removes the socket's file.
///
/// # Errors
/// When the socket cannot be handed to the runtime.
pub async fn run(
    bound: BoundControlSocket,
    context: Arc<ApiContext>,
    until: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    // Also when the process does not wait for the end of this.
    let _removed_at_the_end = SocketCleanup(bound.socket_path());
    let counts = Arc::clone(&context.report_sources.api_counters);
    let places = ConnectionSlots::new(
        CONNECTION_LIMITS.connections,
        ListenerKind::Socket,
        Arc::clone(&counts),
    );
    let listener =
        GuardedListener::new(UnixListener::from_std(bound.listener)?, CONNECTION_LIMITS, places);
    let router = build_router(context).layer(from_fn_with_state(counts, malformed_request::refuse));
    let router = router.layer(from_fn(attach_peer));
    let service = router.into_make_service_with_connect_info::<RequestConnection>();
    axum::serve(listener, service).with_graceful_shutdown(until).await
}

struct SocketCleanup(SocketPath);

impl Drop for SocketCleanup {
    fn drop(&mut self) {
        self.0.remove();
    }
}
