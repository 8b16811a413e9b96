//! Reloads under traffic: unchanged services are not affected, invalid configurations change nothing, and server
//! commands stay in effect.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "the whole program is a test, which the lints cannot see"
)]

mod moved;
mod orders;
mod refused;
mod unrelated;
