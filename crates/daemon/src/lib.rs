//! The daemon: puts the planes together, starts them, applies the configuration and its changes, shuts down.
//!
//! It forwards no traffic itself: the planes do.

pub mod api_server;
pub mod app;
pub mod control;
mod discovery;
mod health;
mod observability;
mod planes;
pub mod state;
mod stores;
pub mod tls;
mod util;

pub use crate::app::embed::{EmbedError, EmbeddedDaemon};
pub use crate::app::run::{RunError, RunOptions, host_check, run};
pub use app::embed;
pub use observability::access_log::syslog_tls_error;
pub use observability::history;
pub use tls::secrets;
pub use util::event;
pub use util::event_kinds;
pub use util::local_time;
pub use util::packet_socket;
pub use util::worker_cpu_time;
