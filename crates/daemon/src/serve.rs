//! The API: `api`'s routes over a unix socket and, where configured, over TCP with a page for browsers, each mapped
//! onto `Control`.
//!
//! Who may connect to the socket is its mode; who did is read from it and kept with what they changed. Over TCP the
//! gate asks for tokens. Decisions are the control's: nothing is decided here.

mod applied;
mod asked;
pub mod bind;
mod captures;
mod change;
mod context;
pub mod counts;
mod difference;
mod door;
mod edit;
mod gate;
pub mod guard;
mod keyring;
mod lengths;
pub mod lessor;
pub mod live;
mod look;
mod malformed;
pub mod once;
mod orders;
mod peer;
pub mod places;
mod policy;
pub mod ports;
mod precondition;
mod quota;
mod refusal;
pub mod remote;
mod router;
mod stream;
#[cfg(test)]
mod tests;
pub mod tokens;
mod touched;
mod traces;

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::middleware::{from_fn, from_fn_with_state};
use tokio::net::UnixListener;

use bind::{Bound, Place};
pub use context::{Asked, Context, Stop};
use counts::Listener;
use guard::{Guarded, HEAD, Terms};
use peer::{Entry, enter};
use places::Places;
use router::router;

/// Programs of this machine, so many at a time.
const TERMS: Terms = Terms {
    connections: 64,
    head: HEAD,
    silence: Duration::from_secs(120),
    life: Duration::from_secs(86_400),
};

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
    let counts = Arc::clone(&context.vitals.served);
    let places = Places::new(TERMS.connections, Listener::Socket, Arc::clone(&counts));
    let listener = Guarded::new(UnixListener::from_std(bound.listener)?, TERMS, places);
    let router = router(context).layer(from_fn_with_state(counts, malformed::refuse));
    let router = router.layer(from_fn(enter));
    let service = router.into_make_service_with_connect_info::<Entry>();
    axum::serve(listener, service).with_graceful_shutdown(until).await
}

struct Leaves(Place);

impl Drop for Leaves {
    fn drop(&mut self) {
        self.0.remove();
    }
}
