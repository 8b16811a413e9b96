//! Uplinks between a host with a daemon and a server beyond two routers: in which shares connections take them, what stays,
//! what happens when a router forwards nothing any more, and what is left behind.
//!
//! Each test has a network of its own. They need root; without it they say so, and in the gate they fail.

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
