//! Consecutive processes on the same sockets, with continuous traffic.
//!
//! `tests/tests/upgrade_kept.rs` tests the restart by systemd after a crash.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "the whole program is a test, which the lints cannot see"
)]

mod failed;
mod taken_over;
