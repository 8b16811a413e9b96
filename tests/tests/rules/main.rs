//! Rules and sticky sessions of the built program, with curl and openssl as clients.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "the whole program is a test, which the lints cannot see"
)]

mod affinity;
mod answers;
mod cookies;
mod edits;
mod hours;
mod many;
mod names;
mod overrides;
mod requests;
mod spellings;
mod streams;
mod variables;
