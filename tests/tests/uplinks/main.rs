//! Uplinks between a host with a daemon and a server beyond two routers: the shares of connections, the stability of
//! existing ones, a router that stops forwarding, and the cleanup.
//!
//! Each test has a separate network and needs root; without root it is skipped, which fails in the gate.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "the whole program is a test, which the lints cannot see"
)]

mod failing;
mod refused;
mod server;
mod sharing;
mod topology;
