//! A vocabulary for tests of the whole: the built program, servers behind it, clients in front of it.
//!
//! Everything is a test's own — directory, ports, processes — and is gone when the test ends. Waits have deadlines;
//! whatever goes wrong panics with what was seen. It asserts nothing about the product by itself.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that fails is told best by panicking, and figures are told on standard output"
)]

pub mod balancer;
pub mod certificate;
pub mod client;
pub mod crowd;
pub mod datagrams;
pub mod dir;
pub mod download;
pub mod fdstore;
pub mod frames;
pub mod h2client;
pub mod h2origin;
pub mod haproxy;
pub mod http;
pub mod listening;
pub mod load;
pub mod namespace;
pub mod nginx;
pub mod pebble;
pub mod place;
pub mod plane;
pub mod process;
pub mod record;
pub mod recorder;
pub mod servers;
pub mod setup;
pub mod steady;
pub mod target;
pub mod tools;
pub mod wait;
pub mod websocket;
pub mod words;
