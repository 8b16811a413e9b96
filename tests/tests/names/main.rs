//! The name server of the built program, asked by dig, kdig and a resolver, in namespaces: what it answers, how it follows
//! the judge, and that a change of the configuration loses no query.
//!
//! They need root for the port and for addresses of their own; without it they say so, and in the gate they fail.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "the whole program is a test, which the lints cannot see"
)]

mod connections;
mod health;
mod queries;
mod reload;
mod setup;
