//! Admission: what always holds of the table of connections, and crowds that may not keep others out.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that fails is told best by panicking"
)]

mod connection_flood;
mod property;
