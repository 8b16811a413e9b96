//! Exhausted resources: source ports, descriptors, disk. Requests that can be served are served, the others get a
//! cause, and everything recovers.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "the whole program is a test, which the lints cannot see"
)]

mod descriptors;
mod disk;
mod holding_server;
mod ports;
mod segments;
