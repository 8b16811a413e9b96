//! Packets through the whole: client, router, balancer and servers in namespaces, with programs of others.
//!
//! Each test has a site of its own. They need root; without it they say so, and in the gate they fail.

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
mod decap;
mod doctor;
mod insight;
mod methods;
mod oversized;
mod past;
mod shown;
mod sources;
mod staying;
mod sustained;
mod taken;
mod together;
mod word;
mod world;
