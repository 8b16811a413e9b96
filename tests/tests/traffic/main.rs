//! Regular traffic through the built program: curl, ab and wrk in front, nginx and the lab's origins behind.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that fails is told best by panicking"
)]

mod authenticated;
mod choosing;
mod client_field;
mod clients;
mod closing;
mod error_pages;
mod frames;
mod headers;
mod hidden;
mod hops;
mod intercepted;
mod lenient;
mod log_formats;
mod log_servers;
mod logged_fields;
mod named_clients;
mod request_ids;
mod seen;
mod tunnels;
mod unix_sockets;
