//! Hostile clients against the built program: malformed, slow and excessive traffic.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that fails is told best by panicking"
)]

mod control;
mod corpus;
mod flood;
mod honest_clients;
mod limits;
mod silent;
mod slow;
