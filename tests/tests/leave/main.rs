//! Graceful shutdown of a process: work in progress is finished, and work beyond the limit is cut and reported.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "the whole program is a test, which the lints cannot see"
)]

mod cut;
mod finished;
mod peers;
mod workload;
