//! Dialogues of probes, run without sockets.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "the whole program is a test, which the lints cannot see"
)]

mod any;
mod h2;
mod rows;
mod support;
