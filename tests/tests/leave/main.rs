//! How a process leaves: what is under way is finished, what does not fit the limit is cut and told.

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
