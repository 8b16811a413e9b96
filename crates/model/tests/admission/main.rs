//! Admission: invariants of the connection table, and crowds that must not keep others out.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that fails is told best by panicking"
)]

mod connection_flood;
mod property;
