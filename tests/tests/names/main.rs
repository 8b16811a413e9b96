//! The name server of the built program, queried by dig, kdig and a resolver in namespaces: its responses, their
//! dependence on health verdicts, and reloads without a lost query.
//!
//! The tests need root for the port and for addresses; without root they are skipped, which fails in the gate.

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
