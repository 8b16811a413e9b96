//! Configuration changes over the API: many at once, idempotent, and with a crash at any point.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "the whole program is a test, which the lints cannot see"
)]

mod client;
mod crash;
mod malformed;
mod once;
mod writers;
