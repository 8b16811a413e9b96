//! The lab's commands against real and hostile servers: measurements, partial results, and exit codes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "the whole program is a test, which the lints cannot see"
)]

mod agents;
mod bench;
mod broken;
mod capacity;
mod comparing;
mod connect;
mod host;
mod measured;
mod resting;
mod stream;
mod study;
mod study_broken;
mod topology;
