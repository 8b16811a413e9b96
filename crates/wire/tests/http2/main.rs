//! HTTP/2: header compression, what each violation comes to, and machines that speak to each other.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test's helpers fail the test"
)]

mod frames;
mod hpack;
mod peer;
mod rows;
mod simulation;
mod splits;
mod streams;
