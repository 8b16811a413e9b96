//! Changes while traffic flows: what did not change is not touched, mistakes change nothing, orders hold.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "the whole program is a test, which the lints cannot see"
)]

mod orders;
mod refused;
mod unrelated;
