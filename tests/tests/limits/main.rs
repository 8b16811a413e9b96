//! What runs out: source ports, descriptors, the disk. Whoever can be served is, the rest is told, and all recovers.

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
