//! The API over TCP and its page: roles, origins and formats, and the page itself in a browser.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "the whole program is a test, which the lints cannot see"
)]

mod browser;
mod built;
mod captured;
mod client;
mod contract;
mod fuzzing;
mod remote_daemon;
mod roles;
mod sites;
mod streams;
