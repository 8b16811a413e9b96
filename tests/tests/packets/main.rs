//! End-to-end packet forwarding: client, router, balancer and servers in namespaces, with third-party programs.
//!
//! Each test has a separate site and needs root; without root it is skipped, which fails in the gate.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "the whole program is a test, which the lints cannot see"
)]

mod alarms;
mod alive;
mod beside;
mod change;
mod converted;
mod cookies;
mod days;
mod decap;
mod doctor;
mod hashing;
mod history;
mod insight;
mod method_change;
mod methods;
mod normalization;
mod oversized;
mod program_removed;
mod shown;
mod sources;
mod staying;
mod sustained;
mod together;
mod topology;
