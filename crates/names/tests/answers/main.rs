//! Answers as a client sees them: a configuration and states go in, and a second parser reads the answer.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test's helpers fail the test"
)]

mod any;
mod explained;
mod options;
mod policies;
mod rows;
mod world;
