//! Admission control: invariants of the connection table, and crowds that must not exclude other clients.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that fails is told best by panicking"
)]

mod connection_flood;
mod property;
