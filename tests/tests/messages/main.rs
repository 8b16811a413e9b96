//! Errors of a user's day: each message names the object and what to do, and none holds the raw text of a library.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "the whole program is a test, which the lints cannot see"
)]

mod configuration;
mod daemon;
mod files;
mod ordinary_user;
mod raw_text;
mod remote;
mod usage;
